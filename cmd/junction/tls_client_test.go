package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestAnEntryNamesTheClientsCertificateAndTheServersAuthority(t *testing.T) {
	clitest.Alone(t)
	dir := t.TempDir()
	ca := clitest.NewAuthority(t)
	caFile, _ := clitest.Save(t, dir, "ca", ca.Cert, ca.Key)
	client, clientKey := ca.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "ann"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	certFile, keyFile := clitest.Save(t, dir, "ann", client, clientKey)
	stranger, strangerKey := clitest.NewAuthority(t).Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "eve"}})
	strangerFile, strangerKeyFile := clitest.Save(t, dir, "eve", stranger, strangerKey)
	one, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(keyFile)
	if err != nil {
		t.Fatal(err)
	}
	both := filepath.Join(dir, "both.pem")
	if err := os.WriteFile(both, append(one, two...), 0o600); err != nil {
		t.Fatal(err)
	}
	own, ownKey := ca.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "who", func(context.Context, struct{}) (string, error) { return "it worked", nil })
	url := func(version uint16) string {
		web := httptest.NewUnstartedServer(streamable.Handler(s))
		web.Config.ErrorLog = log.New(io.Discard, "", 0)
		web.TLS = &tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: version, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
			Certificates: []tls.Certificate{{Certificate: [][]byte{own.Raw}, PrivateKey: ownKey}}}
		web.StartTLS()
		t.Cleanup(web.Close)
		return web.URL
	}
	old, modern := url(tls.VersionTLS12), url(tls.VersionTLS13)
	for _, test := range []struct {
		name string
		tls  map[string]string
		want string // of the error; empty: it works
	}{
		{"two files", map[string]string{"ca": caFile, "cert": certFile, "key": keyFile}, ""},
		{"one file", map[string]string{"ca": caFile, "cert": both}, ""},
		{"no authority", map[string]string{"cert": both}, "certificate signed by unknown authority"},
		{"no certificate", map[string]string{"ca": caFile}, `the server requires a client certificate: add "tls": {"cert": FILE, "key": FILE} to its entry`},
		{"a certificate of another authority", map[string]string{"ca": caFile, "cert": strangerFile, "key": strangerKeyFile}, `the server does not accept the client certificate of "tls" in its entry`},
		{"a key of another certificate", map[string]string{"ca": caFile, "cert": certFile, "key": strangerKeyFile}, "tls.cert, tls.key: tls: private key does not match"},
		{"a file that is not there", map[string]string{"ca": caFile, "cert": filepath.Join(dir, "none.pem")}, "tls.cert: file "},
		{"an authority that is none", map[string]string{"ca": keyFile}, "holds no certificate in PEM"},
	} {
		for version, at := range map[string]string{"1.2": old, "1.3": modern} {
			for _, headers := range []map[string]string{{}, {"Authorization": "Bearer x"}} {
				text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": map[string]any{"url": at, "tls": test.tls, "headers": headers}}})
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(clitest.In(t, "tls.json"), text, 0o600); err != nil {
					t.Fatal(err)
				}
				got := runs(t, "", "call", "s", "who", "--config", "tls.json")
				if got.stdout != "it worked\n" && test.want == "" || !strings.Contains(got.stderr, test.want) || test.want != "" && got.code == cli.ExitOK {
					t.Errorf("%s, TLS %s, %v: %+v", test.name, version, headers, got)
				}
			}
		}
	}
}

func TestDoctorSaysThatAClientCertificateIsWanted(t *testing.T) {
	clitest.Alone(t)
	ca := clitest.NewAuthority(t)
	caFile, _ := clitest.Save(t, t.TempDir(), "ca", ca.Cert, ca.Key)
	own, ownKey := ca.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "server"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	web := httptest.NewUnstartedServer(http.NotFoundHandler())
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	web.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, Certificates: []tls.Certificate{{Certificate: [][]byte{own.Raw}, PrivateKey: ownKey}}}
	web.StartTLS()
	defer web.Close()
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"s": map[string]any{"url": web.URL, "tls": map[string]string{"ca": caFile}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(clitest.In(t, "tls.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	got := runs(t, "", "doctor", "--config", "tls.json")
	got.expect(t, cli.ExitToolFailed, "ok      TLS: the server asks for a client certificate, and the entry names none", "")
	got.expect(t, cli.ExitToolFailed, "BROKEN  start: ", "")
	got.expect(t, cli.ExitToolFailed, "the server requires a client certificate", "")
}
