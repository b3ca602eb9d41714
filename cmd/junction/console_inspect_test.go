package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/console/inspect"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/servers/everything"
)

// A page is the inspector as somebody at a page sees it.
type inspectorPage struct {
	t   *testing.T
	url string
}

// inspectorWith serves the inspector of junction with a configuration.
func inspectorWith(t *testing.T, config string) inspectorPage {
	t.Helper()
	a := cli.Ready(&cli.App{Place: placeOf(t), IO: cli.IO{Screen: terminal.NewScreen(io.Discard), Stderr: io.Discard}})
	a.Person = terminal.NewPerson(unread{t}, a.Screen)
	if config != "" {
		if err := os.WriteFile(in(t, "inspect.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		a.Flags.Config = []string{"inspect.json"}
	}
	inspector := watch.NewInspector(a, nil)
	mux := http.NewServeMux()
	inspector.Mount(mux.Handle)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		if err := inspector.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return inspectorPage{t, server.URL}
}

// An unread is a terminal from which nothing may be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the terminal was read")
	return 0, io.EOF
}

// The terminal of the console takes Enter for another link, which must not be taken for an agreement.
func TestTheInspectorStartsNoServerOfAProjectThatNobodyAgreedTo(t *testing.T) {
	alone(t)
	write(t, map[string]string{".mcp.json": `{"mcpServers":{"theirs":{"command":"touch","args":["pwned"]}}}`})
	p := inspectorWith(t, "")
	path := p.begin(inspect.Server{Name: "theirs"})
	refused := p.until(path, "state", "state", "failed")
	if got := member(refused, "fault.link") + ": " + member(refused, "fault.remedy"); !strings.HasPrefix(got, "consent: junction tools theirs in a terminal asks you about it; or start the console with --config ") {
		t.Errorf("the fault: %s", refused)
	}
	if _, err := os.Stat(in(t, "pwned")); err == nil {
		t.Error("it was started")
	}
}

// post sends JSON, and returns what came.
func (p inspectorPage) post(path string, body any) json.RawMessage {
	p.t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := http.Post(p.url+path, "application/json", bytes.NewReader(sent))
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		p.t.Fatalf("POST %s: status %d, %v: %s", path, response.StatusCode, err, data)
	}
	return data
}

// begin begins a connection, and returns its path.
func (p inspectorPage) begin(s inspect.Server) string {
	p.t.Helper()
	return "/connections/" + member(p.post("/connections", s), "id")
}

// until follows the events of a connection from the first until one is what is looked for, and returns it.
func (p inspectorPage) until(path, event, name, value string) json.RawMessage {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 30*time.Second)
	defer cancel()
	if !strings.Contains(path, "/events") {
		path += "/events"
	}
	req, err := http.NewRequestWithContext(ctx, "GET", p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	seen, now := "", ""
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			p.t.Fatalf("%v: there was no event %s with %s %s, but\n%s", err, event, name, value, seen)
		}
		if word, is := strings.CutPrefix(line, "event: "); is {
			now = strings.TrimSpace(word)
		}
		data, is := strings.CutPrefix(line, "data: ")
		if !is {
			continue
		}
		seen += now + " " + data
		if now == event && (name == "" || strings.Contains(member(json.RawMessage(data), name), value)) {
			return json.RawMessage(data)
		}
	}
}

// member is what stands at a path of names with dots: a text as it is, or else JSON.
func member(data json.RawMessage, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		data = jsonrpc.Get(data, name)
	}
	if text, is := jsonrpc.Unquote(data); is {
		return text
	}
	return string(data)
}

// all are the events of a connection until now, a line each.
func (p inspectorPage) all(path string) []string {
	p.t.Helper()
	response, err := http.Get(p.url + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	view, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	last := "id: " + member(view, "events")
	response, err = http.Get(p.url + path + "/events")
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	var lines []string
	name, over := "", false
	for text := bufio.NewScanner(response.Body); text.Scan() && !(over && text.Text() == ""); {
		over = over || text.Text() == last
		if word, is := strings.CutPrefix(text.Text(), "event: "); is {
			name = word
		}
		if data, is := strings.CutPrefix(text.Text(), "data: "); is {
			lines = append(lines, name+" "+data)
		}
	}
	return lines
}

func TestALoginIsFollowedStepByStepAtThePage(t *testing.T) {
	noState(t)
	site := newTokenSite(t)
	p := inspectorWith(t, `{"mcpServers":{"site":{"url":"`+site.URL+`/mcp"}}}`)
	path := p.begin(inspect.Server{Name: "site"})
	refused := p.until(path, "state", "state", "failed")
	if got := member(refused, "fault.login") + " " + member(refused, "canLogin") + " " + member(refused, "fault.remedy"); got != "true true junction login site" {
		t.Errorf("it is refused: %s", refused)
	}
	p.post(path+"/login", nil)
	page := member(p.until(path, "login", "state", "open"), "url")
	if !strings.HasPrefix(page, site.URL+"/authorize?") {
		t.Fatalf("the page is %s", page)
	}
	response, err := http.Get(page) // whose redirects lead to the loopback address
	if err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusOK {
		t.Fatal(response, err)
	}
	if got := member(p.until(path, "login", "state", "done"), "detail"); !strings.Contains(got, "(read), renewed by itself") {
		t.Errorf("the login: %s", got)
	}
	p.until(path, "state", "state", "connected")
	var steps []string
	for _, line := range p.all(path) {
		name, data, _ := strings.Cut(line, " ")
		if x := json.RawMessage(data); name == "http" && member(x, "purpose") == "authorization" {
			steps = append(steps, member(x, "step")+" "+member(x, "status"))
		}
		if strings.Contains(line, "secret-token") || strings.Contains(line, "secret-refresh") || strings.Contains(line, "code1") {
			t.Errorf("a secret is shown: %s", line)
		}
	}
	if got, want := strings.Join(steps, ", "), "discovery of the resource 200, discovery of the authorization server 200, registration 201, token 200"; !strings.HasSuffix(got, want) {
		t.Errorf("the steps are %s, want at the end %s", got, want)
	}
	if got := p.until(path, "http", "step", "token"); member(got, "form.grant_type") != "authorization_code" || member(got, "form.code") != "***" || member(got, "answer.access_token") != "***" || member(got, "answer.expires_in") != "3600" {
		t.Errorf("the request for a token is shown as %s", got)
	}
	if got := p.until(path, "http", "requestHeaders.Authorization", "Bearer"); member(got, "requestHeaders.Authorization") != "Bearer ***" {
		t.Errorf("the token is shown: %s", got)
	}
}

func TestALoginThatFailsSaysAtWhichStepAndWhy(t *testing.T) {
	noState(t)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	say := func(status int, v map[string]any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(v)
		}
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+server.URL+`/resource"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	mux.HandleFunc("/resource", say(http.StatusOK, map[string]any{"resource": server.URL + "/mcp", "authorization_servers": []string{server.URL}}))
	mux.HandleFunc("/.well-known/oauth-authorization-server", say(http.StatusOK, map[string]any{"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token", "registration_endpoint": server.URL + "/register", "code_challenge_methods_supported": []string{"S256"}}))
	mux.HandleFunc("/register", say(http.StatusBadRequest, map[string]any{"error": "invalid_client_metadata", "error_description": "no loopback addresses"}))
	p := inspectorWith(t, "")
	path := p.begin(inspect.Server{URL: server.URL + "/mcp"})
	p.until(path, "state", "state", "failed")
	p.post(path+"/login", map[string]any{"scopes": []string{"read"}})
	if got := p.until(path, "login", "state", "failed"); !strings.Contains(member(got, "cause"), "no loopback addresses") || member(got, "remedy") == "" {
		t.Errorf("the login failed: %s", got)
	}
	if got := p.until(path, "http", "step", "registration"); member(got, "failed") != "invalid_client_metadata: no loopback addresses" || member(got, "status") != "400" {
		t.Errorf("the registration: %s", got)
	}
}

func TestTheInspectorConnectsAsTheOtherCommandsDo(t *testing.T) {
	alone(t)
	older := httpsse.Handler(everything.New())
	server := httptest.NewServer(older)
	t.Cleanup(func() { server.Close(); older.Close() })
	program := self(t, "serve", "everything")
	p := inspectorWith(t, `{"mcpServers":{"program":{"command":`+quoted(t, program[0])+`,"args":["serve","everything"],"env":{"API_KEY":"hush"}}}}`)
	for _, test := range []struct {
		server          inspect.Server
		transport, name string
	}{
		{inspect.Server{Name: "program"}, "stdio", "program"},
		{inspect.Server{Name: "everything"}, "stream", "everything"},
		{inspect.Server{Command: program[0], Args: program[1:], Env: map[string]string{"API_KEY": "hush"}}, "stdio", ""},
		{inspect.Server{URL: server.URL, Headers: map[string]string{"X-Key": "hush"}}, "http+sse", server.URL},
		{inspect.Server{Name: server.URL}, "http+sse", server.URL},
	} {
		path := p.begin(test.server)
		view := p.until(path, "state", "state", "connected")
		if got := member(view, "transport"); got != test.transport {
			t.Errorf("%+v: transport %s, want %s", test.server, got, test.transport)
		}
		if got := member(view, "name"); test.name != "" && got != test.name {
			t.Errorf("%+v: name %s, want %s", test.server, got, test.name)
		}
		if test.transport == "http+sse" {
			p.until(path, "step", "step", "transport")
		}
		n := member(p.post(path+"/requests", map[string]any{"method": "tools/call", "params": map[string]any{"name": "echo", "arguments": map[string]string{"message": "hi"}}}), "request")
		p.until(path, "result", "request", n)
		for _, line := range p.all(path) {
			if strings.Contains(line, "hush") {
				t.Errorf("a secret is shown: %s", line)
			}
		}
	}
	path := p.begin(inspect.Server{Name: "evrything"})
	if got := member(p.until(path, "state", "state", "failed"), "fault.cause"); got != `no server is called "evrything"; did you mean "everything"?` {
		t.Errorf("the cause: %s", got)
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAURLThatCannotBeReadIsNotQuoted(t *testing.T) {
	alone(t)
	ask := consoleServed(t)
	for _, address := range []string{"http://127.0.0.1:1/hidden-0123%zz", "http://user:hidden-0123/x@127.0.0.1:1/mcp"} {
		_, begun := ask("POST", "connections", fmt.Sprintf(`{"url":%q}`, address))
		var of struct{ ID string }
		if err := json.Unmarshal([]byte(begun), &of); err != nil {
			t.Fatalf("%v: %s", err, begun)
		}
		got := begun
		for deadline := time.Now().Add(time.Minute); !strings.Contains(got, `"state":"failed"`) && time.Now().Before(deadline); {
			_, got = ask("GET", "connections/"+of.ID, "")
		}
		if !strings.Contains(got, `"state":"failed"`) || strings.Contains(begun+got, "hidden") {
			t.Errorf("%s gets %s", address, got)
		}
	}
}
