package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/sampling"
	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// tell sends an event to the run of the call, or to the host if there is none.
func (s *server) tell(c *calling, e Event) {
	if c != nil && c.run != nil {
		c.run.tell(e)
		return
	}
	s.host.tell(e)
}

// Limits of a log message in events, because many are kept for users to read.
const (
	maxLogger = 200      // bytes of the logger's name
	maxLogged = 16 << 10 // bytes of the data
)

// logged returns the data of a log message, or the beginning of it as a JSON string.
func logged(data json.RawMessage) json.RawMessage {
	if len(data) <= maxLogged {
		return slices.Clone(data) // a copy, because data is part of a much larger message
	}
	text, isText := jsonrpc.Unquote(data)
	if !isText {
		text = string(data)
	}
	return jsonrpc.AppendString(nil, excerpt.Clip(text, maxLogged))
}

// reportRequest reports the outcome of a request from the server.
func (s *server) reportRequest(c *calling, method, message, outcome string) {
	s.tell(c, Event{ServerRequest: &ServerRequested{CallID: c.callID(), Server: s.Name, Method: method, Message: excerpt.Clean(message), Outcome: outcome}})
}

// elicit shows the user a server's form, or a page that it asks them to visit.
func (s *server) elicit(ctx context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	c := callFrom(ctx)
	refusal := s.mayNotAsk(c)
	if refusal == "" && req.Mode == mcp.ElicitURL && !isWebPage(req.URL) {
		refusal = "its address is not the URL of a web page"
	}
	if refusal != "" {
		s.reportRequest(c, "elicitation/create", req.Message, "refused: "+refusal)
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	form := Form{Server: s.Name, Tool: c.toolName(), Request: req, Warnings: s.warnings("elicitation/create", req)}
	result, err := s.host.options.Person.Elicit(ctx, form)
	if err == nil && result == nil {
		err = errors.New("the form was not answered")
	}
	if errors.Is(err, ErrNobody) {
		s.reportRequest(c, "elicitation/create", req.Message, "refused: "+err.Error())
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	}
	if err != nil {
		s.reportRequest(c, "elicitation/create", req.Message, unanswered(ctx, err))
		return nil, err
	}
	s.reportRequest(c, "elicitation/create", req.Message, result.Action)
	return result, nil
}

// unanswered returns the outcome of a request that the user did not answer. If the run ended
// meanwhile, that is a cancellation and not an error.
func unanswered(ctx context.Context, err error) string {
	if ctx.Err() != nil {
		return mcp.ElicitCancel
	}
	return err.Error()
}

// mayNotAsk returns the reason why the server's requests do not reach the user, or "".
func (s *server) mayNotAsk(c *calling) string {
	switch {
	case !s.host.accepted(s):
		return "the server is not approved"
	case c == nil && s.unprompted.Add(1) > maxServerRequests:
		return fmt.Sprintf("it sent more than %d requests that belong to no call", maxServerRequests)
	}
	return ""
}

// isWebPage reports whether an address is that of a web page, and not of a file or a program. It
// refuses addresses with a user name, which can hide the real host.
func isWebPage(address string) bool {
	page, err := url.Parse(address)
	return err == nil && (page.Scheme == "https" || page.Scheme == "http") && page.Host != "" && page.User == nil
}

// warnings returns suspicious properties of a request from the server.
func (s *server) warnings(method string, params any) []string {
	encoded, err := schema.Encode(nil, params)
	if err != nil {
		return []string{"it could not be checked: " + err.Error()}
	}
	var warnings []string
	for _, f := range s.host.texts().ScanRequest(s.Name, method, encoded) {
		if f.Severity >= guard.Warn {
			warnings = append(warnings, fmt.Sprintf("%s (%s)", f.Why, f.Excerpt))
		}
	}
	return warnings
}

// sample lets a server use the model, if the user agrees and the server's budget for the
// conversation is not used up.
func (s *server) sample(ctx context.Context, req mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	const method = "sampling/createMessage"
	c := callFrom(ctx)
	refuse := func(format string, args ...any) (*mcp.CreateMessageResult, error) {
		text := fmt.Sprintf(format, args...)
		s.reportRequest(c, method, sampling.FirstText(req.Messages), "refused: "+text)
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "%s", text)
	}
	if c == nil || c.run == nil {
		return refuse("the model can be asked only during a call")
	}
	request, _, err := sampling.Request(&req)
	if err != nil {
		return refuse("%v", err)
	}
	tokens := window.TokensOfRequest(request) + request.MaxTokens
	left := s.host.budget.Sampling - c.run.c.sampledBy(s.Name, tokens) + tokens // reserved now, because several calls can ask at once
	used := 0
	defer func() { c.run.c.sampledBy(s.Name, used-tokens) }()
	if tokens > left {
		return refuse("the server may use %d more tokens in this conversation, but this request could use up to %d", max(0, left), tokens)
	}
	if refusal := s.mayNotAsk(c); refusal != "" {
		return refuse("%s", refusal)
	}
	agreed, err := s.host.options.Person.Sample(ctx, Sampling{
		Server: s.Name, Tool: c.toolName(), Request: &req, Tokens: tokens, Budget: left, Warnings: s.warnings(method, req),
	})
	switch {
	case errors.Is(err, ErrNobody):
		return refuse("%v", err)
	case err != nil:
		s.reportRequest(c, method, sampling.FirstText(req.Messages), unanswered(ctx, err))
		return nil, err
	case !agreed:
		s.reportRequest(c, method, sampling.FirstText(req.Messages), mcp.ElicitDecline)
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "the user declined")
	}
	s.reportRequest(c, method, sampling.FirstText(req.Messages), mcp.ElicitAccept)
	request, names, err := sampling.Request(&req) // the user may have changed the request
	if err != nil {
		return refuse("%v", err)
	}
	response, err := c.run.outside(ctx, request, Generated{For: ForSampling, Server: s.Name, CallID: c.id})
	if response != nil {
		used = response.Usage.Input + response.Usage.Output
	}
	if err != nil {
		return nil, fmt.Errorf("the model: %w", err)
	}
	return sampling.Result(response, s.host.options.Model.Info().Name, names), nil
}

// maxServerRequests is the number of requests that a server may send during one call.
const maxServerRequests = 64

// attribute gives every request a Peer that knows its call, because the requests of a legacy server
// have no context of their own.
func attribute(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if c := callFrom(ctx); c != nil && req.Peer != nil {
			copied := *req
			copied.Peer = attributed{req.Peer, c}
			req = &copied
			c.over.Store(false) // a call can have several rounds
			defer c.over.Store(true)
		}
		return next.Handle(ctx, req)
	})
}

type attributed struct {
	mcp.Peer
	call *calling
}

// Unwrap returns the wrapped Peer, for [mcp.PeerAs].
func (p attributed) Unwrap() mcp.Peer { return p.Peer }

// Ask sends the question with its call in the context, while the call runs.
func (p attributed) Ask(ctx context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
	if p.call.over.Load() {
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "server %q asked after the end of the call", p.call.server.Name)
	}
	if p.call.serverRequests.Add(1) > maxServerRequests {
		return nil, mcp.Errorf(mcp.CodeInvalidRequest, "server %q sent more than %d requests in one call", p.call.server.Name, maxServerRequests)
	}
	return p.Peer.Ask(withCall(ctx, p.call), q)
}

// Notify reports log messages and passes all messages on.
func (p attributed) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == "notifications/message" {
		var m mcp.LogMessage
		if schema.DecodeLoose(params, &m) == nil {
			p.call.server.tell(p.call, Event{Log: &Logged{Server: p.call.server.Name, Level: m.Level, Logger: excerpt.Clip(excerpt.Clean(m.Logger), maxLogger), Data: logged(m.Data)}})
		}
	}
	return p.Peer.Notify(ctx, method, params)
}
