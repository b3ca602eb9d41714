package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestAnAddressIsEncryptedAndKnowsClientsByTheirCertificates(t *testing.T) {
	inFolder(t)
	dir := t.TempDir()
	ca := clitest.NewAuthority(t)
	caFile, _ := clitest.Save(t, dir, "ca", ca.Cert, ca.Key)
	site := func() (cert, key string) {
		c, k := ca.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "site"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
		return clitest.Save(t, dir, "site", c, k)
	}
	cert, key := site()
	clitest.Write(t, map[string]string{"rules.json": `{"rules":[{"effect":"deny","tool":"add","when":"principal.subject != 'ann'","reason":"only ann adds"}],"default":"allow"}`})
	r := serving(t, "up", "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", caFile, "--policy", "rules.json", "everything")
	if !strings.HasPrefix(r.url, "https://") {
		t.Fatalf("it serves at %s", r.url)
	}
	serial := ""
	add := func(name string) (string, error) {
		pool := x509.NewCertPool()
		pool.AddCert(ca.Cert)
		config := &tls.Config{RootCAs: pool, VerifyConnection: func(s tls.ConnectionState) error { serial = s.PeerCertificates[0].SerialNumber.String(); return nil }}
		if name != "" {
			c, k := ca.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
			config.Certificates = []tls.Certificate{{Certificate: [][]byte{c.Raw}, PrivateKey: k}}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		c, err := mcp.Dial(ctx, streamable.ClientWith(r.url, streamable.ClientOptions{HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}}))
		if err != nil {
			return "", err
		}
		defer c.Close()
		result, err := c.CallTool(ctx, "everything__add", map[string]any{"a": 1, "b": 2})
		if err != nil {
			return "", err
		}
		return result.Text(), nil
	}
	if got, err := add("ann"); err != nil || !strings.Contains(got, "3") {
		t.Errorf("ann: %q, %v", got, err)
	}
	if got, err := add("ben"); err != nil || !strings.Contains(got, "only ann adds") {
		t.Errorf("ben: %q, %v", got, err)
	}
	if got, err := add(""); err == nil {
		t.Errorf("without a certificate: %q", got)
	}
	clitest.Write(t, map[string]string{cert: "broken"})
	time.Sleep(up.CertificatePause)
	for range 2 {
		if _, err := add("ann"); err != nil {
			t.Errorf("the certificate before is not used: %v", err)
		}
	}
	if said := r.stderr.String(); strings.Count(said, "the new certificate cannot be used; the earlier one stays in use") != 1 {
		t.Errorf("a broken certificate is not reported, once: %s", said)
	}
	before := serial
	site() // another certificate in the same files
	changed := false
	for end := time.Now().Add(guardTime); !changed && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, err := add("ann")
		changed = err == nil && serial != before
	}
	if !changed {
		t.Error("the new certificate is not used")
	}
	for args, want := range map[string]string{
		"--tls-cert " + cert:                                                   "go together",
		"--tls-client-ca " + caFile:                                            "goes with --tls-cert",
		"--tls-cert none --tls-key none":                                       "--tls-cert: ",
		"--tls-cert " + cert + " --tls-key none":                               "--tls-key: stat none",
		"--tls-cert " + cert + " --tls-key " + dir:                             "--tls-key: " + dir + " is a folder",
		"--tls-cert " + cert + " --tls-key " + cert:                            "--tls-cert " + cert + ", --tls-key " + cert + ": ",
		"--tls-cert " + cert + " --tls-key " + key + " --tls-client-ca " + key: "holds no certificate",
	} {
		if got := runs(t, "", append([]string{"up", "--http", "127.0.0.1:0", "everything"}, strings.Fields(args)...)...); got.code == cli.ExitOK || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}
