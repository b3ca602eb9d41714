package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/mirror"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// modernEra speaks to a modern server: metadata on every request, and questions
// between two rounds.
type modernEra struct {
	*upstream
	meta atomic.Pointer[encodedMeta]
}

func newModernEra(u *upstream) *modernEra { return &modernEra{upstream: u} }

// An encodedMeta is the part of _meta that is the same for all requests of one client.
type encodedMeta struct {
	capabilities *ClientCapabilities
	client       *Implementation
	revision     *revision.Revision
	json         []byte // members, without braces
}

// upstreamState is what a request keeps between two rounds when it is the
// server behind this connection that asks.
type upstreamState struct {
	RequestState *string                  `json:"r,omitempty"`
	Questions    map[string]inputQuestion `json:"q,omitempty"`
}

// An inputQuestion is an entry of inputRequests.
type inputQuestion struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitzero"`
}

const stateUpstream = "upstream"

// call asks the server; while it wants input, the client is asked and the
// request sent again with the answers.
func (e *modernEra) call(ctx context.Context, req *Request) (Result, error) {
	var state upstreamState
	var answers map[string]json.RawMessage
	if saved := req.State.Get(stateUpstream); saved != nil {
		err := json.Unmarshal(saved, &state)
		if err == nil {
			answers, err = answerAll(ctx, req.Peer, state.Questions)
		}
		if err != nil {
			return Result{}, err
		}
	}
	for round := range maxRounds {
		result, err := e.ask(ctx, req, answers, state.RequestState)
		if err != nil || result.Type == "" || result.Type == resultComplete {
			return result, err
		}
		if result.Type != resultInputRequired {
			return Result{}, fmt.Errorf("server %q: %s: expected a result of type complete or input_required, got %q", e.name, req.Method, result.Type)
		}
		if state, err = inputRequired(result.JSON); err != nil {
			return Result{}, fmt.Errorf("server %q: %s: %w", e.name, req.Method, err)
		}
		if len(state.Questions) == 0 && !sleep(ctx, min(roundsBackoff<<round, 5*time.Second)) {
			return Result{}, context.Cause(ctx)
		}
		saved, err := json.Marshal(state)
		if err != nil {
			return Result{}, err
		}
		req.State.Set(stateUpstream, saved)
		if answers, err = answerAll(ctx, req.Peer, state.Questions); err != nil {
			return Result{}, err
		}
		req.State.Set(stateUpstream, nil)
	}
	return Result{}, fmt.Errorf("server %q: %s %q asked for input %d times in a row", e.name, req.Method, req.Name, maxRounds)
}

func inputRequired(body json.RawMessage) (upstreamState, error) {
	var w struct {
		InputRequests map[string]inputQuestion `json:"inputRequests"`
		RequestState  *string                  `json:"requestState"`
	}
	if err := schema.DecodeLoose(body, &w); err != nil {
		return upstreamState{}, err
	}
	if len(w.InputRequests) == 0 && w.RequestState == nil {
		return upstreamState{}, errors.New("input_required with neither inputRequests nor requestState")
	}
	return upstreamState{RequestState: w.RequestState, Questions: w.InputRequests}, nil
}

// answerAll asks the client all questions side by side.
func answerAll(ctx context.Context, peer Peer, questions map[string]inputQuestion) (map[string]json.RawMessage, error) {
	var mu sync.Mutex
	var failed error
	var asking sync.WaitGroup
	answers := make(map[string]json.RawMessage, len(questions))
	for key, q := range questions {
		asking.Go(func() {
			answer, err := peer.Ask(ctx, Question{Key: key, Method: q.Method, Params: q.Params})
			if err != nil && q.Method == methodElicit && !errors.Is(err, ErrInputRequired) && ctx.Err() == nil {
				answer, err = json.RawMessage(`{"action":"cancel"}`), nil // answers cannot carry an error
			}
			mu.Lock()
			defer mu.Unlock()
			answers[key] = answer
			if err != nil && (failed == nil || errors.Is(err, ErrInputRequired)) {
				failed = err
			}
		})
	}
	asking.Wait()
	return answers, failed
}

// ask makes one round. Where the server misses a header that mirrors an
// argument, it looks at the tools anew and tries once more.
func (e *modernEra) ask(ctx context.Context, req *Request, answers map[string]json.RawMessage, state *string) (Result, error) {
	result, err := e.round(ctx, req, answers, state)
	var fault *Error
	if errors.As(err, &fault) && fault.Code == CodeHeaderMismatch && req.Method == methodToolsCall && e.link.ClosingCancels() {
		if relist := e.relist(ctx, req); relist == nil {
			return e.round(ctx, req, answers, state)
		}
	}
	return result, err
}

func (e *modernEra) round(ctx context.Context, req *Request, answers map[string]json.RawMessage, state *string) (Result, error) {
	c, err := e.open(ctx, req)
	if err != nil {
		return Result{}, err
	}
	defer e.done(c)
	requestState := ""
	if state != nil {
		requestState = string(jsonrpc.AppendString(nil, *state))
	}
	m, err := e.exchange(ctx, c, e.modernOut(c.id, req, answers, requestState))
	if err != nil {
		return Result{}, e.failed(req, err)
	}
	c.courier.finish()
	return e.answer(req, m)
}

// failed makes a protocol error of an HTTP status whose body held one.
func (u *upstream) failed(req *Request, err error) error {
	var status *link.StatusError
	if errors.As(err, &status) && status.Fault != nil {
		f := u.revision.ErrorFrom(req.Method, req.Name, status.Fault)
		return &Error{Code: f.Code, Message: f.Message, Data: f.Data, Server: u.name}
	}
	return fmt.Errorf("server %q: %s: %w", u.name, describe(req), err)
}

func describe(req *Request) string {
	if req.Name == "" {
		return req.Method
	}
	return fmt.Sprintf("%s %q", req.Method, req.Name)
}

// relist reads the tools again, for their headers.
func (e *modernEra) relist(ctx context.Context, req *Request) error {
	cursor := json.RawMessage(nil)
	for range maxPages {
		list := &Request{Method: methodToolsList, Meta: req.Meta, Peer: noPeer{}}
		if cursor != nil {
			list.Params = append(append([]byte(`{"cursor":`), cursor...), '}')
		}
		result, err := e.round(ctx, list, nil, nil)
		if err != nil {
			return err
		}
		e.mirrors.learn(result.JSON, e.leaveOut)
		if cursor = jsonrpc.Get(result.JSON, "nextCursor"); cursor == nil {
			return nil
		}
	}
	return nil
}

// modernOut is a request as a modern server wants it.
func (u *upstream) modernOut(id jsonrpc.ID, req *Request, answers map[string]json.RawMessage, state string) link.Out {
	params, any := jsonrpc.AppendEdited(make([]byte, 0, len(req.Params)+512), orEmptyObject(req.Params), "_meta", "inputResponses", "requestState")
	comma := func() {
		if any {
			params = append(params, ',')
		}
		any = true
	}
	if len(answers) > 0 {
		comma()
		encoded, _ := schema.Encode(nil, answers) // raw JSON by key: cannot fail
		params = append(append(params, `"inputResponses":`...), encoded...)
	}
	if state != "" {
		comma()
		params = append(append(params, `"requestState":`...), state...)
	}
	comma()
	params = append(u.appendModernMeta(append(params, `"_meta":`...), id, req), '}')
	out := link.Out{ID: id, Method: req.Method, Message: jsonrpc.AppendRequest(nil, id, req.Method, params)}
	if u.link.ClosingCancels() {
		out.Header = u.header(req.Method, req.Name)
		if req.Method == methodToolsCall {
			u.mirrors.add(out.Header, req)
		}
	}
	return out
}

// header are the headers of a message on HTTP.
func (u *upstream) header(method, subject string) map[string]string {
	if !u.link.ClosingCancels() || !u.revision.VersionHeader {
		return nil
	}
	h := map[string]string{"Mcp-Protocol-Version": u.revision.Name}
	if u.revision.Modern {
		h["Mcp-Method"] = method
		if subject != "" {
			h["Mcp-Name"] = mirror.Encode(subject)
		}
	}
	return h
}

// appendModernMeta appends the _meta of a request: what the client added itself,
// and what the revision requires.
func (u *upstream) appendModernMeta(dst []byte, id jsonrpc.ID, req *Request) []byte {
	own := memberOrNil(req.Params, "_meta")
	any := false
	if own != nil && own[0] == '{' {
		dst, any = jsonrpc.AppendEdited(dst, own, "progressToken", revision.MetaProtocolVersion, revision.MetaClientInfo, revision.MetaClientCapabilities, revision.MetaLogLevel)
	} else {
		dst = append(dst, '{')
	}
	if any {
		dst = append(dst, ',')
	}
	dst = append(dst, u.clientMeta(req)...)
	if req.Meta.ProgressToken != nil {
		dst = append(append(dst, `,"progressToken":`...), id...)
	}
	if req.Meta.LogLevel != "" && u.has.Logging != nil {
		dst = jsonrpc.AppendString(append(dst, `,"`+revision.MetaLogLevel+`":`...), string(req.Meta.LogLevel))
	}
	return append(dst, '}')
}

// clientMeta encodes what the client says of itself, once for each client.
func (u *upstream) clientMeta(req *Request) []byte {
	e, _ := u.era.(*modernEra)
	if e == nil {
		e = newModernEra(u)
	}
	capabilities, client := req.Meta.Capabilities, req.Meta.Client
	if client == nil {
		client = u.options.meta().Client
	}
	if m := e.meta.Load(); m != nil && m.capabilities == capabilities && m.client == client && m.revision == u.revision {
		return m.json
	}
	out := jsonrpc.AppendString([]byte(`"`+revision.MetaProtocolVersion+`":`), u.revision.Name)
	encoded, err := schema.Encode(nil, orNone(capabilities))
	if err != nil {
		encoded = []byte(`{}`)
	}
	out = append(append(out, `,"`+revision.MetaClientCapabilities+`":`...), encoded...)
	if encoded, err = schema.Encode(nil, client); err == nil {
		out = append(append(out, `,"`+revision.MetaClientInfo+`":`...), encoded...)
	}
	e.meta.Store(&encodedMeta{capabilities, client, u.revision, out})
	return out
}

func orNone(c *ClientCapabilities) *ClientCapabilities {
	if c == nil {
		return &ClientCapabilities{}
	}
	return c
}

// listen opens a subscription of its own for each that is asked for.
func (e *modernEra) listen(ctx context.Context, req *Request) (Result, error) {
	c, err := e.open(ctx, req)
	if err != nil {
		return Result{}, err
	}
	defer e.done(c)
	out := e.modernOut(c.id, req, nil, "")
	m, err := e.link.Call(ctx, out, func(m *jsonrpc.Message) {
		if m.Kind == jsonrpc.Notification {
			c.deliver(m)
		}
	})
	if err != nil {
		if ctx.Err() != nil && e.link.Err() == nil {
			e.tellCancelled(ctx, c.id)
			return Result{}, context.Cause(ctx)
		}
		return Result{}, e.failed(req, err)
	}
	c.courier.finish()
	result, err := e.answer(req, m)
	result.Meta = nil // it names the subscription, whose id is another on this side
	return result, err
}

// ping asks for the discovery anew: the modern revision has no ping.
func (e *modernEra) ping(ctx context.Context) error {
	m, err := e.discover(ctx)
	if err != nil {
		return fmt.Errorf("server %q: %w", e.name, err)
	}
	if m.Error != nil {
		_, err = e.answer(&Request{Method: methodDiscover}, m)
	}
	return err
}

// asked drops a request of a modern server, which may send none and gets no answer.
func (e *modernEra) asked(_ *upcall, m *jsonrpc.Message) {
	e.log.Debug("mcp: a modern server sent a request", "server", e.name, "method", m.Method)
}

// news finds the subscription that a notification belongs to.
func (e *modernEra) news(m *jsonrpc.Message) {
	id := jsonrpc.Get(memberOrNil(m.Params, "_meta"), revision.MetaSubscriptionID)
	if c := e.callOf(id); c != nil && c.method == methodListen {
		c.deliver(m)
		return
	}
	if id == nil && m.Method != notificationMessage && e.stray(m) {
		return
	}
	e.log.Debug("mcp: a notification that nobody listens for", "server", e.name, "method", m.Method)
}

// stray delivers what names no subscription to all that asked for it: mcp-go, for
// one, leaves the id out where there is one channel for everything.
func (e *modernEra) stray(m *jsonrpc.Message) (delivered bool) {
	uri, _ := jsonrpc.Unquote(m.Members.Get("uri"))
	for _, c := range e.listening() {
		_, req := c.round()
		if f, err := filterOf(req.Params); err == nil && f.wants(m.Method, uri) {
			c.deliver(m)
			delivered = true
		}
	}
	return delivered
}

// listening returns the open subscriptions.
func (e *modernEra) listening() []*upcall {
	e.mu.Lock()
	defer e.mu.Unlock()
	var open []*upcall
	for _, c := range e.calls {
		if c.method == methodListen {
			open = append(open, c)
		}
	}
	return open
}

// sleep waits, and reports whether ctx is still wanted after it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
