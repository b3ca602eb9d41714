package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/traffic"
)

// A message is a sent or received message.
type message struct {
	ToServer bool            `json:"toServer"`
	Kind     string          `json:"kind,omitempty"` // request, notification or response
	Method   string          `json:"method,omitempty"`
	RPC      json.RawMessage `json:"rpc,omitempty"`     // id of the message
	Request  uint64          `json:"request,omitempty"` // number of the request that the message belongs to
	Message  json.RawMessage `json:"message,omitempty"`
	Text     string          `json:"text,omitempty"` // beginning of a message that is not JSON or is too large
	Bytes    int             `json:"bytes"`
	Millis   *int64          `json:"ms,omitempty"`    // time from the request to this response
	Error    string          `json:"error,omitempty"` // reason why there was no response
}

// A notification is a notification of the server.
type notification struct {
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
	Request uint64          `json:"request,omitempty"`
}

const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
)

// observe adds an event for a message. The number of a request is that of its call in the traffic.
func (c *connection) observe(e *traffic.Event) {
	if e.Kind == traffic.Note {
		c.addToleranceFinding(e)
		return
	}
	shown := message{ToServer: e.ToServer, Kind: e.Kind, Method: e.Method, RPC: e.ID, Request: e.Call, Bytes: e.Size}
	m, fault := jsonrpc.Parse(e.Message, jsonrpc.Limits{})
	switch {
	case e.Kind == traffic.Failure:
		shown.Error = plaintext.Line(e.Fault, maxDetail)
	case fault != nil || len(e.Message) > maxOneEvent:
		shown.Text = string(e.Message[:min(len(e.Message), maxShownText)])
	default:
		shown.Message = e.Message
	}
	switch e.Kind {
	case traffic.Request:
		if e.ToServer {
			c.storeSent(e, shown.Message)
		}
	case traffic.Response, traffic.Error, traffic.Failure:
		if shown.Kind = traffic.Response; e.Method != "" {
			took := e.Took.Milliseconds()
			shown.Millis = &took
			c.addResponseStep(e, &m, fault)
		}
	}
	c.journal.add("message", shown)
	if e.Kind == traffic.Notification && !e.ToServer {
		c.journal.add("notification", notification{e.Method, bounded(m.Params), e.Call})
	}
}

// maxShownText is the maximum number of bytes that are shown of a message that is not JSON or is
// too large.
const maxShownText = 64 << 10

// bounded returns raw, or null if it is too large for an event.
func bounded(raw json.RawMessage) json.RawMessage {
	if len(raw) > maxOneEvent {
		return json.RawMessage("null")
	}
	return raw
}

// addToleranceFinding adds a finding to a request: the response to it has a form that is accepted,
// although the specification forbids it.
func (c *connection) addToleranceFinding(e *traffic.Event) {
	var n tolerance.Note
	if e.Note != note.Tolerance || json.Unmarshal(e.Message, &n) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.requestNumbered(e.Call); q != nil && len(q.messageFindings) < maxFindings {
		q.messageFindings = append(q.messageFindings, found(q, "", n.Where, n.Comes, "the author of the server must fix it; used instead: "+n.Used))
	}
}

// storeSent stores the message that was sent for a page's request. If HTTP+SSE is tried after
// Streamable HTTP, it adds a step.
func (c *connection) storeSent(e *traffic.Event, whole json.RawMessage) {
	c.mu.Lock()
	if q := c.requestNumbered(e.Call); q != nil && q.message == nil && e.Method == q.Method { // only the first message is stored if there are several pages or rounds
		q.message = slices.Clone(whole)
		c.requestBytes += len(whole)
	}
	a := c.attempt
	again := e.Method == methodInitialize && a.refused && !a.older && a.opened.Entry.URL != ""
	a.older = a.older || again
	c.mu.Unlock()
	if again {
		c.step("transport", true, e.Time, "Streamable HTTP was refused, so its predecessor HTTP+SSE is tried")
	}
}

// addResponseStep adds a step for the response to a request that is part of connecting.
func (c *connection) addResponseStep(e *traffic.Event, m *jsonrpc.Message, fault *jsonrpc.Error) {
	step, era, speaks := "discover", "modern", ", and speaks "+string(m.Members.Get("supportedVersions"))
	switch e.Method {
	case methodDiscover:
	case methodInitialize:
		step, era, speaks = "initialize", "legacy", ", with revision "+string(m.Members.Get("protocolVersion"))
		c.mu.Lock()
		c.attempt.refused = e.Kind == traffic.Failure
		c.mu.Unlock()
	default:
		return
	}
	began := e.Time.Add(-e.Took)
	switch {
	case e.Kind == traffic.Failure:
		c.step(step, false, began, "%s, which %s servers answer, got no response: %s", e.Method, era, e.Fault)
	case fault != nil:
	case m.Error != nil:
		c.step(step, false, began, "%s, which %s servers answer, was refused with %d: %s", e.Method, era, m.Error.Code, m.Error.Message)
	default:
		c.step(step, true, began, "the server answered %s: it is %s%s", e.Method, era, speaks)
	}
}

// transport returns the name of the transport that the server uses.
func (a *attempt) transport() string {
	switch e := a.opened.Entry; {
	case e.Command != "":
		return "stdio"
	case e.URL == "":
		return "stream"
	case a.older || e.Type == "sse":
		return "http+sse"
	}
	return "streamable-http"
}

// hiddenValue is shown in place of a secret.
const hiddenValue = redact.Hidden

// maxTokenBody is the maximum number of bytes that are read of an authorization server's response.
const maxTokenBody = 64 << 10

// An exchange is one HTTP request with its response.
type exchange struct {
	Purpose  string            `json:"purpose"` // server or authorization
	Method   string            `json:"method"`
	URL      string            `json:"url"`
	Sent     map[string]string `json:"requestHeaders"`
	Form     map[string]string `json:"form,omitempty"` // fields of a form in a request for authorization
	Body     json.RawMessage   `json:"body,omitempty"` // body of a request for authorization that is JSON
	Status   int               `json:"status,omitempty"`
	Received map[string]string `json:"responseHeaders,omitempty"`
	Answer   json.RawMessage   `json:"answer,omitempty"` // response of an authorization server
	Error    string            `json:"error,omitempty"`
	Millis   int64             `json:"ms"`
	RPC      json.RawMessage   `json:"rpc,omitempty"` // id of the message in the request
	Request  uint64            `json:"request,omitempty"`
	// Step is the purpose of a request for authorization. Failed is the reason why it failed.
	Step   string `json:"step,omitempty"`
	Failed string `json:"failed,omitempty"`

	secrets []string // secrets in the request, which the response may repeat
}

// transport returns a transport that sends requests through next and adds events for them.
func (c *connection) transport(next http.RoundTripper, authorization bool) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &watchedTransport{c, next, authorization}
}

type watchedTransport struct {
	of            *connection
	next          http.RoundTripper
	authorization bool
}

// RoundTrip implements [http.RoundTripper].
func (t *watchedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	x := exchange{Purpose: "server", Method: req.Method, URL: redact.URL(req.URL.String()), Sent: shownHeaders(req.Header), Request: requestOf(req.Context())}
	body := bodyOf(req)
	if t.authorization {
		x.Purpose = "authorization"
		x.describe(req, body)
	} else if m, fault := jsonrpc.Parse(body, jsonrpc.Limits{}); fault == nil && !m.ID.IsZero() {
		x.RPC = json.RawMessage(m.ID)
		t.of.headersFor(x.Request, m.Method, req.URL.String(), req.Header)
	}
	response, err := t.next.RoundTrip(req)
	x.Millis = time.Since(began).Milliseconds()
	if err != nil {
		x.Error = plaintext.Line(redact.Text(err.Error(), maxDetail), maxDetail)
	} else {
		x.Status, x.Received = response.StatusCode, shownHeaders(response.Header)
		if t.authorization {
			x.judge(response)
		}
	}
	t.of.journal.add("http", x)
	return response, err
}

// CloseIdleConnections closes the idle connections to a server.
func (t *watchedTransport) CloseIdleConnections() {
	(&http.Client{Transport: t.next}).CloseIdleConnections()
}

// bodyOf returns a copy of the body of a request. It returns nil if the body cannot be read twice.
func bodyOf(req *http.Request) []byte {
	if req.GetBody == nil || req.ContentLength > maxOneEvent {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	data, err := io.ReadAll(io.LimitReader(body, maxOneEvent))
	if err != nil {
		return nil
	}
	return data
}

// describe sets the step and the shown body of a request for authorization.
func (x *exchange) describe(req *http.Request, body []byte) {
	switch path := req.URL.Path; {
	case strings.Contains(path, "/.well-known/oauth-protected-resource"):
		x.Step = "discovery of the resource"
	case strings.Contains(path, "/.well-known/"):
		x.Step = "discovery of the authorization server"
	case strings.HasPrefix(req.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		x.Step = "token"
	case req.Method == http.MethodPost:
		x.Step = "registration"
	default:
		x.Step = "discovery" // a document at a URL that the server named
	}
	if x.Step == "token" {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return
		}
		x.Form = map[string]string{}
		for name, values := range form {
			if slices.Contains(formShown, strings.ToLower(name)) {
				x.Form[name] = strings.Join(values, " ")
				continue
			}
			x.Form[name] = hiddenValue
			x.secrets = append(x.secrets, values...)
		}
	} else if len(body) > 0 {
		x.Body = shownMembers(body)
	}
}

// judge reads the response of an authorization server, and sets Answer and the reason of a failure.
// It leaves response.Body as if nobody had read it.
func (x *exchange) judge(response *http.Response) {
	data, err := io.ReadAll(io.LimitReader(response.Body, maxTokenBody))
	rest := io.MultiReader(bytes.NewReader(data), response.Body)
	if err != nil {
		rest = io.MultiReader(bytes.NewReader(data), failing{err})
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{rest, response.Body}
	x.Answer = x.unquoted(shownMembers(data))
	if response.StatusCode < 400 {
		return
	}
	code, _ := jsonrpc.Unquote(jsonrpc.Get(x.Answer, "error"))
	why, _ := jsonrpc.Unquote(jsonrpc.Get(x.Answer, "error_description"))
	switch {
	case code != "" && why != "":
		x.Failed = plaintext.Line(code+": "+why, maxDetail)
	case code != "":
		x.Failed = plaintext.Line(code, maxDetail)
	case response.StatusCode == http.StatusNotFound && strings.HasPrefix(x.Step, "discovery"):
		x.Failed = "there is no such document; the next place is tried"
	default:
		x.Failed = "HTTP status " + http.StatusText(response.StatusCode)
	}
}

// unquoted returns a response in which the secrets of the request are hidden. A text such as "the
// token … is revoked" may repeat a secret that nothing else marks as one.
func (x *exchange) unquoted(answer json.RawMessage) json.RawMessage {
	const enough = 8 // bytes; a shorter secret may be an ordinary word
	for _, one := range x.secrets {
		if within := jsonrpc.AppendString(nil, one); len(one) >= enough {
			answer = bytes.ReplaceAll(answer, within[1:len(within)-1], []byte(hiddenValue))
		}
	}
	return answer
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// formShown lists the fields of a token request that are not secret.
var formShown = []string{
	"grant_type", "client_id", "redirect_uri", "resource", "scope", "audience", "client_assertion_type", "requested_token_type",
	"subject_token_type", "actor_token_type", "token_type_hint",
}

// shownMembers returns a JSON object without its secrets, or nil if data is not an object or is too
// large.
func shownMembers(data []byte) json.RawMessage {
	if _, fault := jsonrpc.Index(data, jsonrpc.Limits{}); fault != nil {
		return nil
	}
	shown, whole := redact.JSON(data, redact.Limits{Text: maxDetail, Bytes: maxTokenBody, Depth: 8, Shown: func(name string) bool {
		return slices.ContainsFunc(namesOnly, func(end string) bool { return strings.HasSuffix(name, end) })
	}, Hidden: func(name string) bool { return name == "code" || strings.HasSuffix(name, "_code") }})
	if !whole {
		return nil
	}
	return shown
}

// namesOnly lists suffixes of member names. Members with these names describe tokens and keys, but
// contain none.
var namesOnly = []string{"_endpoint", "_supported", "_servers", "_type", "_method", "_uri", "_at"}

// shownHeaders returns headers without secrets. The values are hidden, except for headers that are
// known not to be secret.
func shownHeaders(h http.Header) map[string]string {
	shown := map[string]string{}
	for name, values := range h {
		value := redact.Header(name, strings.Join(values, ", "))
		if scheme, _, found := strings.Cut(strings.Join(values, ", "), " "); found && strings.EqualFold(name, "Authorization") {
			value = scheme + " " + hiddenValue
		}
		shown[name] = plaintext.Line(value, maxDetail)
	}
	return shown
}

// maxFindings is the maximum number of findings about one request.
const maxFindings = 100

// A finding is a fault in a list or a result of a server.
type finding struct {
	Request uint64 `json:"request"`
	Subject string `json:"subject,omitempty"` // name of the tool, prompt or resource
	Where   string `json:"where"`             // path of the member
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
}

func found(q *pageRequest, subject, where, problem, remedy string) finding {
	return finding{q.Request, plaintext.Line(subject, maxDetail), where, plaintext.Line(problem, maxDetail), remedy}
}

// checkList checks the entries of a list.
func (c *connection) checkList(q *pageRequest, entries []json.RawMessage) []finding {
	var all []finding
	add := func(f finding) {
		if len(all) < maxFindings {
			all = append(all, f)
		}
	}
	seen := map[string]bool{}
	key := revision.MethodNamed(q.Method).Key
	for _, entry := range entries {
		name, named := jsonrpc.Unquote(jsonrpc.Get(entry, key))
		switch {
		case !named || name == "":
			add(found(q, plaintext.Line(string(entry), 100), key, "an entry does not have it, so no client can use the entry", "the author of the server must give it one"))
		case seen[name]:
			add(found(q, name, key, "two entries have the same value", "the author of the server must name them differently: only one can be reached"))
		}
		seen[name] = true
		if q.Method == "tools/list" {
			for _, f := range checkTool(q, name, entry) {
				add(f)
			}
		}
	}
	return all
}

func checkTool(q *pageRequest, name string, entry json.RawMessage) []finding {
	const mend = "the author of the server must correct the schema (https://json-schema.org/draft/2020-12); until then give the arguments as JSON, unchecked"
	var all []finding
	for _, where := range []string{"inputSchema", "outputSchema"} {
		form := jsonrpc.Get(entry, where)
		if form == nil {
			if where == "inputSchema" {
				all = append(all, found(q, name, where, "it is missing: a tool without arguments has {\"type\": \"object\"}", mend))
			}
			continue
		}
		kind, isText := jsonrpc.Unquote(jsonrpc.Get(form, "type"))
		switch _, err := schema.Compile(form); {
		case err != nil:
			all = append(all, found(q, name, where, "the schema cannot be used: "+err.Error(), mend))
		case where == "inputSchema" && (!isText || kind != "object"):
			all = append(all, found(q, name, where, `its type is not "object", the type of arguments`, mend))
		}
	}
	return all
}

// checkResult checks the result of a call against the tool's output schema.
func (c *connection) checkResult(ctx context.Context, q *pageRequest, client *mcp.Client, body json.RawMessage, kind string) []finding {
	if q.Method != "tools/call" || kind == "task" {
		return nil
	}
	name, _ := jsonrpc.Unquote(jsonrpc.Get(q.Params, "name"))
	content := jsonrpc.Get(body, "content")
	if len(content) == 0 || content[0] != '[' {
		return []finding{found(q, name, "content", "the result does not have an array of content", "the author of the server must add it; an empty one will do")}
	}
	if string(jsonrpc.Get(body, "isError")) == "true" {
		return nil
	}
	form := c.outputSchema(name)
	if form == nil {
		return nil
	}
	given := jsonrpc.Get(body, "structuredContent")
	if given == nil {
		return []finding{found(q, name, "structuredContent", "the tool has an output schema, but the result has no structured content", "the author of the server must add it, or remove the schema")}
	}
	checks, err := schema.Compile(form)
	if err != nil {
		return nil // checkList reports this
	}
	if err := checks.Validate(given); err != nil {
		return []finding{found(q, name, "structuredContent", "it does not fit the tool's output schema: "+err.Error(), "the author of the server must correct the result or the schema: clients refuse such a result")}
	}
	return nil
}

// outputSchema returns the output schema of a tool, or nil if the page has not listed the tools.
func (c *connection) outputSchema(name string) (form json.RawMessage) {
	c.mu.Lock()
	var tools json.RawMessage
	for _, q := range c.requests {
		if q.Method == "tools/list" && q.Result != nil {
			tools = q.Result
		}
	}
	c.mu.Unlock()
	jsonrpc.EachElement(jsonrpc.Get(tools, "tools"), func(entry []byte) bool {
		if n, _ := jsonrpc.Unquote(jsonrpc.Get(entry, "name")); n != name {
			return true
		}
		form = jsonrpc.Get(entry, "outputSchema")
		return false
	})
	return form
}
