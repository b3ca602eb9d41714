package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// TestUpRunsFromOneFile starts a junction up whose file says all, and finds each part of it in use.
func TestUpRunsFromOneFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	authority, pool := clitest.NewAuthority(t), x509.NewCertPool()
	pool.AddCert(authority.Cert)
	cert, key := authority.Sign(t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	clitest.Save(t, w.dir, "up", cert, key)
	address := freeAddress(t)
	w.write("mcp.json", `{"mcpServers": {"time": {"command": "env", "args": ["`+strings.Join(self(t, "serve", "time"), `","`)+`"]}}, "junction": {
		"listen": {"http": "`+address+`", "tls": {"cert": "up.pem", "key": "up.key"}, "admin": "127.0.0.1:0", "publicURL": "https://tools.example"},
		"auth": ["keys"], "telemetry": {"logFormat": "json"}, "limits": {"sessions": 4, "message": "10KB"}}}`)
	users := map[string]string{}
	for _, user := range []string{"ann", "bob"} {
		users[user] = "Bearer " + strings.TrimSpace(w.run("key", "create", user))
	}
	up := w.start("up", "--config", "mcp.json")
	up.find(`"url":"https://tools\.example/mcp"`)
	admin := up.find(`http://127\.0\.0\.1:\d+/metrics`)
	if metrics := w.get(admin); !strings.Contains(metrics, "junction_certificate_expiry_seconds") {
		t.Errorf("the metrics are\n%s", metrics)
	}
	through := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(through.CloseIdleConnections)
	post := func(user, host, body string) (status int, session, text string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", "https://"+address+"/mcp", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		req.Header = http.Header{"Authorization": {users[user]}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		resp, err := (&http.Client{Transport: through}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body) // what came is compared
		return resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), string(data)
	}
	const begin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	for _, test := range []struct {
		user, host, body string
		status           int
	}{
		{"none", "", begin, http.StatusUnauthorized},
		{"ann", "evil.example", begin, http.StatusForbidden},
		{"ann", "tools.example", begin, http.StatusOK}, // it is the host of the public URL
		{"ann", "", strings.Replace(begin, `"name":"c"`, `"name":"`+strings.Repeat("c", 20_000)+`"`, 1), http.StatusRequestEntityTooLarge},
	} {
		if status, _, text := post(test.user, test.host, test.body); status != test.status {
			t.Errorf("%s at %q: status %d, want %d: %s", test.user, test.host, status, test.status, text)
		}
	}
	for range 8 { // more sessions than there may be
		if status, _, text := post("ann", "", begin); status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Errorf("status %d: %s", status, text)
		}
	}
	if status, session, text := post("bob", "", begin); status != http.StatusOK || session == "" {
		t.Errorf("another caller gets no session: status %d: %s", status, text)
	}
	if _, err := w.dialed("https://"+address+"/mcp", streamable.ClientOptions{HTTP: &http.Client{Transport: through}, Header: http.Header{"Authorization": {users["bob"]}}}); err != nil {
		t.Error(err)
	}
	for args, want := range map[string]string{
		"--tls-key= --http 127.0.0.1:0": "listen.tls.cert and listen.tls.key go together",
		"--public-url nonsense":         "--public-url: expected an origin",
		"--stdio --auth keys":           "--auth goes with --http",
	} {
		cmd := w.command(append([]string{"up", "--config", "mcp.json"}, strings.Fields(args)...)...)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v: %s", args, err, out)
		}
	}
}
