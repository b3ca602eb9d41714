package inspect

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
)

// hiddenValue stands where a secret was.
const hiddenValue = redact.Hidden

// maxTokenBody is how many bytes are read of what an authorization server answers, for those who watch.
const maxTokenBody = 64 << 10

// An exchange is one request over HTTP, with its response.
type exchange struct {
	Purpose  string            `json:"purpose"` // server or authorization
	Method   string            `json:"method"`
	URL      string            `json:"url"`
	Sent     map[string]string `json:"requestHeaders"`
	Form     map[string]string `json:"form,omitempty"` // of a request for authorization
	Body     json.RawMessage   `json:"body,omitempty"` // the same where it is JSON
	Status   int               `json:"status,omitempty"`
	Received map[string]string `json:"responseHeaders,omitempty"`
	Answer   json.RawMessage   `json:"answer,omitempty"` // of an authorization server
	Error    string            `json:"error,omitempty"`
	Millis   int64             `json:"ms"`
	RPC      json.RawMessage   `json:"rpc,omitempty"` // the id of the message that it carried
	Request  uint64            `json:"request,omitempty"`
	// Step says what a request for authorization is for, and Failed why it did not work.
	Step   string `json:"step,omitempty"`
	Failed string `json:"failed,omitempty"`

	secrets []string // that were sent, which an answer may quote
}

// transport has what goes through next said, too.
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

// CloseIdleConnections is called when nothing more is asked of a server.
func (t *watchedTransport) CloseIdleConnections() {
	(&http.Client{Transport: t.next}).CloseIdleConnections()
}

// bodyOf is a copy of what a request sends, where it can be had.
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

// describe says what is asked of an authorization server.
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
		x.Step = "discovery" // at a place that the server named
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

// judge reads what an authorization server answered, and says why it failed if it did. What is read is put back.
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

// unquoted is an answer without the secrets that were sent: "the token … is revoked" has one that nothing else gives away.
func (x *exchange) unquoted(answer json.RawMessage) json.RawMessage {
	const enough = 8 // bytes; what is shorter may be a word
	for _, one := range x.secrets {
		if within := jsonrpc.AppendString(nil, one); len(one) >= enough {
			answer = bytes.ReplaceAll(answer, within[1:len(within)-1], []byte(hiddenValue))
		}
	}
	return answer
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// formShown are the fields of a request for a token that are no secrets.
var formShown = []string{
	"grant_type", "client_id", "redirect_uri", "resource", "scope", "audience", "client_assertion_type", "requested_token_type",
	"subject_token_type", "actor_token_type", "token_type_hint",
}

// shownMembers is a JSON object without its secrets; nil where it is none.
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

// namesOnly are ends of names of members that say something of tokens and keys, and hold none.
var namesOnly = []string{"_endpoint", "_supported", "_servers", "_type", "_method", "_uri", "_at"}

// shownHeaders are headers without secrets: of those that are not known to have none, the names only.
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
