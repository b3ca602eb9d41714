package up_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
)

// holding writes a self-signed certificate that is valid between two times.
func holding(t *testing.T, dir string, from, to time.Time) settings.TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "site"}, NotBefore: from, NotAfter: to, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	cert, keyFile := clitest.Save(t, dir, "site", signed, key)
	return settings.TLS{Cert: cert, Key: keyFile}
}

// TestTheEndOfACertificateIsSaid checks what is logged at the first reading, at later ones, and
// each day.
func TestTheEndOfACertificateIsSaid(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, test := range []struct {
		name     string
		from, to time.Duration
		first    string // is logged at the first reading
		days     int    // counts the lines about its end in 20 days
		left     time.Duration
	}{
		{"it holds", -day, 90 * day, "", 0, 90 * day},
		{"it ends soon", -day, 13 * day, "the certificate expires soon", 20, 13 * day},
		{"it will end soon", -day, 30 * day, "", 4, 30 * day},
		{"it has ended", -90 * day, -day, "the certificate has expired", 20, -day},
		{"it begins tomorrow", day - time.Minute, 90 * day, "is not valid yet", 0, 90 * day},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var said clitest.SafeBuffer
				s := holding(t, dir, time.Now().Add(test.from), time.Now().Add(test.to))
				inner, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				l, err := up.Encrypt(s, clitest.PlaceOf(t), inner, slog.New(slog.NewTextHandler(&said, nil)), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				if got := said.String(); test.first == "" && got != "" || !strings.Contains(got, test.first) {
					t.Errorf("it says %q", got)
				}
				if left := l.(*up.Encrypted).Certificate.Left(); left.Round(time.Minute) != test.left {
					t.Errorf("it holds for %v, want %v", left, test.left)
				}
				before := len(said.String())
				time.Sleep(20*day + time.Minute)
				synctest.Wait()
				later := said.String()[before:]
				if n := strings.Count(later, "certificate expires soon") + strings.Count(later, "certificate has expired"); n != test.days {
					t.Errorf("in 20 days it says so %d times, want %d: %s", n, test.days, later)
				}
			})
		})
	}
}

// TestAuthoritiesOfClientsAreReadAgain changes the authorities of client certificates while an
// address is served.
func TestAuthoritiesOfClientsAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	first, second := clitest.NewAuthority(t), clitest.NewAuthority(t)
	site, siteKey := first.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "site"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	s := settings.TLS{}
	s.Cert, s.Key = clitest.Save(t, dir, "site", site, siteKey)
	s.ClientCA, _ = clitest.Save(t, dir, "ca", first.Cert, first.Key)
	var said clitest.SafeBuffer
	c := &up.Certificate{TLS: s, Log: slog.New(slog.NewTextHandler(&said, nil))}
	lets := func(a *clitest.Authority) bool {
		t.Helper()
		c.Looked = time.Time{}
		config, err := c.Config(nil)
		if err != nil {
			t.Fatal(err)
		}
		client, key := a.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "ann"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		here, there := net.Pipe()
		defer here.Close()
		defer there.Close()
		ended := make(chan error, 1)
		go func() {
			ended <- tls.Server(there, config).HandshakeContext(t.Context())
			there.Close()
		}()
		_ = tls.Client(here, &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{{Certificate: [][]byte{client.Raw}, PrivateKey: key}}}).HandshakeContext(t.Context())
		go func() { _, _ = here.Read(make([]byte, 1<<10)) }() // reads tickets or an alert
		return <-ended == nil
	}
	check := func(when string, one, other bool) {
		t.Helper()
		if a, b := lets(first), lets(second); a != one || b != other {
			t.Errorf("%s: clients of the first authority are let in: %v, of the second: %v", when, a, b)
		}
	}
	check("at first", true, false)
	before, err := os.Stat(s.ClientCA)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(s.ClientCA, text, 0o600); err != nil {
			t.Fatal(err)
		}
		before := before.ModTime().Add(time.Duration(len(text)) * time.Second)
		if err := os.Chtimes(s.ClientCA, before, before); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte("broken"))
	check("while it cannot be read", true, false)
	other, _ := clitest.Save(t, t.TempDir(), "ca", second.Cert, second.Key)
	text, err := os.ReadFile(filepath.Clean(other))
	if err != nil {
		t.Fatal(err)
	}
	write(text)
	check("when it changed", false, true)
	// A fault of the certificate does not keep the authorities away, nor theirs the certificate.
	if err := os.WriteFile(s.Cert, []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: first.Cert.Raw})...))
	check("while the certificate is broken", true, true)
	write([]byte("broken once more"))
	fresh, freshKey := second.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "fresh"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	_, _ = clitest.Save(t, dir, "site", fresh, freshKey)
	check("while the authorities are broken", true, true)
	config, err := c.Config(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Certificates[0].Leaf.Subject.CommonName; got != "fresh" {
		t.Errorf("the certificate is that of %q", got)
	}
	for text, n := range map[string]int{"the new authorities of clients cannot be used": 2, "the new certificate cannot be used": 1} {
		if got := strings.Count(said.String(), text); got != n {
			t.Errorf("%q is logged %d times, expected %d:\n%s", text, got, n, said.String())
		}
	}
}
