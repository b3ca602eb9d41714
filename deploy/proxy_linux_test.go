package deploy

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// gateway starts junction up in a folder of its own, and returns its two addresses.
func gateway(t *testing.T) (at, admin string) {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "junction")
	make := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/junction")
	make.Dir = ".."
	if out, err := make.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), fmt.Appendf(nil, `{"mcpServers":{"everything":{"command":%q,"args":["serve","everything"]}}}`, bin), 0o600); err != nil {
		t.Fatal(err)
	}
	at, admin = freePort(t), freePort(t)
	start(t, dir, bin, "up", "--config", "mcp.json", "--http", at, "--admin", admin, "--allow-host", "tools.example.com", "--trusted-proxy", "127.0.0.1")
	awaitReady(t, "http://"+admin+"/readyz", nil, nil)
	return at, admin
}

// start starts a program, which ends with the test.
func start(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "JUNCTION_STATE="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &printed, &printed, 10*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", name, printed.String())
		}
	})
}

// TestProxiesPassOnEverything runs each proxy with its file, and only the addresses and certificates changed. Clients of both eras
// get results, progress at once, and questions.
func TestProxiesPassOnEverything(t *testing.T) {
	at, admin := gateway(t)
	for _, p := range []struct {
		program, file string
		replace       func(port, dir string) []string
		args          func(file, dir string) []string
	}{
		{"nginx", "nginx.conf", func(port, dir string) []string {
			return []string{"listen 443 ssl", "listen 127.0.0.1:" + port + " ssl", "/etc/ssl/tools.crt", dir + "/tls.crt", "/etc/ssl/tools.key", dir + "/tls.key", "http://127.0.0.1:7717", "http://" + at}
		}, func(file, dir string) []string {
			text, _ := os.ReadFile(file)
			var temporary strings.Builder
			for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				fmt.Fprintf(&temporary, "%s_temp_path %s/%s;\n", kind, dir, kind)
			}
			_ = os.WriteFile(file, fmt.Appendf(nil, "daemon off; pid %s/pid; error_log stderr; events {}\nhttp { access_log off;\n%s%s}\n", dir, temporary.String(), text), 0o600)
			return []string{"-c", file}
		}},
		{"haproxy", "haproxy.cfg", func(port, dir string) []string {
			_, adminPort, _ := net.SplitHostPort(admin)
			return []string{":443", "127.0.0.1:" + port, "/etc/ssl/tools.pem", dir + "/tls.pem", "127.0.0.1:7717", at, "127.0.0.2:7717", at, "9464", adminPort}
		}, func(file, _ string) []string { return []string{"-db", "-f", file} }},
		{"caddy", "Caddyfile", func(port, dir string) []string {
			_, adminPort, _ := net.SplitHostPort(admin)
			return []string{"tools.example.com {", "{\n\tadmin off\n\tauto_https disable_redirects\n}\nhttps://127.0.0.1:" + port + " {\n\ttls " + dir + "/tls.crt " + dir + "/tls.key", "127.0.0.1:7717", at, "9464", adminPort}
		}, func(file, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} }},
	} {
		t.Run(p.program, func(t *testing.T) {
			if _, err := exec.LookPath(p.program); err != nil {
				t.Skip(err)
			}
			dir := t.TempDir()
			text, err := os.ReadFile(filepath.Join("proxy", p.file))
			if err != nil {
				t.Fatal(err)
			}
			front := freePort(t)
			_, port, _ := net.SplitHostPort(front)
			client := certificate(t, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
			var both []byte
			for _, name := range []string{"tls.crt", "tls.key"} {
				one, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				both = append(both, one...)
			}
			file := filepath.Join(dir, p.file)
			for path, b := range map[string][]byte{filepath.Join(dir, "tls.pem"): both, file: []byte(strings.NewReplacer(p.replace(port, dir)...).Replace(string(text)))} {
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			start(t, dir, p.program, p.args(file, dir)...)
			awaitAnswer(t, client, "https://"+front+"/mcp")
			for _, revision := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
				through(t, client, "https://"+front+"/mcp", revision)
			}
		})
	}
}

// awaitAnswer waits until the gateway answers through a proxy.
func awaitAnswer(t *testing.T, client *http.Client, url string) {
	t.Helper()
	for range 200 {
		if resp, err := client.Get(url); err == nil {
			resp.Body.Close()
			if resp.StatusCode < 500 {
				return
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the proxy does not answer")
}

// through uses a gateway as a client of one revision.
func through(t *testing.T, client *http.Client, url, revision string) {
	t.Helper()
	var first atomic.Int64
	began := time.Now()
	c, err := mcp.DialWith(t.Context(), streamable.ClientWith(url, streamable.ClientOptions{HTTP: client}), mcp.ClientOptions{Revision: revision,
		OnProgress: func(mcp.ProgressUpdate) { first.CompareAndSwap(0, int64(time.Since(began))) },
		OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "decline"}, nil
		}})
	if err != nil {
		t.Fatalf("%s: %v", revision, err)
	}
	defer c.Close()
	if r, err := c.CallTool(t.Context(), "everything__add", map[string]any{"a": 1, "b": 2}); err != nil || r.IsError {
		t.Errorf("%s: %v, %v", revision, r, err)
	}
	began = time.Now()
	if r, err := c.CallTool(t.Context(), "everything__count-slowly", map[string]any{"steps": 4, "milliseconds": 2000}); err != nil || r.IsError {
		t.Errorf("%s: %v, %v", revision, r, err)
	}
	if at := time.Duration(first.Load()); at == 0 || at > 1500*time.Millisecond {
		t.Errorf("%s: the first progress came after %v", revision, at)
	}
	if r, err := c.CallTool(t.Context(), "everything__ask", nil); err != nil || !strings.Contains(r.Text(), "decline") {
		t.Errorf("%s: %v, %v", revision, r, err)
	}
}
