package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/paramheader"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// A modern implements requests to a modern server. Every request has metadata, and the server
// requests input between two rounds.
type modern struct {
	*conn
	meta atomic.Pointer[encodedMeta]
}

func newModern(c *conn) *modern { return &modern{conn: c} }

// An inputState is the state of a request between two rounds in which this server requires input.
type inputState struct {
	RequestState *string                          `json:"r,omitempty"`
	Requests     map[string]revision.InputRequest `json:"q,omitempty"`
	Asked        int                              `json:"n,omitempty"` // how often input was required, including this time
}

const stateInput = "upstream"

const resultInputRequired = string(revision.InputRequired)

// call sends the request. While the server requires input, call asks the client, and sends the
// request again with the responses.
func (e *modern) call(ctx context.Context, s *session, req *mcp.Request) (mcp.Result, error) {
	var state inputState
	var responses map[string]json.RawMessage
	if saved := req.State.Get(stateInput); saved != nil {
		err := json.Unmarshal(saved, &state)
		if err == nil {
			responses, err = e.askWhileOpen(ctx, s, req, &state, 0)
		}
		if err != nil {
			return mcp.Result{}, err
		}
	}
	for round := range maxRounds {
		result, err := e.ask(ctx, s, req, responses, state.RequestState)
		if err != nil || result.Type != resultInputRequired {
			return result, err
		}
		asked := state.Asked + 1
		if state, err = inputRequired(result.JSON); err != nil {
			return mcp.Result{}, fmt.Errorf("server %q: %s: %w", e.options.Name, describe(req), err)
		}
		state.Asked = asked
		saved, err := json.Marshal(state)
		if err != nil {
			return mcp.Result{}, err
		}
		req.State.Set(stateInput, saved)
		if !e.link.ClosingCancels() { // a program of this replica, and no other process knows its state
			req.State.Bind()
		}
		if responses, err = e.askWhileOpen(ctx, s, req, &state, min(roundsBackoff<<round, 5*time.Second)); err != nil {
			return mcp.Result{}, err
		}
		req.State.Set(stateInput, nil)
	}
	return mcp.Result{}, fmt.Errorf("server %q: %s: input was required %d times in a row", e.options.Name, describe(req), maxRounds)
}

// askWhileOpen is like askAll, with a context that also ends with the connection. If the server
// asked for nothing, it first waits for pause.
func (c *conn) askWhileOpen(ctx context.Context, s *session, req *mcp.Request, state *inputState, pause time.Duration) (map[string]json.RawMessage, error) {
	ctx, stop := c.whileOpen(ctx)
	defer stop()
	if len(state.Requests) == 0 && idle.Wait(ctx, pause) != nil {
		return nil, c.failed(s, req, context.Cause(ctx))
	}
	responses, err := askAll(ctx, req.Peer, state)
	if err != nil && errors.Is(context.Cause(ctx), mcp.ErrClosed) && !errors.Is(err, mcp.ErrInputRequired) {
		err = c.failed(s, req, mcp.ErrClosed)
	}
	return responses, err
}

// inputRequired decodes a result that requires input.
func inputRequired(body json.RawMessage) (inputState, error) {
	requests, state, err := revision.ParseInputRequired(body)
	if err != nil {
		return inputState{}, err
	}
	if len(requests) > maxRequested {
		return inputState{}, fmt.Errorf("inputRequests: at most %d, got %d", maxRequested, len(requests))
	}
	return inputState{RequestState: state, Requests: requests}, nil
}

// keyFor returns the key of a request to the client. The server's keys are valid for one round
// only. With the same key in a later round, the client's earlier response would be used.
func (s *inputState) keyFor(key string) string {
	if s.Asked <= 1 {
		return key
	}
	return key + "-" + strconv.Itoa(s.Asked)
}

// askAll sends all requests of the server to the client at the same time.
func askAll(ctx context.Context, peer mcp.Peer, s *inputState) (map[string]json.RawMessage, error) {
	requests := s.Requests
	type outcome struct {
		key    string
		result json.RawMessage
		err    error
	}
	outcomes := make(chan outcome, len(requests))
	var asking sync.WaitGroup
	for key, r := range requests {
		asking.Go(func() {
			result, err := peer.Ask(ctx, mcp.ServerRequest{Key: s.keyFor(key), Method: r.Method, Params: r.Params})
			if err != nil && r.Method == methodElicit && !errors.Is(err, mcp.ErrInputRequired) && ctx.Err() == nil {
				result, err = json.RawMessage(`{"action":"cancel"}`), nil // inputResponses cannot contain an error
			}
			outcomes <- outcome{key, result, err}
		})
	}
	asking.Wait()
	close(outcomes)
	var failed error
	responses := make(map[string]json.RawMessage, len(requests))
	for o := range outcomes {
		responses[o.key] = o.result
		if o.err != nil && (failed == nil || errors.Is(o.err, mcp.ErrInputRequired)) {
			failed = o.err
		}
	}
	return responses, failed
}

// ask makes one round. If the server requires a header that repeats an argument, ask lists the
// tools again and retries once.
func (e *modern) ask(ctx context.Context, s *session, req *mcp.Request, responses map[string]json.RawMessage, state *string) (mcp.Result, error) {
	result, err := e.round(ctx, s, req, responses, state)
	var fault *mcp.Error
	if errors.As(err, &fault) && fault.Code == mcp.CodeHeaderMismatch && req.Method == methodToolsCall && e.link.ClosingCancels() {
		if relist := e.relist(ctx, s, req); relist == nil {
			return e.round(ctx, s, req, responses, state)
		}
	}
	return result, err
}

// round makes one round. If the response was lost and a second call changes nothing, it repeats the
// round once.
func (e *modern) round(ctx context.Context, s *session, req *mcp.Request, responses map[string]json.RawMessage, state *string) (mcp.Result, error) {
	m, err := e.exchangeOnce(ctx, s, req, responses, state)
	if errors.Is(err, link.ErrNoResponse) && e.link.Err() == nil && e.tools.repeats(req) {
		note.Repeat(ctx, "")
		m, err = e.exchangeOnce(ctx, s, req, responses, state)
	}
	if err != nil {
		return mcp.Result{}, e.failed(s, req, err)
	}
	return e.result(ctx, s, req, m)
}

func (e *modern) exchangeOnce(ctx context.Context, s *session, req *mcp.Request, responses map[string]json.RawMessage, state *string) (*jsonrpc.Message, error) {
	k, err := e.addCallWithin(ctx, req)
	if err != nil {
		return nil, err
	}
	defer e.finishCall(k)
	passed := make(chan struct{})
	k.events.begin(func() { // only at the first event, as most requests have no notifications
		if !e.spawn(func() { defer close(passed); k.passOn(k.ctx, req.Peer) }) {
			close(passed)
		}
	})
	out := e.out(s, k.id, req, responses, state)
	m, err := e.link.Call(k.ctx, out, func(m *jsonrpc.Message) { e.receive(k, m) })
	switch {
	case err != nil && k.ctx.Err() != nil:
		e.abandoned(k)
		e.cancelCall(k, func(sent bool) { e.exchangeOver(k, sent) })
	case err != nil:
		e.responseLost()
	}
	if e.removeCall(k); k.events.stop() {
		<-passed
	}
	return m, err
}

// passOn passes the notifications of a request on, until its mailbox is stopped.
func (k *call) passOn(ctx context.Context, peer mcp.Peer) {
	for range k.events.ready {
		stopped := k.events.stopped()
		for _, ev := range k.events.take() {
			pass(ctx, peer, ev.message)
		}
		if stopped {
			return
		}
	}
}

// pass passes a notification to the client of a call. It ignores errors: if the client is gone, the
// request detects that.
func pass(ctx context.Context, peer mcp.Peer, m *jsonrpc.Message) {
	params := m.Params
	if m.Method == notificationProgress {
		params = jsonrpc.Without(params, "progressToken")
	}
	_ = peer.Notify(ctx, m.Method, params)
}

// relist lists the tools again to learn their headers.
func (e *modern) relist(ctx context.Context, s *session, req *mcp.Request) error {
	return e.learnPages(ctx, s, req, func(ctx context.Context, s *session, list *mcp.Request) (mcp.Result, error) {
		return e.round(ctx, s, list, nil, nil)
	})
}

// out returns a request in the form for a modern server.
func (e *modern) out(s *session, id jsonrpc.ID, req *mcp.Request, responses map[string]json.RawMessage, state *string) link.Out {
	w := jsonrpc.NewObject(make([]byte, 0, len(req.Params)+512))
	if w.Members(req.Params, ownMembers(req.Method)...); len(responses) > 0 {
		w.Object("inputResponses")
		for key, result := range responses {
			w.Raw(key, result)
		}
		w.End()
	}
	if state != nil {
		w.String("requestState", *state)
	}
	e.writeMeta(&w, s, id, req)
	out := link.Out{ID: id, Method: req.Method, Message: jsonrpc.AppendRequest(nil, id, req.Method, w.Bytes())}
	if e.link.ClosingCancels() {
		out.Header = e.header(s, req.Method, req.Name)
		if req.Method == methodToolsCall {
			e.tools.addHeaders(out.Header, req)
		}
	}
	return out
}

// ownMembers returns the members of params that belong to one connection and are not passed on. The
// rounds of a request belong to the client that sent it.
func ownMembers(method string) []string {
	if revision.MethodNamed(method).Asks {
		return []string{"_meta", "inputResponses", "requestState"}
	}
	return []string{"_meta"} // the params of tasks/update have their own inputResponses
}

// header returns the headers of a message on HTTP.
func (c *conn) header(s *session, method, subject string) http.Header {
	if s == nil || !c.link.ClosingCancels() || !s.revision.VersionHeader {
		return nil
	}
	h := http.Header{"Mcp-Protocol-Version": {s.revision.Name}}
	if s.revision.Modern {
		h["Mcp-Method"] = []string{method}
		if subject != "" && revision.MethodNamed(method).Header {
			h["Mcp-Name"] = []string{paramheader.Encode(subject)}
		}
	}
	return h
}

// writeMeta writes the _meta of a request: the client's own members, and the members that the
// revision requires.
func (e *modern) writeMeta(w *jsonrpc.Writer, s *session, id jsonrpc.ID, req *mcp.Request) {
	w.Object("_meta")
	if own := jsonrpc.Get(req.Params, "_meta"); len(own) > 0 {
		w.Members(own, "progressToken", revision.MetaProtocolVersion, revision.MetaClientInfo, revision.MetaClientCapabilities, revision.MetaLogLevel)
	}
	w.Members(e.clientMeta(s, req))
	if req.Meta.ProgressToken != nil {
		w.ID("progressToken", id)
	}
	if req.Meta.LogLevel != "" && s.capabilities.Logging != nil {
		w.String(revision.MetaLogLevel, string(req.Meta.LogLevel))
	}
	w.End()
}

// An encodedMeta is the part of _meta that all requests of one client share. A request of another
// client replaces it.
type encodedMeta struct {
	capabilities *mcp.ClientCapabilities
	client       *mcp.Implementation
	revision     *revision.Revision
	json         json.RawMessage
}

func (e *modern) clientMeta(s *session, req *mcp.Request) json.RawMessage {
	capabilities, client := req.Meta.Capabilities, req.Meta.Client
	if client == nil {
		client = e.options.Meta.Client
	}
	if m := e.meta.Load(); m != nil && m.capabilities == capabilities && m.client == client && m.revision == s.revision {
		return m.json
	}
	w := jsonrpc.NewObject(nil)
	w.String(revision.MetaProtocolVersion, s.revision.Name)
	if schema.EncodeMember(&w, revision.MetaClientCapabilities, orNoCapabilities(capabilities)) != nil {
		w.Object(revision.MetaClientCapabilities)
		w.End()
	}
	_ = schema.EncodeMember(&w, revision.MetaClientInfo, client) // omitted on an error
	m := &encodedMeta{capabilities, client, s.revision, w.Bytes()}
	e.meta.Store(m)
	return m.json
}

// ping sends server/discover, as the modern revision has no ping.
func (e *modern) ping(ctx context.Context, s *session) error {
	req := &mcp.Request{Method: methodDiscover, Meta: e.options.Meta, Peer: noPeer{}}
	m, err := e.simple(ctx, s, req, func(id jsonrpc.ID) link.Out { return e.out(s, id, req, nil, nil) })
	if err == nil && m.Error != nil {
		err = e.protocolError(s, req, m.Error)
	}
	return err
}

// request drops a request of a modern server, which must not send requests.
func (e *modern) request(_ *session, _ *call, m *jsonrpc.Message) {
	e.log.Debug("mcp: a modern server sent a request", "server", e.options.Name, "method", m.Method,
		mcp.LogBreach, "servers send no requests: they ask in a result of the type input_required (basic)")
}
