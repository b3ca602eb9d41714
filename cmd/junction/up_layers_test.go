package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/trace"
)

// Rules, audit and search stand around a gateway that is served; every layer is the real one.
func TestUpWithRulesAuditAndSearch(t *testing.T) {
	clitest.Alone(t)
	if err := os.WriteFile(clitest.In(t, "rules.json"), []byte(`{"rules": [
		{"effect": "deny", "server": "everything", "tool": "fail", "reason": "it fails"},
		{"effect": "deny", "server": "everything", "tool": "add", "when": "args.a > 100", "reason": "too large"}], "default": "allow"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	layered := []string{"up", "--policy", "rules.json", "--tools", "search", "--pin", "*__echo", "everything"}
	said := serving(t, layered...).stderr
	r := serving(t, append(layered, "--audit=log")...)
	here, err := clitest.PlaceOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	// A client starts the program in another folder.
	for _, want := range []string{filepath.Join(here, "rules.json"), "search", "*__echo"} {
		if shown, _ := json.Marshal(want); !strings.Contains(said.String(), strings.Trim(string(shown), `"`)) {
			t.Errorf("the entry for a client lacks %s: %s", want, said)
		}
	}
	listed := runs(t, "", "tools", r.url, "--refresh")
	for _, want := range []string{"search_tools", "describe_tool", "call_tool", "everything__echo"} {
		if !strings.Contains(listed.stdout, want) {
			t.Errorf("%s is not listed: %s%s", want, listed.stdout, listed.stderr)
		}
	}
	if strings.Contains(listed.stdout, "everything__add") {
		t.Errorf("listed: %s", listed.stdout)
	}
	found := runs(t, "", "call", r.url, "search_tools", `queries=["add two numbers", "fail"]`)
	if !strings.Contains(found.stdout, "everything__add") || strings.Contains(found.stdout, "everything__fail") {
		t.Errorf("found: %s%s", found.stdout, found.stderr)
	}
	runs(t, "", "call", r.url, "call_tool", "name=everything__add", `arguments={"a":2,"b":40}`).expect(t, cli.ExitOK, "42", "")
	runs(t, "", "call", r.url, "everything__add", "a=11", "b=31").expect(t, cli.ExitOK, "42", "")
	runs(t, "", "call", r.url, "everything__ad", "a=1").expect(t, cli.ExitUsage, "", `junction: there is no tool "everything__ad"; did you mean "everything__add"?`)
	runs(t, "", "tools", r.url, "everything__add").expect(t, cli.ExitUsage, "", "call describe_tool for a tool that search_tools found")
	runs(t, "", "call", r.url, "call_tool", "name=everything__add", `arguments={"a":200,"b":40}`).expect(t, cli.ExitRefused, "", "refused by junction: not allowed: too large")
	runs(t, "", "call", r.url, "call_tool", "name=everything__fail").expect(t, cli.ExitRefused, "", "refused by junction: not allowed: ")

	runs(t, "", "up", "--http", "127.0.0.1:0", "--audit=log", "everything").expect(t, cli.ExitConnection, "", "another process writes to this audit log")
	runs(t, "", "audit", "verify", "log").expect(t, cli.ExitOK, "it is unchanged", "")
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	runs(t, "", "audit", "query", "log", "--decision", "deny").expect(t, cli.ExitOK, "("+clitest.In(t, "rules.json")+":3)  reason too large", "")
	calls := runs(t, "", "audit", "query", "log", "--kind", "call", "--server", "everything", "--json")
	if n := strings.Count(calls.stdout, "\n"); n != 4 || !strings.Contains(calls.stdout, `"arguments":{"a":2,"b":40}`) {
		t.Errorf("%d calls: %s", n, calls.stdout)
	}
	if err := os.WriteFile(clitest.In(t, "stricter.json"), []byte(`{"rules": [{"effect": "ask", "server": "everything", "tool": "add", "when": "args.a < 10"}], "default": "deny"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tried := runs(t, "", "policy", "test", "log", "--policy", "stricter.json")
	tried.expect(t, cli.ExitOK, "0 allowed, 1 asked about, 3 denied", "")
	if !strings.Contains(tried.stdout, "deny") || !strings.Contains(tried.stdout, "everything/add") {
		t.Errorf("tried: %s", tried.stdout)
	}
	runs(t, "", "policy", "test", "elsewhere").expect(t, cli.ExitConnection, "", "junction up --audit writes a log")
	key := strings.TrimSpace(runs(t, "", "audit", "key").stdout)
	runs(t, "", "audit", "verify", "log", "--key", key).expect(t, cli.ExitOK, "it is unchanged", "")

	files, _ := filepath.Glob(clitest.In(t, "log/*.jsonl"))
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], bytes.Replace(data, []byte("too large"), []byte("too LARGE"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "audit", "verify", "log").expect(t, cli.ExitToolFailed, "IT WAS CHANGED", "")
	runs(t, "", "audit", "verify", "log", "--json").expect(t, cli.ExitToolFailed, `"faultCount":1`, "")
	runs(t, "", "audit", "verify", "elsewhere").expect(t, cli.ExitConnection, "", "junction up --audit writes one")
}

func TestLayersThatMakeNoSenseAreRefused(t *testing.T) {
	clitest.Alone(t)
	for args, want := range map[string]string{
		"--tools some":                  `--tools: expected one of "auto", "all", "search", got "some"`,
		"--tools all --pin x":           "--pin goes with --tools",
		"--tools search --pin [":        "is not a valid pattern",
		"--shadow":                      "--shadow goes with --policy",
		"--audit-sync call":             "--audit-sync goes with --audit",
		"--audit-sync never --audit=l":  `--audit-sync: expected one of "second", "call", got "never"`,
		"--audit-optional":              "--audit-optional goes with --audit",
		"--audit-keep 1GB":              "--audit-keep goes with --audit",
		"--audit-keep-for 1h":           "--audit-keep-for goes with --audit",
		"--audit=l --audit-keep 1TB":    `--audit-keep: expected string that matches ^[1-9][0-9]{0,5}(KB|MB|GB)$, such as "1GB", got "1TB"`,
		"--audit=l --audit-keep-for 3s": "--audit-keep-for: expected at least 1m0s, got 3s",
		"--audit=log --policy none":     "none",
	} {
		got := runs(t, "", append([]string{"up", "everything", "--http", "127.0.0.1:0"}, strings.Fields(args)...)...)
		if got.code == cli.ExitOK || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestRulesAreReadAgainWhenTheirFileChanges(t *testing.T) {
	inFolder(t)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(clitest.In(t, "rules.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"default": "allow"}`)
	r := serving(t, "up", "--policy", "rules.json", "everything")
	await := func(what string, holds func() bool) {
		t.Helper()
		for deadline := time.Now().Add(guardTime); !holds(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %s", what, r.stderr)
			}
		}
	}
	adds := func() bool {
		return runs(t, "", "call", r.url, "everything__add", "a=2", "b=40").code == cli.ExitOK
	}
	if !adds() {
		t.Fatal("a call that is allowed fails")
	}
	write(`{"rules": [{"effect": "deny", "tool": "add"}], "default": "allow"}`)
	await("what is denied now is still called", func() bool { return !adds() })
	await("what is denied is still listed", func() bool { // the server is started anew, as there were no rules before
		listed := runs(t, "", "tools", r.url, "--refresh").stdout
		return !strings.Contains(listed, "everything__add") && strings.Contains(listed, "everything__echo")
	})
	write(`{"rules": [{"effect": "den`)
	await("a broken file is not reported", func() bool {
		return strings.Contains(r.stderr.String(), "the earlier servers keep running: rules.json")
	})
	if adds() {
		t.Error("with a broken file nothing is denied")
	}
	write(`{"default": "allow"}`)
	await("what is allowed again is still denied", adds)
}

func TestStatusOfUpForSupervisors(t *testing.T) {
	clitest.Alone(t)
	clitest.Setenv(t, "JUNCTION_STATE", t.TempDir())
	argv := self(t, "serve", "everything")
	config := configuration(t, map[string]any{"everything": map[string]any{"command": argv[0], "args": argv[1:]}})
	r := serving(t, "up", "--tools", "all", "--admin", "127.0.0.1:0", "--config", config)
	printed := regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`)
	at := ""
	for end := time.Now().Add(guardTime); at == "" && time.Now().Before(end); time.Sleep(time.Millisecond) {
		at = printed.FindString(r.stderr.String())
	}
	get := func(path string) (int, string) {
		response, err := http.Get(strings.TrimSuffix(at, "/metrics") + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	waitFor(t, "the tools are offered", func() bool {
		return strings.Contains(runs(t, "", "tools", r.url, "--refresh").stdout, "everything__add")
	})
	runs(t, "", "call", r.url, "everything__add", "a=1", "b=2").expect(t, cli.ExitOK, "3", "") // it was tried then
	for _, path := range []string{"/healthz", "/readyz"} {
		if code, body := get(path); code != http.StatusOK || body != "ok\n" {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	_, body := get("/metrics")
	for _, want := range []string{`mcp_requests_total{method="tools/call",outcome="ok",server="everything",tool="add"} 1`, `junction_servers{server="everything",state="connected"} 1`,
		`mcp_request_duration_seconds_count{method="tools/call",server="everything"} 1`, "go_goroutines "} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	ask := func(method, path, token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(at, "/metrics")+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	path := clitest.PlaceOf(t).Getenv("JUNCTION_STATE") + "/admin.token"
	token, err := os.ReadFile(clitest.In(t, path))
	if info, also := os.Stat(clitest.In(t, path)); err != nil || also != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("the token: %v %v", err, also)
	}
	for _, test := range []struct {
		method, path, token string
		code                int
		body                string
	}{
		{"GET", "/api/status", "", http.StatusUnauthorized, `{"error":"expected the header Authorization: Bearer TOKEN, with the token of --admin"}`},
		{"POST", "/api/servers/everything/restart", "guessed", http.StatusUnauthorized, `{"error":"expected the header Authorization: Bearer TOKEN, with the token`},
		{"GET", "/api/status", strings.TrimSpace(string(token)), http.StatusOK, `"state":"connected"`},
		{"POST", "/api/servers/nobody/restart", strings.TrimSpace(string(token)), http.StatusNotFound, `{"error":"there is no server \"nobody\"`},
		{"POST", "/api/servers/everything/restart", strings.TrimSpace(string(token)), http.StatusAccepted, ""},
		{"GET", "/api/servers/everything/restart", strings.TrimSpace(string(token)), http.StatusMethodNotAllowed, ""},
	} {
		if code, body := ask(test.method, test.path, test.token); code != test.code || !strings.Contains(body, test.body) {
			t.Errorf("%s %s: %d %s", test.method, test.path, code, body)
		}
	}
	runs(t, "", "call", r.url, "everything__add", "a=1", "b=2").expect(t, cli.ExitOK, "3", "") // it waits for the new connection
	printedLast(t, r, "everything", "restarted through --admin, from 127.0.0.1:", "connected, ")
	rebound, err := http.NewRequestWithContext(t.Context(), "GET", at, nil)
	if err != nil {
		t.Fatal(err)
	}
	rebound.Host = "evil.example:9464"
	if response, err := http.DefaultClient.Do(rebound); err != nil || response.Body.Close() != nil || response.StatusCode != http.StatusForbidden {
		t.Errorf("a page that was rebound: %v %v", response, err)
	}
	if code, _ := get("/mcp"); code != http.StatusNotFound {
		t.Errorf("tools can be called at the address for those who watch: %d", code)
	}
}

// What the settings hide, bound and write down of calls holds where they are served.
func TestUpAppliesRedactionAndBounds(t *testing.T) {
	clitest.Alone(t)
	argv, err := json.Marshal(self(t, "serve", "everything"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clitest.In(t, "rules.json"), []byte(`{"rules": [{"effect": "deny", "tool": "echo", "when": "args.message == 'forbidden'"}], "default": "allow"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	config := `{"mcpServers": {"everything": {"command": "env", "args": ` + string(argv) + `}},
		"junction": {"tools": "all", "policy": "rules.json", "audit": {"folder": "log", "results": "keep", "redact": ["/content/*/text", "/b"]},
			"servers": {"everything": {"retries": 2, "redact": {"arguments": ["/message"]}, "tools": {
				"add": {"redact": {"results": ["/sum"]}}, "long": {"limits": {"bytes": "1KB/h"}}}}}}}`
	if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	exported := new(clitest.SafeBuffer)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(exported, r.Body) }))
	defer collector.Close()
	r := serving(t, "up", "--config", "mcp.json", "--audit-export", collector.URL)
	runs(t, "", "call", r.url, "everything__echo", "message=private").expect(t, cli.ExitOK, "***", "")
	runs(t, "", "call", r.url, "everything__echo", "message=forbidden").expect(t, cli.ExitRefused, "", "not allowed")
	added := runs(t, "", "call", r.url, "everything__add", "a=2", "b=40")
	if strings.Contains(added.stdout, "42") || !strings.Contains(added.stdout, "***") {
		t.Errorf("the result of add is %s%s", added.stdout, added.stderr)
	}
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	calls := runs(t, "", "audit", "query", "log", "--kind", "call", "--json").stdout
	if !strings.Contains(calls, `"arguments":{"a":2,"b":"***"}`) || strings.Contains(calls, "Echo: private") || !strings.Contains(calls, `"result":{"content":[{"type":"text","text":"***"`) {
		t.Errorf("the log has %s", calls)
	}
	if text := exported.String(); strings.Count(text, `{"key":"junction.kind","value":{"stringValue":"call"}}`) != 3 || strings.Contains(text, "Echo: private") {
		t.Errorf("exported is %s", text)
	}
	for config, want := range map[string]string{
		`"servers": {"everything": {"redact": {"results": ["/a~"]}}}`:                  `junction: servers.everything.redact.results: "/a~" is not a path`,
		`"servers": {"everything": {"tools": {"x": {"redact": {"arguments": [""]}}}}}`: `junction: servers.everything.tools.x.redact.arguments: "" names no place`,
		`"audit": {"redact": ["/"]}`:                                                   `junction: audit.redact: "/" names no place`,
	} {
		if err := os.WriteFile(clitest.In(t, "mcp.json"), []byte(`{"mcpServers": {}, "junction": {`+config+`}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		runs(t, "", "up", "--config", "mcp.json", "--http", "127.0.0.1:0").expect(t, cli.ExitConnection, "", want)
	}
}

// A client's trace goes on through junction up, to the server.
func TestUpSendsTraces(t *testing.T) {
	clitest.Alone(t)
	collected := new(clitest.SafeBuffer)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" {
			_, _ = io.Copy(collected, r.Body)
		}
	}))
	defer collector.Close()
	r := serving(t, "up", "--tools", "all", "--otlp", collector.URL, "everything")
	spans := trace.NewTracerProvider()
	ctx, span := spans.Tracer("test").Start(t.Context(), "what the client does")
	c, err := mcp.DialWith(t.Context(), streamable.Client(r.url), mcp.ClientOptions{Middleware: []mcp.Middleware{otelmcp.Client(otelmcp.Options{TracerProvider: spans, Propagator: propagation.TraceContext{}})}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.CallTool(ctx, "everything__echo", map[string]string{"message": "hi"}); err != nil {
		t.Error(err)
	}
	span.End()
	c.Close()
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d: %s", code, r.stderr)
	}
	text := collected.String()
	of := `"traceId":"` + span.SpanContext().TraceID().String() + `","spanId":"[0-9a-f]{16}","parentSpanId":"[0-9a-f]{16}","name":"tools/call `
	if !regexp.MustCompile(of+`everything__echo"`).MatchString(text) || !regexp.MustCompile(of+`echo"`).MatchString(text) {
		t.Errorf("the collector got %s", text)
	}
	runs(t, "", "up", "--http", "127.0.0.1:0", "--otlp", "nowhere", "everything").expect(t, cli.ExitUsage, "", "--otlp: traces cannot be sent to")
}
