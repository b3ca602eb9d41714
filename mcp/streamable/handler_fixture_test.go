package streamable

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/mcp"
)

type name struct {
	Name string `json:"name"`
}

// fixture is a server with the tools of the tests.
type fixture struct {
	*mcp.Server
	steps  chan string        // tool "steps" sends each as progress; "disconnect" disconnects; closing it ends the tool
	causes chan error         // causes of the end of the tool "wait"
	begun  chan struct{}      // the tool "wait" runs
	stop   context.CancelFunc // ends everything that a test left running
	ctx    context.Context
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{Server: mcp.NewServer("fixture", "1"), steps: make(chan string), causes: make(chan error, 100), begun: make(chan struct{}, 100)}
	f.ctx, f.stop = context.WithCancel(context.Background())
	t.Cleanup(f.stop)
	mcp.AddTool(f.Server, "echo", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	})
	mcp.AddTool(f.Server, "zone", func(_ context.Context, in struct {
		Zone string `json:"zone" header:"Zone"`
	}) (string, error) {
		return in.Zone, nil
	})
	mcp.AddTool(f.Server, "count", func(ctx context.Context, in struct {
		To int `json:"to"`
	}) (string, error) {
		for i := range in.To {
			if err := mcp.Progress(ctx, float64(i+1), float64(in.To), ""); err != nil {
				return "", err
			}
		}
		return "counted", nil
	})
	mcp.AddTool(f.Server, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcp.Elicit[name](ctx, "Who?")
		return answer.Name, err
	})
	mcp.AddTool(f.Server, "steps", f.step)
	mcp.AddTool(f.Server, "wait", func(ctx context.Context, _ struct{}) (string, error) {
		f.begun <- struct{}{}
		select {
		case <-ctx.Done():
			f.causes <- context.Cause(ctx)
			return "", ctx.Err()
		case <-f.ctx.Done():
			return "", f.ctx.Err()
		}
	})
	f.AddText(mcp.Resource{URI: "test://a", Name: "a"}, "text of a")
	return f
}

func (f *fixture) step(ctx context.Context, _ struct{}) (string, error) {
	for n := 1.0; ; n++ {
		select {
		case text, more := <-f.steps:
			switch {
			case !more:
				return "all steps done", nil
			case text == "disconnect":
				mcp.ReleaseStream(ctx)
			default:
				if err := mcp.Progress(ctx, n, 0, text); err != nil {
					return "", err
				}
			}
		case <-ctx.Done():
			return "", ctx.Err()
		case <-f.ctx.Done():
			return "", f.ctx.Err()
		}
	}
}

// A site is an Endpoint on a loopback address.
type site struct {
	t        *testing.T
	endpoint *Endpoint
	url      string
	client   *http.Client
}

func newSite(t *testing.T, h mcp.Handler, o Options) *site {
	e := HandlerWith(h, o)
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	t.Cleanup(e.Close)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(client.CloseIdleConnections)
	return &site{t, e, server.URL, client}
}

// do sends a request; header has names and values in turn.
func (s *site) do(method, body string, header ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

const capabilities = `{"elicitation":{},"sampling":{},"roots":{}}`

// handshake opens a session and returns its id.
func (s *site) handshake(revision string) string {
	s.t.Helper()
	resp := s.do("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"test","version":"1"}}}`, revision, capabilities))
	if resp.StatusCode != 200 {
		s.t.Fatalf("initialize: status %d", resp.StatusCode)
	}
	id := resp.Header.Get("Mcp-Session-Id")
	s.do("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id)
	return id
}

// callTool returns the message that calls a tool and requests progress.
func callTool(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%d}}}`, id, tool, arguments, id)
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `,"progressToken":7}`

// modern sends a modern request; params has the members of the object.
func (s *site) modern(method, name, params string) *http.Response {
	s.t.Helper()
	if params != "" {
		params += ","
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s%s}}`, method, params, modernMeta)
	header := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		header = append(header, "Mcp-Name", name)
	}
	return s.do("POST", body, header...)
}

// read returns the whole body.
func (s *site) read(resp *http.Response) string {
	s.t.Helper()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(body)
}

// events reads a stream.
type events struct {
	t *testing.T
	*eventstream.Reader
	resp *http.Response
	last string // id of the last event
}

func (s *site) events(resp *http.Response) *events {
	s.t.Helper()
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" {
		s.t.Fatalf("got status %d, %s: %s; want a stream", resp.StatusCode, kind, s.read(resp))
	}
	return &events{t: s.t, Reader: eventstream.NewReader(resp.Body, 0), resp: resp}
}

// next returns the next event that has a message.
func (e *events) next() (string, error) {
	for {
		event, err := e.Next()
		if err != nil {
			return "", err
		}
		if event.HasID {
			e.last = event.ID
		}
		if len(event.Data) > 0 {
			return string(event.Data), nil
		}
	}
}

// want fails the test unless the next message contains the text.
func (e *events) want(text string) {
	e.t.Helper()
	got, err := e.next()
	if err != nil || !strings.Contains(got, text) {
		e.t.Fatalf("got %q, %v; want a message with %q", got, err, text)
	}
}

// wantEnd fails the test unless the stream ends here properly.
func (e *events) wantEnd() {
	e.t.Helper()
	if got, err := e.next(); err != io.EOF {
		e.t.Fatalf("got %q, %v; want the end of the stream", got, err)
	}
}

// summary returns the essence of a message: its progress, or its text.
func summary(message string) string {
	var m struct {
		Method string
		Params struct {
			Progress float64
			URI      string
		}
		Result struct{ Content []struct{ Text string } }
	}
	if json.NewDecoder(bytes.NewBufferString(message)).Decode(&m) != nil {
		return message
	}
	switch {
	case m.Method == "notifications/progress":
		return fmt.Sprint(m.Params.Progress)
	case m.Params.URI != "":
		return m.Params.URI
	case m.Method != "":
		return m.Method
	case len(m.Result.Content) > 0:
		return m.Result.Content[0].Text
	}
	return message
}

// abandon sends a POST that may fail.
func (s *site) abandon(ctx context.Context, body string, header ...string) {
	r, _ := http.NewRequestWithContext(ctx, "POST", s.url, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if resp, err := s.client.Do(r); err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}
