package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// secretive is a server that tells with which header it was called.
func secretive(t *testing.T) (url string, last *atomic.Pointer[string]) {
	last = new(atomic.Pointer[string])
	s := mcp.NewServer("secretive", "1")
	mcp.AddTool(s, "hold", func(ctx context.Context, _ struct{}) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	h := streamable.Handler(s)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Key")
		last.Store(&key)
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	return served.URL, last
}

func TestServersGetChangedSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	byFile, fileKey := secretive(t)
	kept, keptKey := secretive(t)
	stored, storedKey := secretive(t)
	w.write("key", "first\n")
	set := func(value string) {
		cmd := w.command("secret", "set", "stored")
		cmd.Stdin = strings.NewReader(value)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	set("1st")
	program := strings.Join(self(t, "serve", "time"), `","`)
	w.write("mcp.json", fmt.Sprintf(`{"mcpServers": {
		"file": {"url": %q, "headers": {"X-Key": "${file:key}"}, "start": "eager"},
		"kept": {"url": %q, "headers": {"X-Key": "${file:key}"}, "start": "eager"},
		"stored": {"url": %q, "headers": {"X-Key": "${secret:stored}"}, "start": "eager"},
		"program": {"command": "env", "args": ["%s"], "env": {"KEY": "${file:key}"}, "start": "eager"}},
		"junction": {"listen": {"http": "127.0.0.1:0"}, "servers": {"kept": {"onSecretChange": "keep"}}}}`, byFile, kept, stored, program))
	up := w.start("up", "--config", "mcp.json")
	up.find(`4 connected|4 servers`)
	has := func(key *atomic.Pointer[string], want string) bool {
		is := key.Load()
		return is != nil && *is == want
	}
	if !up.waitFor(func() bool { return has(fileKey, "first") && has(keptKey, "first") && has(storedKey, "1st") }) {
		t.Fatal("the servers do not get the first secret")
	}
	w.write("key", "second!\n")
	up.find(`a secret changed, so these servers connect again: file\n`)
	for _, name := range []string{"kept", "program"} {
		up.find(`a secret of server "` + name + `" changed; .*: junction restart ` + name)
	}
	if !up.waitFor(func() bool { return has(fileKey, "second!") }) {
		t.Error("the server does not get the second secret")
	}
	if !has(keptKey, "first") {
		t.Error("the server that is kept was restarted")
	}
	set("2nd")
	if !up.waitFor(func() bool { return has(storedKey, "2nd") }) {
		t.Error("the server does not get the second stored secret")
	}
	if out := w.run("restart", "kept"); !strings.Contains(out, "kept is restarted by junction up at http://127.0.0.1:") {
		t.Errorf("restart prints %q", out)
	}
	up.find(`restarted by junction restart`)
	if !up.waitFor(func() bool { return has(keptKey, "second!") }) {
		t.Error("the restarted server does not get the second secret")
	}
	if out := w.run("server", "restart", "program", "--json"); !strings.Contains(out, `{"restarted":[{"pid":`) {
		t.Errorf("restart --json prints %q", out)
	}
	for _, test := range []struct{ args, want string }{
		{"restart gone", `runs a server "gone"; there are: file, kept, program, stored`},
		{"restart", "expected the name of one SERVER, got 0 words"},
	} {
		if out, err := w.command(strings.Fields(test.args)...).CombinedOutput(); err == nil || !strings.Contains(string(out), test.want) {
			t.Errorf("%s: %v: %s", test.args, err, out)
		}
	}
	if said := up.printed.String(); strings.Contains(said, "second!") {
		t.Error("the secret is printed")
	}
	if out, err := newWorld(t).command("restart", "x").CombinedOutput(); err == nil || !strings.Contains(string(out), "no junction up of yours is running") {
		t.Errorf("without a gateway: %v: %s", err, out)
	}
}
