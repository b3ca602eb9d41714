package main

import (
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A client whose certificate is revoked is refused at its next request, on an open connection too.
func TestRevokedCertificatesAreRefused(t *testing.T) {
	inFolder(t)
	dir := t.TempDir()
	ca, other := clitest.NewAuthority(t), clitest.NewAuthority(t)
	caFile, _ := clitest.Save(t, dir, "ca", ca.Cert, ca.Key)
	c, k := ca.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "site"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	cert, key := clitest.Save(t, dir, "site", c, k)
	revoked := filepath.Join(dir, "revoked")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(revoked, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := func(by *clitest.Authority, ends time.Time, critical bool, serials ...*big.Int) string {
		t.Helper()
		template := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-2 * time.Hour), NextUpdate: ends}
		if critical {
			template.ExtraExtensions = []pkix.Extension{{Id: []int{2, 5, 29, 27}, Critical: true, Value: []byte{2, 1, 1}}} // a delta
		}
		for _, serial := range serials {
			template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: serial, RevocationTime: time.Now()})
		}
		der, err := x509.CreateRevocationList(rand.Reader, template, by.Cert, by.Key)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: der}))
	}
	soon := time.Now().Add(time.Hour)
	write(list(ca, soon, false))
	r := serving(t, "up", "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", caFile, "--tls-client-revoked", revoked, "--audit=log", "everything")

	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	type client struct {
		*mcp.Client
		cert *x509.Certificate
		open int // connections
	}
	clients := map[string]*client{}
	for _, name := range []string{"ann", "eve"} {
		one := &client{}
		cert, key := ca.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		one.cert = cert
		config := &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}},
			VerifyConnection: func(tls.ConnectionState) error { one.open++; return nil }}
		var err error
		if one.Client, err = mcp.Dial(t.Context(), streamable.ClientWith(r.url, streamable.ClientOptions{HTTP: &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}})); err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		clients[name] = one
	}
	add := func(name string) error {
		_, err := clients[name].CallTool(t.Context(), "everything__add", map[string]any{"a": 1, "b": 2})
		return err
	}
	eve := clients["eve"].cert
	sum, old := sha256.Sum256(eve.Raw), sha1.Sum(eve.Raw)
	usual := list(ca, soon, false)
	for _, tt := range []struct {
		name, text string
		refused    bool
		report     string
	}{
		{"nothing", usual, false, ""},
		{"a revocation list", list(ca, soon, false, eve.SerialNumber), true, ""},
		{"an old revocation list", list(ca, time.Now().Add(-time.Hour), false, eve.SerialNumber), true, "a list of revoked certificates is out of date"},
		{"nothing again", usual, false, ""},
		{"a serial number", "# stolen\nserial=" + strings.ToUpper(eve.SerialNumber.Text(16)) + "\n", true, ""},
		{"another serial number", "01\n", false, ""},
		{"a revocation list in DER", der(list(ca, soon, false, eve.SerialNumber)), true, ""},
		{"a hash", "sha256 Fingerprint=" + strings.ToUpper(colons(hex.EncodeToString(sum[:]))) + " # eve\n", true, ""},
		{"nothing between hashes", usual, false, ""},
		{"an old hash", "SHA1 Fingerprint=" + strings.ToUpper(colons(hex.EncodeToString(old[:]))) + "\n", true, ""},
		{"an old hash that is named a serial number", "serial:" + hex.EncodeToString(old[:]), false, ""},
		{"20 bytes without a name", hex.EncodeToString(old[:]), true, ""},
		{"a short name", "sha256:" + hex.EncodeToString(sum[:]), true, ""},
		{"a serial number with a short name", "serial:" + eve.SerialNumber.Text(16), true, ""},
		{"another hash", "MD5 Fingerprint=" + colons(hex.EncodeToString(old[:16])), true, "line 1: expected a serial number, a SHA-1 or a SHA-256"}, // the earlier one counts
		{"a hash that is too short", "sha256:" + hex.EncodeToString(old[:]), true, "line 1: expected a serial number or a SHA-256"},
		{"a list of another authority", list(other, soon, false), true, "none of the authorities of clients signed the revocation list"}, // the earlier one counts
		{"part of a list", list(ca, soon, true), true, "has the critical extension 2.5.29.27"},
		{"a word", "eve", true, "line 1: expected a serial number or a SHA-256"},
		{"nothing at the end", usual, false, ""},
	} {
		write(tt.text)
		opened := clients["eve"].open
		isRefused := func() bool { return add("eve") != nil }
		if tt.report != "" {
			waitFor(t, tt.name+" is reported", func() bool { isRefused(); return strings.Contains(r.stderr.String(), tt.report) })
		}
		waitFor(t, tt.name, func() bool { return isRefused() == tt.refused })
		if err := add("eve"); tt.refused && (err == nil || !strings.Contains(err.Error(), "403")) {
			t.Errorf("%s: eve gets %v", tt.name, err)
		}
		if err := add("ann"); err != nil {
			t.Errorf("%s: ann gets %v", tt.name, err)
		}
		if tt.name == "nothing" && clients["eve"].open != opened {
			t.Errorf("%s: eve has connected again", tt.name)
		}
	}
	// A faulty certificate of the site does not keep revocations away.
	if err := os.WriteFile(cert, []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the faulty certificate is reported", func() bool {
		_ = add("ann")
		return strings.Contains(r.stderr.String(), "the new certificate cannot be used")
	})
	write(list(ca, soon, false, eve.SerialNumber))
	waitFor(t, "a revocation while the certificate is faulty", func() bool { return add("eve") != nil })
	if err := add("ann"); err != nil {
		t.Errorf("ann gets %v", err)
	}
	_, _ = clitest.Save(t, dir, "site", c, k)

	for args, want := range map[string]string{
		"--tls-client-revoked " + revoked:                               "goes with --tls-client-ca",
		"--tls-client-revoked none --tls-client-ca " + caFile:           "--tls-client-revoked: stat ",
		"--tls-client-revoked " + caFile + " --tls-client-ca " + caFile: "expected blocks of the type X509 CRL",
	} {
		if got := runs(t, "", append([]string{"up", "--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "everything"}, strings.Fields(args)...)...); got.code == cli.ExitOK || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
	r.stop()
	runs(t, "", "audit", "query", "log", "--event", "login", "--principal", "eve").expect(t, cli.ExitOK, "admin login error    principal eve  from 127.0.0.1  rule client certificate  reason the certificate is revoked", "")
}

// der returns the content of a text in PEM.
func der(text string) string {
	block, _ := pem.Decode([]byte(text))
	return string(block.Bytes)
}

// colons writes hexadecimal digits as openssl does.
func colons(digits string) string {
	var b strings.Builder
	for i, r := range digits {
		if i > 0 && i%2 == 0 {
			b.WriteByte(':')
		}
		b.WriteRune(r)
	}
	return b.String()
}
