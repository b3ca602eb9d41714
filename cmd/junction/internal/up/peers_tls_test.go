package up

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/passed"
	"github.com/junction-mcp/junction/internal/seal"
)

// An authority signs certificates. (Package clitest has another one, and imports this package.)
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := new(authority)
	a.cert, a.key = a.sign(t, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func (a *authority) sign(t *testing.T, c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	by, with := a.cert, a.key
	if by == nil {
		by, with = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, with)
	if err == nil {
		c, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c, key
}

// save writes a certificate and its key to the files name.pem and name.key.
func save(t *testing.T, dir, name string, c *x509.Certificate, key *ecdsa.PrivateKey) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{name + ".pem": {Type: "CERTIFICATE", Bytes: c.Raw}, name + ".key": {Type: "EC PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A replica accepts peers with its own certificate, or with one of the authority for the name of the peer.
func TestPeersHaveTheCertificateOfAReplica(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	cert := func(by *authority, name string, use x509.ExtKeyUsage) *x509.Certificate {
		c, _ := by.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "replica"}, DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{use}})
		return c
	}
	alone := cert(stranger, "elsewhere", x509.ExtKeyUsageServerAuth)
	for name, test := range map[string]struct {
		peer  *x509.Certificate
		own   *x509.Certificate
		roots *x509.CertPool
		after time.Duration
		want  string // of the error; empty: it is accepted
	}{
		"the authority of clients":          {peer: cert(ca, "peers", x509.ExtKeyUsageServerAuth), roots: pool},
		"the same certificate":              {peer: alone, own: alone},
		"the same certificate, and expired": {peer: alone, own: alone, after: 2 * time.Hour, want: "expired"},
		"another name":                      {peer: cert(ca, "other", x509.ExtKeyUsageServerAuth), roots: pool, want: "other, not peers"},
		"of a client":                       {peer: cert(ca, "peers", x509.ExtKeyUsageClientAuth), roots: pool, want: "incompatible key usage"},
		"another authority":                 {peer: cert(stranger, "peers", x509.ExtKeyUsageServerAuth), roots: pool, want: "unknown authority"},
		"expired":                           {peer: cert(ca, "peers", x509.ExtKeyUsageServerAuth), roots: pool, after: 2 * time.Hour, want: "expired"},
		"no authority":                      {peer: cert(ca, "peers", x509.ExtKeyUsageServerAuth), want: "unknown authority"},
		"none":                              {want: "no certificate"},
	} {
		own := &tls.Config{ClientCAs: test.roots}
		if test.own != nil {
			own.Certificates = []tls.Certificate{{Certificate: [][]byte{test.own.Raw}}}
		}
		s := tls.ConnectionState{ServerName: "peers"}
		if test.peer != nil {
			s.PeerCertificates = []*x509.Certificate{test.peer}
		}
		err := verifyPeer(own, s, time.Now().Add(test.after))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A replica reads changed certificates for the next connection to a peer, and checks the name of dns+https.
func TestPeersAreDialedWithPresentCertificates(t *testing.T) {
	dir := t.TempDir()
	write := func() {
		ca := newAuthority(t)
		save(t, dir, "ca", ca.cert, ca.key)
		c, key := ca.sign(t, &x509.Certificate{DNSNames: []string{"peers.test"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}})
		save(t, dir, "own", c, key)
	}
	write()
	open := func() *Certificate {
		c := &Certificate{Log: slog.New(slog.DiscardHandler)}
		c.Cert, c.Key, c.ClientCA = dir+"/own.pem", dir+"/own.key", dir+"/ca.pem"
		if _, err := c.Config(nil); err != nil {
			t.Fatal(err)
		}
		return c
	}
	server, client := open(), open()
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	web.Config.ErrorLog = log.New(io.Discard, "", 0)
	l := tls.NewListener(web.Listener, &tls.Config{GetConfigForClient: server.Config})
	web.Listener = l
	web.Start()
	defer web.Close()
	h := &shared{peers: NewPeers(nil)}
	h.certificate.Store(client)
	at := l.Addr().String()
	dial := func() error {
		conn, err := h.dialTLS(context.Background(), "tcp", at)
		if err == nil {
			defer conn.Close()
			_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
			if err == nil {
				_, err = conn.Read(make([]byte, 1)) // a refusal of the certificate comes with the first bytes
			}
		}
		return err
	}
	if err := dial(); err != nil {
		t.Fatal("the same certificate:", err)
	}
	write()
	client.Looked, server.Looked = time.Time{}, time.Now().Add(time.Hour) // the server has not looked yet
	if err := dial(); err == nil {
		t.Error("a certificate of another authority is accepted")
	}
	server.Looked = time.Time{}
	if err := dial(); err != nil {
		t.Error("after the server looked:", err)
	}
	names := map[string]string{at: "peers.test"}
	h.peers.names.Store(&names)
	if host, _, _ := net.SplitHostPort(at); h.peers.NameOf(at) != "peers.test" || h.peers.NameOf(host+":1") != host {
		t.Error(h.peers.NameOf(at), h.peers.NameOf(host+":1"))
	}
}

// Only a replica reaches an address on new connections while it ends.
func TestOnlyReplicasReachADepartedAddress(t *testing.T) {
	ring, err := seal.NewRing([]byte(strings.Repeat("k", seal.KeySize)))
	if err != nil {
		t.Fatal(err)
	}
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	d := &departure{next: status(200), refuse: status(503), ring: ring}
	d.refuseNew()
	for name, test := range map[string]struct {
		header func(*http.Request)
		ring   *seal.Ring
		want   int
	}{
		"a client":                       {func(*http.Request) {}, ring, 503},
		"a client that claims to be one": {func(r *http.Request) { r.Header.Set(passed.Header, "1") }, ring, 503},
		"a replica":                      {func(r *http.Request) { _ = passed.Seal(ring, r, nil, nil, time.Now()) }, ring, 200},
		"without others":                 {func(r *http.Request) { _ = passed.Seal(ring, r, nil, nil, time.Now()) }, nil, 503},
	} {
		d.ring = test.ring
		r := httptest.NewRequest("GET", "/mcp", nil)
		r = r.WithContext(context.WithValue(r.Context(), lateKey{}, true))
		test.header(r)
		w := httptest.NewRecorder()
		if d.ServeHTTP(w, r); w.Code != test.want {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}
