package clitest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/console/inspect"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/terminal"
)

// An InspectorPage is a client of the inspector, in place of a web page.
type InspectorPage struct {
	T   *testing.T
	URL string
}

// InspectorWith starts an inspector with a configuration.
func InspectorWith(t *testing.T, config string) InspectorPage {
	t.Helper()
	a := reach.Ready(&cli.App{Place: PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(io.Discard), Stderr: io.Discard}})
	a.Person = terminal.NewPerson(unread{t}, a.Screen)
	if config != "" {
		if err := os.WriteFile(In(t, "inspect.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		a.Launch.Config = []string{"inspect.json"}
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
	return InspectorPage{t, server.URL}
}

// An unread is a terminal that fails the test when it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the terminal was read")
	return 0, io.EOF
}

// Post sends body as JSON, and returns the response.
func (p InspectorPage) Post(path string, body any) json.RawMessage {
	p.T.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		p.T.Fatal(err)
	}
	response, err := http.Post(p.URL+path, "application/json", bytes.NewReader(sent))
	if err != nil {
		p.T.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		p.T.Fatalf("POST %s: status %d, %v: %s", path, response.StatusCode, err, data)
	}
	return data
}

// Begin starts a connection to a server, and returns its path.
func (p InspectorPage) Begin(s inspect.Server) string {
	p.T.Helper()
	return "/connections/" + Member(p.Post("/connections", s), "id")
}

// Until reads the events of a connection from the start. It returns the first event of the given
// kind whose member name contains value.
func (p InspectorPage) Until(path, event, name, value string) json.RawMessage {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.T.Context(), 30*time.Second)
	defer cancel()
	if !strings.Contains(path, "/events") {
		path += "/events"
	}
	req, err := http.NewRequestWithContext(ctx, "GET", p.URL+path, nil)
	if err != nil {
		p.T.Fatal(err)
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		p.T.Fatal(err)
	}
	defer response.Body.Close()
	seen, now := "", ""
	lines := bufio.NewReader(response.Body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			p.T.Fatalf("%v: there was no event %s with %s %s, but\n%s", err, event, name, value, seen)
		}
		if word, is := strings.CutPrefix(line, "event: "); is {
			now = strings.TrimSpace(word)
		}
		data, is := strings.CutPrefix(line, "data: ")
		if !is {
			continue
		}
		seen += now + " " + data
		if now == event && (name == "" || strings.Contains(Member(json.RawMessage(data), name), value)) {
			return json.RawMessage(data)
		}
	}
}

// Member returns the member at a path of names separated by dots. A string is returned without
// quotes, and any other value as JSON.
func Member(data json.RawMessage, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		data = jsonrpc.Get(data, name)
	}
	if text, is := jsonrpc.Unquote(data); is {
		return text
	}
	return string(data)
}

// All returns the events of a connection so far, one in each line.
func (p InspectorPage) All(path string) []string {
	p.T.Helper()
	response, err := http.Get(p.URL + path)
	if err != nil {
		p.T.Fatal(err)
	}
	defer response.Body.Close()
	view, err := io.ReadAll(response.Body)
	if err != nil {
		p.T.Fatal(err)
	}
	last := "id: " + Member(view, "events")
	response, err = http.Get(p.URL + path + "/events")
	if err != nil {
		p.T.Fatal(err)
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
