package streamable

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/tolerance"
)

// A clientForm is one unusual reply to a call with the id 5.
type clientForm struct {
	name, contentType, body string
	header                  string // one more header, "NAME: VALUE"
	status                  int    // default 200
	chunked                 bool   // without a length
	open                    bool   // and without an end

	want      string // result or error
	delivered string // methods
	named     string // tolerances
}

const (
	eventsForm = "text/event-stream"
	jsonForm   = "application/json"
	noteOne    = `{"jsonrpc":"2.0","method":"one"}`
	noteTwo    = `{"jsonrpc":"2.0","method":"two"}`
	otherCall  = `{"jsonrpc":"2.0","id":6,"result":{"b":1}}`
	resultForm = `{"a":1}`
	failedForm = "error: expected a response to tools/call: "
)

// clientForms returns replies that can be read without guessing, and similar ones that cannot.
func clientForms() []clientForm {
	event := "data: " + clientGood + "\n\n"
	ended := failedForm + "the stream ended"
	const unresumed = "; it cannot be resumed, and the server may have executed the request"
	return []clientForm{
		// Events that are not messages.
		{name: "an object before the response", contentType: eventsForm, body: "data: {\"type\":\"heartbeat\"}\n\n" + event, want: resultForm, named: "not-a-message"},
		{name: "a word before it", contentType: eventsForm, body: "data: ping\n\n" + event, want: resultForm, named: "not-a-message"},
		{name: "a number with the id before it", contentType: eventsForm, body: "data: 5\n\n" + event, want: resultForm, named: "not-a-message"},
		{name: "an object with the id before it", contentType: eventsForm, body: "data: {\"id\":5,\"type\":\"heartbeat\"}\n\n" + event, want: resultForm, named: "not-a-message"},
		{name: "null before it", contentType: eventsForm, body: "data: null\n\n" + event, want: resultForm, named: "not-a-message"},
		{name: "an empty batch before it", contentType: eventsForm, body: "data: []\n\n" + event, want: resultForm, named: "not-a-message"},
		{name: "[DONE] before it", contentType: eventsForm, body: "data: [DONE]\n\n" + event, want: resultForm, named: "not-a-message"},
		{name: "[DONE] behind it", contentType: eventsForm, body: event + "data: [DONE]\n\n", want: resultForm},
		{name: "empty data and comments before it", contentType: eventsForm, body: ":\n\n:\ndata:\n\ndata\n\n" + event, want: resultForm},
		{name: "an event ping before it", contentType: eventsForm, body: "event: ping\ndata: 2026-01-01\n\n" + event, want: resultForm, named: "not-a-message"},
		{name: "a message in an event of another name", contentType: eventsForm, body: "event: x\ndata: " + noteOne + "\n\n" + event, want: resultForm, named: "not-a-message"},
		{name: "the response in an event of another name", contentType: eventsForm, body: "event: result\n" + event, want: resultForm, named: "event-name"},
		{name: "the response to another call in one", contentType: eventsForm, body: "event: result\ndata: " + otherCall + "\n\n" + event, want: resultForm, named: "not-a-message"},
		{name: "half of the response, then all of it", contentType: eventsForm, body: "data: {\"jsonrpc\":\"2.0\",\"id\":5,\n\n" + event, want: failedForm + "the reply is not valid: "},
		{name: "nothing but heartbeats", contentType: eventsForm, body: "data: ping\n\n", named: "not-a-message",
			want: ended + ", and an event was left out that is not a message: the reply is not valid: offset 0: expected a value, found 'p' (-32700)" + unresumed},
		{name: "a response with an invalid result and error", contentType: eventsForm, body: "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{},\"error\":{\"code\":1,\"message\":\"x\"}}\n\n" + event,
			want: failedForm + "the reply is not valid: "},
		{name: "a name twice", contentType: eventsForm, body: "data: {\"jsonrpc\":\"2.0\",\"id\":6,\"id\":5,\"result\":{}}\n\n", want: failedForm},

		// Lines of events.
		{name: "CR ends lines", contentType: eventsForm, body: strings.ReplaceAll(event, "\n", "\r"), want: resultForm},
		{name: "CRLF and LF end lines", contentType: eventsForm, body: "event: message\r\ndata: " + clientGood + "\n\r\n", want: resultForm},
		{name: "a byte order mark before events", contentType: eventsForm, body: "\ufeff" + event, want: resultForm},
		{name: "no space behind the colon", contentType: eventsForm, body: "data:" + clientGood + "\n\n", want: resultForm},
		{name: "lines of data that make one message", contentType: eventsForm, body: "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":5,\"result\":\ndata: {\"a\":1}}\n\n", want: resultForm},
		{name: "odd retry times and an id with NUL", contentType: eventsForm, body: "retry: soon\nid: a\x00b\n" + event, want: resultForm},
		{name: "unknown fields", contentType: eventsForm, body: "note: x\n" + event, want: resultForm},
		{name: "no blank line, and the stream ends", contentType: eventsForm, body: "event: message\ndata: " + clientGood + "\n", want: resultForm, named: "unended-event"},
		{name: "no line end, and the stream ends", contentType: eventsForm, body: "data: " + clientGood, want: resultForm, named: "unended-event"},
		{name: "no blank line, and the stream stays open", contentType: eventsForm, body: "data: " + clientGood + "\n", open: true, want: resultForm, named: "unended-event"},
		{name: "no blank line, and the stream of CRLF stays open", contentType: eventsForm, body: "data: " + clientGood + "\r\n", open: true, want: resultForm, named: "unended-event"},
		{name: "no blank line behind a part of the response", contentType: eventsForm, body: "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}\n", want: ended + unresumed},
		{name: "no blank line behind the response to another call", contentType: eventsForm, body: "data: " + otherCall + "\n", want: ended + unresumed},
		{name: "no blank lines at all", contentType: eventsForm, body: "event: message\ndata: " + noteOne + "\nevent: message\ndata: " + clientGood + "\n\n", want: resultForm, delivered: "one", named: "joined-events"},
		{name: "no blank lines, not even the last", contentType: eventsForm, body: "data: " + noteOne + "\ndata: " + clientGood + "\n", open: true, want: resultForm, delivered: "one", named: "unended-event joined-events"},

		// Content types.
		{name: "text/plain", contentType: "text/plain; charset=utf-8", body: clientGood, want: resultForm, named: "content-type"},
		{name: "no content type", body: clientGood, want: resultForm, named: "content-type"},
		{name: "text/json", contentType: "text/json", body: clientGood, want: resultForm, named: "content-type"},
		{name: "application/json-rpc", contentType: "application/json-rpc", body: clientGood, want: resultForm, named: "content-type"},
		{name: "application/octet-stream", contentType: "application/octet-stream", body: clientGood, chunked: true, want: resultForm, named: "content-type"},
		{name: "text/html", contentType: "text/html; charset=UTF-8", body: clientGood, want: resultForm, named: "content-type"},
		{name: "a content type with odd parameters", contentType: "Application/JSON;charset", body: clientGood, want: resultForm},
		{name: "a content type twice", contentType: "application/json, application/json", body: clientGood, want: resultForm, named: "content-type"},
		{name: "events as text/plain", contentType: "text/plain", body: event, open: true, want: resultForm, named: "content-type"},
		{name: "events without a content type", body: "event: message\n" + event, want: resultForm, named: "content-type"},
		{name: "events as application/json, open", contentType: jsonForm, body: event, open: true, want: resultForm, named: "content-type"},
		{name: "events as application/json, with a length", contentType: jsonForm, body: event, want: resultForm, named: "content-type"},
		{name: "JSON as text/event-stream", contentType: eventsForm, body: clientGood, want: resultForm, named: "content-type"},
		{name: "JSON in lines as text/event-stream", contentType: eventsForm, body: "{\n\"jsonrpc\":\"2.0\",\n\"id\":5,\"result\":{\"a\":1}}\n", chunked: true, want: resultForm, named: "content-type"},
		{name: "a page", contentType: "text/html", body: "<!doctype html>\n<html><head><title>Log in</title>", want: failedForm + `expected application/json or text/event-stream, found the content type "text/html", and a body that begins with "Log in"`},
		{name: "a page as JSON", contentType: jsonForm, body: "<html>", want: failedForm + "the reply is not valid: offset 0: expected a value, found '<' (-32700)"},

		// Statuses and bodies.
		{name: "201 with the response", status: 201, contentType: jsonForm, body: clientGood, want: resultForm},
		{name: "204", status: 204, want: failedForm + "found HTTP status 204 without a response"},
		{name: "202 with JSON that is no message", status: 202, contentType: "text/plain", body: `{"status":"accepted"}`, want: failedForm + "the reply is not valid: ", named: "content-type"},
		{name: "200 without a body or type", want: failedForm + "found HTTP status 200 with an empty body"},
		{name: "a byte order mark before JSON", contentType: jsonForm, body: "\ufeff" + clientGood, want: resultForm, named: "byte-order-mark"},
		{name: "spaces around JSON", contentType: jsonForm, body: "\r\n " + clientGood + "\r\n\n", want: resultForm},
		{name: "a warning behind JSON", contentType: jsonForm, body: clientGood + "\nWarning: x", want: resultForm, named: "behind-message"},
		{name: "NUL behind JSON", contentType: jsonForm, body: clientGood + "\x00", want: resultForm, named: "behind-message"},
		{name: "a warning before JSON", contentType: jsonForm, body: "Warning: x\n" + clientGood, want: failedForm + "the reply is not valid: offset 0: expected a value, found 'W' (-32700)"},
		{name: "messages in lines", contentType: "application/x-ndjson", body: noteOne + "\n" + clientGood + "\n", want: resultForm, delivered: "one", named: "content-type behind-message"},
		{name: "two responses behind each other", contentType: jsonForm, body: clientGood + strings.Replace(clientGood, "1}", "2}", 1), want: failedForm + "the reply has two responses with the id 5"},
		{name: "a batch of one", contentType: jsonForm, body: "[" + clientGood + "]", want: resultForm},
		{name: "a batch with something else", contentType: jsonForm, body: `[{"type":"heartbeat"},7,` + clientGood + `,` + noteTwo + `]`, want: resultForm, delivered: "two", named: "not-a-message"},
		{name: "a batch of something else", contentType: jsonForm, body: `[{"type":"heartbeat"}]`, want: failedForm + "the reply is not valid: ", named: "not-a-message"},

		// Codings.
		{name: "gzip", contentType: jsonForm, header: "Content-Encoding: gzip", body: compressed("gzip", clientGood), want: resultForm, named: "content-coding"},
		{name: "x-gzip events", contentType: eventsForm, header: "Content-Encoding: X-GZip", body: compressed("gzip flushed", event), open: true, want: resultForm, named: "content-coding"},
		{name: "deflate", contentType: jsonForm, header: "Content-Encoding: deflate", body: compressed("zlib", clientGood), want: resultForm, named: "content-coding"},
		{name: "deflate without zlib", contentType: jsonForm, header: "Content-Encoding: deflate", body: compressed("deflate", clientGood), want: resultForm, named: "content-coding"},
		{name: "identity", contentType: jsonForm, header: "Content-Encoding: identity", body: clientGood, want: resultForm},
		{name: "br", contentType: jsonForm, header: "Content-Encoding: br", body: "\x0b\x02\x80", named: "content-coding",
			want: failedForm + `the body cannot be decoded: its content coding is "br", which was not asked for; gzip and deflate can be read`},
		{name: "zstd events", contentType: eventsForm, header: "Content-Encoding: zstd", body: "\x28\xb5\x2f\xfd", named: "content-coding",
			want: failedForm + `the body cannot be decoded: its content coding is "zstd", which was not asked for; gzip and deflate can be read`},
		{name: "no gzip", contentType: jsonForm, header: "Content-Encoding: gzip", body: clientGood + clientGood, named: "content-coding", want: failedForm + "the body cannot be decoded: gzip: invalid header"},
		{name: "gzip of too much", contentType: jsonForm, header: "Content-Encoding: gzip", body: compressed("gzip", strings.Repeat(" ", 1<<20)+clientGood), named: "content-coding", want: failedForm + "message too long: over 1000 bytes"},
		{name: "gzip of too large an event", contentType: eventsForm, header: "Content-Encoding: gzip", body: compressed("gzip", "data: "+strings.Repeat(" ", 1<<20)), named: "content-coding", want: failedForm + "event too large: more than 1000 bytes"},
		{name: "a status in br", status: 403, contentType: "text/plain", header: "Content-Encoding: br", body: "\x0b", named: "content-coding",
			want: failedForm + `POST URL: HTTP status 403: the body cannot be decoded: its content coding is "br", which was not asked for; gzip and deflate can be read`},
		{name: "a status in gzip", status: 403, contentType: "text/plain", header: "Content-Encoding: gzip", body: compressed("gzip", "go away"), named: "content-coding", want: failedForm + "POST URL: HTTP status 403: go away"},
		{name: "a status with a byte order mark", status: 400, contentType: jsonForm, body: "\ufeff" + `{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"no"}}`, want: failedForm + "POST URL: HTTP status 400: no (-32020)"},
	}
}

func compressed(coding, text string) string {
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip flushed":
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		z.Flush()
		return b.String()
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	default:
		w, _ = flate.NewWriter(&b, flate.DefaultCompression)
	}
	io.WriteString(w, text)
	w.Close()
	return b.String()
}

// ServeHTTP sends the form to a POST.
func (f *clientForm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	io.Copy(io.Discard, r.Body)
	w.Header()["Content-Type"] = nil // no guessed value
	if f.contentType != "" {
		w.Header().Set("Content-Type", f.contentType)
	}
	if name, value, found := strings.Cut(f.header, ": "); found {
		w.Header().Set(name, value)
	}
	w.WriteHeader(max(f.status, 200)) // the length is set if everything is written at once
	io.WriteString(w, f.body)
	if f.chunked || f.open {
		w.(http.Flusher).Flush()
	}
	if f.open {
		<-r.Context().Done()
	}
}

func TestClientReadsOddForms(t *testing.T) {
	for _, form := range clientForms() {
		t.Run(form.name, func(t *testing.T) {
			var seen tolerance.Records
			l, url := dialTest(t, form.ServeHTTP, ClientOptions{MaxMessage: 1000, Logger: seen.Logger(slog.New(slog.DiscardHandler), "s")})
			var delivered []string
			ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, errors.New("nothing came for 10 seconds"))
			defer cancel()
			got := clientOutcome(l.Call(ctx, clientOut("tools/call"), func(m *jsonrpc.Message) { delivered = append(delivered, m.Method) }))
			l.Close()
			got = strings.ReplaceAll(got, url, "URL")
			if exact := !strings.HasSuffix(form.want, ": "); exact && got != form.want || !strings.HasPrefix(got, form.want) {
				t.Errorf("got  %s\nwant %s", got, form.want)
			}
			if got := strings.Join(delivered, " "); got != form.delivered {
				t.Errorf("delivered %q, want %q", got, form.delivered)
			}
			var named []string
			for _, line := range seen.Of("s") {
				name, _, _ := strings.Cut(line, ":")
				named = append(named, name)
				if !strings.HasSuffix(line, ", in tools/call") && name != "content-coding" {
					t.Errorf("named as %q", line)
				}
			}
			if got := strings.Join(named, " "); got != form.named {
				t.Errorf("named %q, want %q", got, form.named)
			}
		})
	}
}

func TestClientTakesOddSessionIDs(t *testing.T) {
	long := strings.Repeat("s", maxSessionID)
	for _, test := range []struct {
		name  string
		ids   []string
		later string // in the response to tools/list
		want  string // session of the next request
		named string
	}{
		{"none", nil, "", "", ""},
		{"an empty one", []string{""}, "", "", ""},
		{"one", []string{"a~1"}, "a~1", "a~1", ""},
		{"a long one", []string{long}, "", long, ""},
		{"too long a one", []string{long + "s"}, "", "", "session-id: initialize: it has 8193 bytes, and at most 8192 are sent"},
		{"one with a space", []string{"a b"}, "", "", "session-id: initialize: its byte 2 is 0x20, and it has visible ASCII characters only (basic/transports)"},
		{"one with an umlaut", []string{"\u00e4"}, "", "", "session-id: initialize: its byte 1 is 0xc3, and it has visible ASCII characters only (basic/transports)"},
		{"the same one twice", []string{"a", "a"}, "", "a", ""},
		{"the same one twice in one header", []string{"a, a"}, "", "a", ""},
		{"two", []string{"a", "b"}, "", "a", "session-id: initialize: two different ones"},
		{"another one later", []string{"a"}, "b", "a", "session-id: another one in the response to tools/list"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var sessions []string
			var seen tolerance.Records
			l, _ := dialTest(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost {
					return
				}
				if sessions = append(sessions, r.Header.Get(headerSession)); len(sessions) == 1 {
					w.Header()[headerSession] = test.ids
				} else if test.later != "" {
					w.Header()[headerSession] = []string{test.later}
				}
				w.Header().Set("Content-Type", jsonForm)
				io.WriteString(w, clientGood)
			}, ClientOptions{Logger: seen.Logger(slog.New(slog.DiscardHandler), "s")})
			for _, method := range []string{methodInitialize, "tools/list", "tools/list"} {
				if _, err := l.Call(t.Context(), clientOut(method), nil); err != nil {
					t.Fatal(err)
				}
			}
			if got := sessions[2]; got != test.want {
				t.Errorf("sent %.50q, want %.50q", got, test.want)
			}
			named := strings.Join(seen.Of("s"), "; ")
			if name, where, _ := strings.Cut(named, ":"); named != "" {
				_, where, _ = strings.Cut(where, ", in ")
				named = name + ": " + where
			}
			if !strings.HasPrefix(named, test.named) || test.named == "" && named != "" {
				t.Errorf("named %q, want %q", named, test.named)
			}
		})
	}
}

func TestClientReadsOddNotifications(t *testing.T) {
	noteThree := strings.Replace(noteOne, "one", "three", 1)
	const event = "event: message\ndata: "
	for _, test := range []struct {
		name, contentType, body string
		named                   string
	}{
		{"events in order", eventsForm, event + noteOne + "\n\n" + event + noteTwo + "\n\n" + event + noteThree + "\n\n", ""},
		{"text/plain", "text/plain", event + noteOne + "\n\n" + event + noteTwo + "\n\n" + event + noteThree + "\n\n", "content-type"},
		{"no content type", "", event + noteOne + "\n\n" + event + noteTwo + "\n\n" + event + noteThree + "\n\n", "content-type"},
		{"heartbeats", eventsForm, "data: ping\n\n" + event + noteOne + "\n\nevent: ping\ndata: {}\n\n" + event + noteTwo + "\n\n[DONE]\n\n" + event + noteThree + "\n\n", "not-a-message"},
		{"no blank lines", eventsForm, event + noteOne + "\n" + event + noteTwo + "\n" + event + noteThree + "\n", "joined-events"},
		{"no last blank line", eventsForm, event + noteOne + "\n\n" + event + noteTwo + "\n\n" + event + noteThree + "\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen tolerance.Records
			l, _ := dialTest(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil
				if test.contentType != "" {
					w.Header().Set("Content-Type", test.contentType)
				}
				io.WriteString(w, test.body)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}, ClientOptions{Logger: seen.Logger(slog.New(slog.DiscardHandler), "s")})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var got []string
			l.Receive(ctx, func() {}, func(m *jsonrpc.Message) {
				if got = append(got, m.Method); len(got) == 3 {
					cancel()
				}
			})
			if all := strings.Join(got, " "); all != "one two three" {
				t.Errorf("delivered %q", all)
			}
			var named []string
			for _, line := range seen.Of("s") {
				name, _, _ := strings.Cut(line, ":")
				named = append(named, name)
			}
			if got := strings.Join(named, " "); got != test.named {
				t.Errorf("named %q, want %q", got, test.named)
			}
		})
	}
}
