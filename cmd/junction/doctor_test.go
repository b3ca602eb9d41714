package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/doctor"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestDoctorNamesTheBrokenLinkAndItsRemedy(t *testing.T) {
	inFolder(t)
	closed := httptest.NewServer(http.NotFoundHandler())
	away := closed.URL
	closed.Close()
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer locked.Close()
	refused := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer refused.Close()
	var called atomic.Int64
	tools := func(a *mcp.ToolAnnotations) *httptest.Server {
		s := mcp.NewServer("s", "1")
		mcp.AddTool(s, "write", func(context.Context, struct{}) (string, error) { called.Add(1); return "", nil })
		mcp.AddToolWith(s, mcp.Tool{Name: "read", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}}, func(context.Context, struct{ A string }) (string, error) { called.Add(1); return "", nil })
		mcp.AddToolWith(s, mcp.Tool{Name: "status", Annotations: a}, func(context.Context, struct{}) (string, error) { return "", errors.New("out of order") })
		return httptest.NewServer(streamable.Handler(s))
	}
	open := tools(&mcp.ToolAnnotations{ReadOnlyHint: new(true)}) // which may reach other systems
	defer open.Close()
	failing := tools(&mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)})
	defer failing.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	untrusted.Config.ErrorLog = nil
	page := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(status)
			fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	text := fmt.Sprintf(`{"mcpServers":{
		"good":{"command":%q,"args":["serve","everything"],"env":{"X":"${HOME}"}},
		"unset":{"command":"x","env":{"TOKEN":"${JUNCTION_TEST_UNSET}"}},
		"missing":{"command":"no-such-program-here"},
		"ends":{"command":%q,"args":["serve","nothing"]},
		"away":{"url":"%s/mcp"},
		"locked":{"url":"%s/mcp"},
		"refused":{"url":"%s/mcp"},
		"open":{"url":"%s/mcp"},
		"failing":{"url":"%s/mcp","headers":{"authorization":"Bearer x"}},
		"untrusted":{"url":"%s/mcp"},
		"off":{"command":"x","disabled":true},
		"wrong":{"command":3},
		"page":{"url":"%s"},"no page":{"url":"%s"},"static page":{"url":"%s"}}}`, self(t)[0], self(t)[0], away, locked.URL, refused.URL, open.URL, failing.URL, untrusted.URL, page(http.StatusOK), page(http.StatusNotFound), page(http.StatusNotImplemented))
	if err := os.WriteFile(clitest.In(t, "d.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := runs(t, "", "doctor", "--config", "d.json", "--json")
	if got.code != cli.ExitToolFailed {
		t.Fatalf("%+v", got)
	}
	var all struct {
		Servers []doctor.Report `json:"servers"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &all); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct{ link, detail, remedy string }{
		"good":        {"call", ", in ", ""},
		"open":        {"call", "no tool is safe to try", ""},
		"failing":     {"call", "status failed: out of order", "junction call failing status -v"},
		"unset":       {"variables", "JUNCTION_TEST_UNSET", "set the variable"},
		"missing":     {"program", "no-such-program-here", "install no-such-program-here"},
		"ends":        {"start", "no server called", "run its command yourself"},
		"away":        {"address", "refused", "nothing listens there"},
		"locked":      {"authorization", "401", "junction login locked"},
		"refused":     {"authorization", "403", "the server refuses these credentials"},
		"untrusted":   {"TLS", "certificate", "SSL_CERT_FILE"},
		"page":        {"address", "answers with a web page (text/html)", "often /mcp or /sse"},
		"no page":     {"address", "answers with a web page (text/html)", "often /mcp or /sse"},
		"static page": {"address", "answers with a web page (text/html)", "often /mcp or /sse"},
		"wrong":       {"entry", "expected", "change line 13 of d.json"},
	}
	for _, p := range all.Servers {
		w, there := want[p.Server]
		last := p.Links[len(p.Links)-1]
		if !there || last.Name != w.link || last.OK != (w.remedy == "") || !strings.Contains(last.Detail, w.detail) || !strings.Contains(last.Remedy, w.remedy) {
			t.Errorf("%s: the last link is %+v, want %+v", p.Server, last, w)
		}
		delete(want, p.Server)
	}
	if n := called.Load(); n > 0 {
		t.Errorf("%d tools were called that may do harm or need arguments", n)
	}
	if len(want) > 0 {
		t.Errorf("not examined: %v", want)
	}
	runs(t, "", "doctor", "good", "--config", "d.json").expect(t, cli.ExitOK, "ok      start: in ", "")
	runs(t, "", "doctor", "good", "--config", "d.json").expect(t, cli.ExitOK, "ok      era: modern, revision 2026-07-28", "")
	runs(t, "", "doctor", "open", "--config", "d.json").expect(t, cli.ExitOK, "ok      authorization: not required", "")
	runs(t, "", "doctor", "failing", "--config", "d.json").expect(t, cli.ExitToolFailed, "ok      authorization: by the Authorization header of its entry", "")
	shown := runs(t, "", "doctor", "missing", "--config", "d.json")
	shown.expect(t, cli.ExitToolFailed, "fix: install no-such-program-here", "")
	if !strings.Contains(shown.stdout, "1 server, 1 broken") {
		t.Errorf("printed %s", shown.stdout)
	}
	for _, names := range []string{"missing wrong", "wrong missing"} { // an entry that is wrong hides no other server
		shown = runs(t, "", append(strings.Fields("doctor --config d.json"), strings.Fields(names)...)...)
		shown.expect(t, cli.ExitToolFailed, "fix: change line 13 of d.json", "")
		shown.expect(t, cli.ExitToolFailed, "fix: install no-such-program-here", "")
		shown.expect(t, cli.ExitToolFailed, "2 servers, 2 broken", "")
	}
	runs(t, "", "doctor", "wrong", "--config", "d.json").expect(t, cli.ExitToolFailed, "1 server, 1 broken", "")
	runs(t, "", "doctor", "wrong", "none", "--config", "d.json").expect(t, cli.ExitConnection, "", `no server is called "none"`)
}

func TestDoctorInterruptedCallsNoServerBroken(t *testing.T) {
	clitest.Alone(t)
	for _, format := range [][]string{nil, {"--json"}} {
		ctx, interrupt := context.WithCancelCause(t.Context())
		slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or it is not seen that the client goes
			interrupt(cli.ErrInterrupted)
			<-r.Context().Done()
		}))
		if err := os.WriteFile(clitest.In(t, "d.json"), fmt.Appendf(nil, `{"mcpServers":{"slow":{"url":"%s/mcp"},"next":{"url":"%s/mcp"}}}`, slow.URL, slow.URL), 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr clitest.SafeBuffer
		code := run(ctx, clitest.PlaceOf(t), append([]string{"doctor", "--config", "d.json"}, format...), strings.NewReader(""), &stdout, &stderr)
		if code != cli.ExitInterrupted || strings.Contains(stdout.String(), "BROKEN") || strings.Contains(stdout.String(), "broken link") || strings.Contains(stdout.String(), "next") || stderr.String() != "junction: interrupted\n" {
			t.Errorf("%v: exit code %d\n%s%s", format, code, stdout.String(), stderr.String())
		}
		slow.Close()
	}
}

func TestDoctorShowsOtherServersWhileOneWaitsForEver(t *testing.T) {
	clitest.Alone(t)
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	defer slow.Close()
	if err := os.WriteFile(clitest.In(t, "d.json"), fmt.Appendf(nil, `{"mcpServers":{"slow":{"url":"%s/mcp"},"gone":{"command":"no-such-program-here"}}}`, slow.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr clitest.SafeBuffer
	shown := make(chan struct{})
	watched := &watchedBuffer{word: "gone\n  BROKEN", seen: sync.OnceFunc(func() { close(shown) })}
	done := make(chan int, 1)
	go func() {
		done <- run(t.Context(), clitest.PlaceOf(t), []string{"doctor", "--config", "d.json"}, strings.NewReader(""), io.MultiWriter(&stdout, watched), &stderr)
	}()
	select {
	case <-shown:
	case <-done:
		t.Fatalf("it ended before the other server was shown: %s", stdout.String())
	}
	close(release)
	if code := <-done; code != cli.ExitToolFailed || !strings.HasSuffix(stdout.String(), "2 servers, 2 broken.\n") {
		t.Errorf("exit code %d: %s", code, stdout.String())
	}
}

func TestDoctorOfAFileThatCannotBeRead(t *testing.T) {
	clitest.Alone(t)
	writeTap(t, filepath.Join("junction", "mcp.json"), `{"mcpServers": {"a" {}}}`)
	runs(t, "", "doctor").expect(t, cli.ExitConnection, "configuration\n  BROKEN  file: ", "not JSON: line 1, column 21")
}
