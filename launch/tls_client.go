package launch

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/plainhttp"
)

// A tlsClient sends requests to one https server with the client certificate of the server's entry.
// If a request fails because the certificate is missing, its error reports that.
type tlsClient struct {
	Passing
	has      bool        // whether the entry has a certificate
	wanted   atomic.Bool // whether the server asked for a certificate
	answered atomic.Bool // whether the server answered a request
}

// TLSConfig returns the configuration of connections to the server of an entry, which may be nil.
// It calls wanted when the server asks for a certificate. The certificate is read again for each
// connection, so that its file can be replaced. An error about a file is a [config.Problem] that
// [config.Server.Located] completes.
func TLSConfig(entry *config.TLS, wanted func()) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		wanted()
		if entry == nil || entry.CertFile == "" {
			return new(tls.Certificate), nil // sends no certificate
		}
		return clientCertificate(entry)
	}}
	if entry == nil {
		return c, nil
	}
	if entry.CertFile != "" { // reports faults of the files before the first request
		if _, err := clientCertificate(entry); err != nil {
			return nil, err
		}
	}
	if entry.CAFile == "" {
		return c, nil
	}
	text, err := entry.ReadFile(entry.CAFile)
	if err != nil {
		return nil, &config.Problem{Field: "tls.ca", Err: err}
	}
	if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
		return nil, &config.Problem{Field: "tls.ca", Err: fmt.Errorf("%s holds no certificate in PEM", entry.CAFile)}
	}
	return c, nil
}

// clientCertificate reads the certificate of an entry. Its errors contain nothing of the key.
func clientCertificate(entry *config.TLS) (*tls.Certificate, error) {
	cert, err := entry.ReadFile(entry.CertFile)
	if err != nil {
		return nil, &config.Problem{Field: "tls.cert", Err: err}
	}
	key := cert
	if entry.KeyFile != "" {
		if key, err = entry.ReadFile(entry.KeyFile); err != nil {
			return nil, &config.Problem{Field: "tls.key", Err: err}
		}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, &config.Problem{Field: "tls.cert, tls.key", Err: err}
	}
	return &pair, nil
}

// NewTLSClient returns the transport for requests to the server of an entry, which may be nil.
func NewTLSClient(entry *config.TLS) (*tlsClient, error) {
	t := &tlsClient{has: entry != nil && entry.CertFile != ""}
	c, err := TLSConfig(entry, func() { t.wanted.Store(true) })
	if err != nil {
		return nil, err
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.MaxIdleConns, base.MaxIdleConnsPerHost, base.TLSClientConfig = maxIdleConns, maxIdleConns, c
	t.RoundTripper = plainhttp.New(base)
	return t, nil
}

// RoundTrip implements [http.RoundTripper].
func (t *tlsClient) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(req)
	switch {
	case err == nil:
		t.answered.Store(true)
	case req.Context().Err() != nil || !t.wanted.Load() || t.answered.Load():
	case t.has:
		err = fmt.Errorf("the server does not accept the client certificate of \"tls\" in its entry: %w", err)
	default:
		err = fmt.Errorf("the server requires a client certificate: add \"tls\": {\"cert\": FILE, \"key\": FILE} to its entry: %w", err)
	}
	return response, err
}
