package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// codeElicitationRequired is how servers of revision 2025-11-25 ask the user to
// visit a page before a call: as an error (client/elicitation, URL mode errors).
const codeElicitationRequired = -32042

// legacyEra speaks to a legacy server: one session for all requests, and
// questions as requests of the server while a call runs.
type legacyEra struct {
	*upstream
	parking parking

	levelMu sync.Mutex
	level   LogLevel // that the server was told to log at

	subscribed subscribed
}

func newLegacyEra(u *upstream) *legacyEra {
	return &legacyEra{upstream: u, parking: parking{calls: make(map[string]*legacyCall)}, subscribed: subscribed{counts: make(map[string]int)}}
}

// call asks the server, or goes on with a call that waited for its client.
func (e *legacyEra) call(ctx context.Context, req *Request) (Result, error) {
	if ticket := req.State.Get(stateParked); ticket != nil {
		return e.resume(ctx, req, ticket)
	}
	if err := e.setLevel(ctx, req.Meta.LogLevel); err != nil {
		return Result{}, err
	}
	for attempt := 0; ; attempt++ {
		c, err := e.open(ctx, req)
		if err != nil {
			return Result{}, err
		}
		p := e.start(c, req)
		result, err := e.await(ctx, req, p)
		visit, required := elicitationsRequired(err)
		if !required || attempt == maxRounds {
			return result, err
		}
		if err := visitAll(ctx, req.Peer, visit, err); err != nil {
			return Result{}, err
		}
	}
}

// start sends the request. The call belongs to the connection, not to ctx: it
// may outlive the round that began it.
func (e *legacyEra) start(c *upcall, req *Request) *legacyCall {
	callCtx, cancel := context.WithCancelCause(e.ctx)
	p := &legacyCall{era: e, call: c, cancel: cancel, response: make(chan struct{}), stuck: make(chan struct{}, 1), open: make(map[jsonrpc.ID]*Question)}
	c.legacy = p
	out := link.Out{ID: c.id, Method: req.Method, Header: e.header(req.Method, req.Name)}
	out.Message = jsonrpc.AppendRequest(nil, c.id, req.Method, legacyParams(c.id, req))
	exchange := func() {
		defer cancel(nil)
		p.message, p.err = e.exchange(callCtx, c, out)
		e.done(c)
		close(p.response)
	}
	if !e.run(exchange) {
		exchange() // fails at once, as the connection is closed
	}
	return p
}

// legacyParams are the parameters without what only the modern revision knows.
func legacyParams(id jsonrpc.ID, req *Request) json.RawMessage {
	own := memberOrNil(req.Params, "_meta")
	if own == nil && req.Meta.ProgressToken == nil {
		return req.Params
	}
	params, any := jsonrpc.AppendEdited(make([]byte, 0, len(req.Params)+32), orEmptyObject(req.Params), "_meta", "inputResponses", "requestState")
	meta := legacyMeta(id, own, req)
	if meta != nil {
		if any {
			params = append(params, ',')
		}
		params = append(append(params, `"_meta":`...), meta...)
	}
	return append(params, '}')
}

func legacyMeta(id jsonrpc.ID, own json.RawMessage, req *Request) json.RawMessage {
	meta, any := []byte{'{'}, false
	if own != nil && own[0] == '{' {
		names := reservedNames(own)
		meta, any = jsonrpc.AppendEdited(nil, own, append(names, "progressToken")...)
	}
	if req.Meta.ProgressToken != nil {
		if any {
			meta = append(meta, ',')
		}
		meta, any = append(append(meta, `"progressToken":`...), id...), true
	}
	if !any {
		return nil
	}
	return append(meta, '}')
}

// setLevel sees to it that the server logs what the client of a request wants
// to hear. It is told the least severe level that anybody wanted so far.
func (e *legacyEra) setLevel(ctx context.Context, level LogLevel) error {
	if level.Severity() == 0 || e.has.Logging == nil {
		return nil
	}
	e.levelMu.Lock()
	defer e.levelMu.Unlock()
	if e.level != "" && e.level.Severity() <= level.Severity() {
		return nil
	}
	_, err := e.simple(ctx, methodSetLevel, jsonrpc.AppendString([]byte(`{"level":`), string(level)))
	var fault *Error
	if err != nil && !errors.As(err, &fault) {
		return err
	}
	e.level = level // a server that refuses the level is not asked again
	return nil
}

// simple makes a request that nothing else happens in; params lack their
// closing brace, or are nil.
func (e *legacyEra) simple(ctx context.Context, method string, params []byte) (Result, error) {
	if params != nil {
		params = append(params, '}')
	}
	req := &Request{Method: method, Params: params, Peer: noPeer{}}
	c, err := e.open(ctx, req)
	if err != nil {
		return Result{}, err
	}
	defer e.done(c)
	out := link.Out{ID: c.id, Method: method, Message: jsonrpc.AppendRequest(nil, c.id, method, params), Header: e.header(method, "")}
	m, err := e.exchange(ctx, c, out)
	if err != nil {
		return Result{}, e.failed(req, err)
	}
	return e.answer(req, m)
}

func (e *legacyEra) ping(ctx context.Context) error {
	_, err := e.simple(ctx, methodPing, nil)
	return err
}

// asked takes a request of the server: a ping, or a question to a client.
func (e *legacyEra) asked(c *upcall, m *jsonrpc.Message) {
	switch m.Method {
	case methodPing:
		e.respond(jsonrpc.AppendResult(nil, m.ID, nil))
		return
	case methodRootsList, methodSample, methodElicit:
	default:
		e.refuse(m.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "unknown method %q", m.Method))
		return
	}
	if c == nil {
		c = e.someCall()
	}
	if c == nil || c.legacy == nil {
		e.askedOutside(m)
		return
	}
	c.legacy.ask(m)
}

// askedOutside answers a question that came while no call was running, as the
// options say; a bridge has nobody to pass it on to.
func (e *legacyEra) askedOutside(m *jsonrpc.Message) {
	peer := e.options.outside
	if peer == nil {
		e.refuse(m.ID, jsonrpc.Errorf(jsonrpc.MethodNotFound, "%s: only possible while a request of the client runs", m.Method))
		return
	}
	e.run(func() {
		answer, err := peer.Ask(e.ctx, Question{Method: m.Method, Params: m.Params})
		if err != nil {
			e.refuse(m.ID, asFault(err))
			return
		}
		e.respond(jsonrpc.AppendResult(nil, m.ID, answer))
	})
}

func asFault(err error) *jsonrpc.Error {
	f := ErrorOf(err)
	return &jsonrpc.Error{Code: legacyAnswerCode(f.Code), Message: f.Message, Data: f.Data}
}

// legacyAnswerCode is the code with which a legacy client says that it cannot
// do what it is asked (client/roots, client/elicitation).
func legacyAnswerCode(code int) int {
	if code == CodeMissingCapability {
		return CodeMethodNotFound
	}
	return code
}

func (e *legacyEra) refuse(id jsonrpc.ID, f *jsonrpc.Error) {
	e.respond(jsonrpc.AppendError(nil, id, f))
}

func (e *legacyEra) respond(message []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), tellTime)
	defer cancel()
	if err := e.link.Send(ctx, link.Out{Message: message, Header: e.header("", "")}); err != nil {
		e.log.Debug("mcp: the answer to a question did not reach the server", "server", e.name, "error", err)
	}
}

// elicitationsRequired finds the pages that the server wants visited before the call.
func elicitationsRequired(err error) ([]ElicitRequest, bool) {
	var fault *Error
	if !errors.As(err, &fault) || fault.Code != codeElicitationRequired {
		return nil, false
	}
	var data struct {
		Elicitations []ElicitRequest `json:"elicitations"`
	}
	if schema.DecodeLoose(orEmptyObject(fault.Data), &data) != nil || len(data.Elicitations) == 0 {
		return nil, false
	}
	return data.Elicitations, true
}

// visitAll asks the user to visit the pages; cause is returned if they do not.
func visitAll(ctx context.Context, peer Peer, pages []ElicitRequest, cause error) error {
	questions := make(map[string]inputQuestion)
	for i, page := range pages {
		page.Mode = ElicitURL
		params, err := schema.Encode(nil, page)
		if err != nil {
			return err
		}
		questions[fmt.Sprintf("visit-%d-%s", i, page.ElicitationID)] = inputQuestion{methodElicit, params}
	}
	answers, err := answerAll(ctx, peer, questions)
	if err != nil {
		return err
	}
	for _, answer := range answers {
		if action, _ := jsonrpc.Unquote(jsonrpc.Get(answer, "action")); action != ElicitAccept {
			return cause
		}
	}
	return nil
}
