package deploy

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/deploy/internal/imagetest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// build builds the image for this machine, and returns its layout.
func build(t *testing.T) (layout, printed string) {
	t.Helper()
	layout = t.TempDir() + "/"
	out, err := exec.CommandContext(t.Context(), "go", "run", "./image", "-out", layout, "-tag", "test", "-arch", runtime.GOARCH).Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("%v: %s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	return layout, string(out)
}

// freePort returns an address that nothing uses.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestImageServes builds the image twice, compares the results, and runs it as a container engine does: as its user, with its
// variables, and with everything read-only but its volumes. It reads /metrics for the tests of rules and dashboard.
func TestImageServes(t *testing.T) {
	layout, first := build(t)
	if _, again := build(t); again != first {
		t.Errorf("the second build differs: %s %s", first, again)
	}
	image := imagetest.Read(t, layout, "test")[0]
	if image.Config.Config.User != "65532:65532" || image.Config.Architecture != runtime.GOARCH {
		t.Errorf("%+v", image.Config)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can change the root folder and the user")
	}
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	image.Unpack(t, root)
	configured := func(store string) []byte {
		return []byte(`{"mcpServers":{"everything":{"command":"/junction","args":["serve","everything"]},"memory":{"command":"/junction","args":["serve","memory"]}},"junction":{"stateKeys":["0123456789abcdef0123456789abcdef"],"peers":["http://127.0.0.1:1"],"audit":{"folder":"/var/lib/junction/audit"},"limits":{"rate":"30/m"},"state":{"url":"sqlite:` + store + `"}}}`)
	}
	if err := os.WriteFile(filepath.Join(root, "etc/junction/mcp.json"), configured("/var/lib/junction/shared.db"), 0o644); err != nil {
		t.Fatal(err)
	}
	client := certificate(t, filepath.Join(root, "etc/junction/tls.crt"), filepath.Join(root, "etc/junction/tls.key"))
	state, outside := t.TempDir(), filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(outside, configured(filepath.Join(state, "shared.db")), 0o644); err != nil {
		t.Fatal(err)
	}
	create := exec.CommandContext(t.Context(), filepath.Join(root, "junction"), "key", "create", "ann", "--config", outside)
	create.Env = []string{"JUNCTION_STATE=" + state}
	key, err := create.Output()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "chown", "-R", "65532:65532", state).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	at, admin := freePort(t), freePort(t)
	cmd := image.Command(t.Context(), t, root, map[string]string{"/var/lib/junction": state},
		"up", "--config", "/etc/junction/mcp.json", "--http", at, "--admin", admin, "--auth", "keys", "--tls-cert", "/etc/junction/tls.crt", "--tls-key", "/etc/junction/tls.key")
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	awaitReady(t, "http://"+admin+"/readyz", ended, &printed)
	call(t, "https://"+at+"/mcp", client, strings.TrimSpace(string(key)))
	resp, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	metrics, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("metrics", func(t *testing.T) { checkNames(t, string(metrics)) })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v: %s", err, printed.String())
	}
}

// certificate writes a certificate for 127.0.0.1 and its key, and returns a client that trusts it.
func certificate(t *testing.T, certFile, keyFile string) *http.Client {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for path, b := range map[string][]byte{certFile: text, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func awaitReady(t *testing.T, url string, ended <-chan error, printed *bytes.Buffer) {
	t.Helper()
	for range 600 {
		if resp, err := http.Get(url); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v: %v", err, printed)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("it does not become ready")
}

// call calls tools as a client of each era, well and badly.
func call(t *testing.T, url string, client *http.Client, key string) {
	t.Helper()
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		c, err := mcp.DialWith(t.Context(), streamable.ClientWith(url, streamable.ClientOptions{HTTP: client, Header: http.Header{"Authorization": {"Bearer " + key}}}), mcp.ClientOptions{Revision: revision})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := c.CallTool(t.Context(), "everything__add", map[string]any{"a": 1, "b": 2}); err != nil || !strings.Contains(fmt.Sprint(r.Text(), r.StructuredContent), "3") {
			t.Errorf("%s: %v, %v", revision, r, err)
		}
		for range 20 { // the limit refuses some
			_, _ = c.CallTool(t.Context(), "everything__none", nil)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
