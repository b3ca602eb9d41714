package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// certified returns a self-signed client certificate and its hash in tokens (RFC 8705 section 3.1).
func certified(t *testing.T) (c tls.Certificate, hash string) {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, base64.RawURLEncoding.EncodeToString(sum[:])
}

func TestATokenThatIsBoundToACertificateNeedsIt(t *testing.T) {
	g := newGiver(t)
	guard := g.guard(Options{})
	server := httptest.NewUnstartedServer(guard.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(PrincipalOf(r.Context()).Subject))
	})))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.StartTLS()
	defer server.Close()

	ada, hash := certified(t)
	eve, _ := certified(t)
	bound := g.token(map[string]any{"cnf": map[string]any{"x5t#S256": hash}})
	// Eve's chain contains Ada's certificate after her own, but Eve has only the key of the first.
	chained := tls.Certificate{Certificate: append(append([][]byte{}, eve.Certificate...), ada.Certificate...), PrivateKey: eve.PrivateKey}
	for _, test := range []struct {
		name   string
		shown  []tls.Certificate
		scheme string
		token  string
		want   int
	}{
		{"with the certificate", []tls.Certificate{ada}, "Bearer", bound, http.StatusOK},
		{"without one", nil, "Bearer", bound, http.StatusUnauthorized},
		{"with another", []tls.Certificate{eve}, "Bearer", bound, http.StatusUnauthorized},
		{"with another that has it in its chain", []tls.Certificate{chained}, "Bearer", bound, http.StatusUnauthorized},
		{"as one that is bound to a key", []tls.Certificate{ada}, "DPoP", bound, http.StatusUnauthorized},
		{"bound to half of its hash", []tls.Certificate{ada}, "Bearer", g.token(map[string]any{"cnf": map[string]any{"x5t#S256": hash[:20]}}), http.StatusUnauthorized},
		{"bound to its hash in the padded form", []tls.Certificate{ada}, "Bearer", g.token(map[string]any{"cnf": map[string]any{"x5t#S256": hash + "="}}), http.StatusUnauthorized},
		{"bound to a key as well, without its proof", []tls.Certificate{ada}, "Bearer", g.token(map[string]any{"cnf": map[string]any{"x5t#S256": hash, "jkt": holder{t, newKey(t)}.thumbprint()}}), http.StatusUnauthorized},
		{"not bound, with a certificate", []tls.Certificate{eve}, "Bearer", g.token(nil), http.StatusOK},
	} {
		t.Run(test.name, func(t *testing.T) {
			transport := server.Client().Transport.(*http.Transport).Clone()
			transport.TLSClientConfig.Certificates = test.shown
			defer transport.CloseIdleConnections()
			for range 2 { // a cached token needs its certificate, too
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/mcp", strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", test.scheme+" "+test.token)
				response, err := transport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				response.Body.Close()
				if response.StatusCode != test.want {
					t.Errorf("%d, want %d: %v", response.StatusCode, test.want, response.Header)
				}
				if test.want == http.StatusUnauthorized && !strings.Contains(response.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
					t.Errorf("the challenge is %v", response.Header)
				}
			}
		})
	}
	// Behind a proxy that ended TLS the certificate is unknown, whatever a header claims.
	header := bearer(bound)
	header.Set("X-Forwarded-Client-Cert", hash)
	header.Set("X-SSL-Client-Cert", hash)
	if w, who := ask(guard, header); w.Code != http.StatusUnauthorized || who != "" {
		t.Errorf("a certificate that only a header shows: %d, %q", w.Code, who)
	}
}
