package up

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

// CertificatePause is the time between two checks for changed files of a certificate.
const CertificatePause = time.Second

const (
	// certificateWarnTime is how long before the expiry of a certificate the warnings start.
	certificateWarnTime = 14 * 24 * time.Hour
	// certificateSayTime is the time between two such warnings.
	certificateSayTime = 24 * time.Hour
)

// Encrypt returns a listener that encrypts the connections of l. Without a certificate it returns l.
// called returns the name of a member of [settings.TLS] in errors; nil means that of its flag.
func Encrypt(t settings.TLS, p place.Place, l net.Listener, log *slog.Logger, called func(member string) string) (net.Listener, error) {
	if !t.Encrypts() {
		return l, nil
	}
	c, err := openCertificate(t, p, log, called)
	if err != nil {
		return nil, err
	}
	e := &Encrypted{Listener: tls.NewListener(l, &tls.Config{GetConfigForClient: c.Config}), Certificate: c}
	e.daily = time.AfterFunc(certificateSayTime, func() {
		c.checkExpiry(time.Now())
		e.daily.Reset(certificateSayTime)
	})
	return e, nil
}

// openCertificate reads the files of t, whose paths are in a place. called is that of Encrypt.
func openCertificate(t settings.TLS, p place.Place, log *slog.Logger, called func(member string) string) (*Certificate, error) {
	t.Cert, t.Key, t.ClientCA, t.Revoked = p.Path(t.Cert), p.Path(t.Key), p.Path(t.ClientCA), p.Path(t.Revoked)
	c := &Certificate{TLS: t, Log: log, Called: called}
	if err := c.useACME(p); err != nil {
		return nil, err
	}
	_, err := c.Config(nil)
	return c, err
}

// An Encrypted is a listener that accepts TLS connections.
type Encrypted struct {
	net.Listener
	Certificate *Certificate
	daily       *time.Timer
}

// Close closes the listener and stops the daily check of the certificate.
func (e *Encrypted) Close() error {
	e.daily.Stop()
	return e.Listener.Close()
}

// A Certificate holds the certificate of an address and the authorities of clients. It reads their
// files again when they change.
type Certificate struct {
	settings.TLS

	Log    *slog.Logger
	Called func(member string) string // as in [Encrypt]

	mu     sync.Mutex
	Looked time.Time
	fault  string // last logged reason why the files cannot be used; empty if they can
	stamp  string // identifies the versions of the files
	now    *tls.Config
	issued *autocert.Manager // gets the certificates by ACME; nil without it
	failed string            // last logged reason why ACME issues none; empty if it does

	refused      revocation // revoked certificates of clients
	refusedStamp string     // identifies the versions of the files of refused
	refusedFault string     // last logged reason why their file cannot be used; empty if it can

	begins time.Time // the certificate and its signers are valid only between begins and ends
	ends   time.Time
}

// called returns the name of a file in errors.
func (c *Certificate) called(member string) string {
	if c.Called != nil {
		return c.Called(member)
	}
	return map[string]string{"cert": "--tls-cert", "key": "--tls-key", "clientCA": "--tls-client-ca", "clientRevoked": "--tls-client-revoked"}[member]
}

// Config returns the configuration for a new connection. If the files cannot be read, it returns
// the earlier configuration. After a change it returns a new one, so that no client can resume a
// session that a removed authority allowed.
func (c *Certificate) Config(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if hello != nil && c.issued != nil && slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) { // the authority, which has no certificate of a client
		return &tls.Config{GetCertificate: c.issued.GetCertificate, NextProtos: []string{acme.ALPNProto}, MinVersion: tls.VersionTLS12}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && time.Since(c.Looked) < CertificatePause {
		return c.now, nil
	}
	c.Looked = time.Now()
	if err := c.readRevoked(); err != nil && c.now == nil {
		return nil, err
	}
	stamp := ""
	for _, file := range []struct{ member, path string }{{"cert", c.Cert}, {"key", c.Key}, {"clientCA", c.ClientCA}} {
		if file.path == "" {
			continue
		}
		one, err := stampOf(c.called(file.member), file.path)
		if err != nil {
			return c.before(err)
		}
		stamp += one
	}
	if c.now != nil && stamp == c.stamp {
		c.fault = ""
		return c.now, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.issued != nil {
		config.GetCertificate = c.obtain
	} else {
		fresh, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil { // another program may be writing a file
			return c.before(fmt.Errorf("%s %s, %s %s: %w", c.called("cert"), c.Cert, c.called("key"), c.Key, err))
		}
		config.Certificates = []tls.Certificate{fresh}
	}
	if c.ClientCA != "" {
		text, err := os.ReadFile(c.ClientCA)
		if err != nil {
			return c.before(fmt.Errorf("%s: %w", c.called("clientCA"), err))
		}
		if config.ClientCAs = x509.NewCertPool(); !config.ClientCAs.AppendCertsFromPEM(text) {
			return c.before(fmt.Errorf("%s: %s holds no certificate in PEM", c.called("clientCA"), c.ClientCA))
		}
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	c.now, c.stamp, c.fault = config, stamp, ""
	for _, one := range config.Certificates {
		c.noteTimes(one.Certificate)
	}
	return c.now, nil
}

// stampOf returns a text that identifies the version of a file.
func stampOf(flag, path string) (string, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		err = fmt.Errorf("%s is a folder", path)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return fmt.Sprintln(info.ModTime().UnixNano(), info.Size()), nil
}

// readRevoked reads the revoked certificates if their file or that of the authorities has changed.
// A fault of the other files does not keep them away. The caller holds the lock.
func (c *Certificate) readRevoked() error {
	if c.Revoked == "" {
		return nil
	}
	err := func() error {
		stamp, err := stampOf(c.called("clientRevoked"), c.Revoked)
		if err != nil {
			return err
		}
		authorities, err := stampOf(c.called("clientCA"), c.ClientCA)
		if err != nil {
			return err
		}
		if stamp += authorities; stamp == c.refusedStamp {
			return nil
		}
		text, err := os.ReadFile(c.ClientCA)
		if err != nil {
			return fmt.Errorf("%s: %w", c.called("clientCA"), err)
		}
		refused, err := readRevoked(c.Revoked, certificatesIn(text))
		if err != nil {
			return fmt.Errorf("%s: %s: %w", c.called("clientRevoked"), c.Revoked, err)
		}
		if c.refused, c.refusedStamp = refused, stamp; c.now != nil {
			c.warnExpiry(time.Now())
		}
		return nil
	}()
	why := ""
	if err != nil {
		why = err.Error()
	}
	if why != c.refusedFault && why != "" && c.now != nil {
		c.Log.Error("junction: the new revoked certificates cannot be used; the earlier ones stay in use", "error", err)
	}
	c.refusedFault = why
	return err
}

// noteTimes notes between which times a certificate and its signers are valid. The caller holds the
// lock.
func (c *Certificate) noteTimes(chain [][]byte) {
	c.begins, c.ends = time.Time{}, time.Time{}
	for _, der := range chain {
		one, err := x509.ParseCertificate(der)
		if err != nil {
			continue // clients do not need it, because the first one has been parsed
		}
		if one.NotBefore.After(c.begins) {
			c.begins = one.NotBefore
		}
		if c.ends.IsZero() || one.NotAfter.Before(c.ends) {
			c.ends = one.NotAfter
		}
	}
	c.warnExpiry(time.Now())
}

// certificatesIn returns the certificates in a text in PEM.
func certificatesIn(text []byte) (all []*x509.Certificate) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		if one, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, one)
		}
	}
}

func (c *Certificate) before(err error) (*tls.Config, error) {
	if c.now == nil {
		return nil, err
	}
	if why := err.Error(); why != c.fault { // log once and not for each connection
		c.fault = why
		c.Log.Error("junction: the new certificate cannot be used; the earlier one stays in use", "error", err)
	}
	return c.now, nil
}

// checkExpiry reads changed files, and logs a line if the certificate expires soon or is not valid
// now.
func (c *Certificate) checkExpiry(now time.Time) {
	_, _ = c.Config(nil) // cannot fail, because it has succeeded before
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warnExpiry(now)
}

// warnExpiry logs a line if the certificate expires soon or is not valid now. The caller holds the
// lock.
func (c *Certificate) warnExpiry(now time.Time) {
	switch {
	case c.ends.IsZero(): // none has been issued yet
	case now.After(c.ends):
		c.Log.Error("junction: the certificate has expired, so clients refuse it: give "+c.called("cert")+" a new one", "file", c.Cert, "ended", c.ends)
	case now.Add(certificateWarnTime).After(c.ends):
		c.Log.Warn("junction: the certificate expires soon: give "+c.called("cert")+" a new one", "file", c.Cert, "ends", c.ends)
	case now.Before(c.begins):
		c.Log.Warn("junction: the certificate is not valid yet, so clients refuse it", "file", c.Cert, "begins", c.begins)
	}
	if ends := c.refused.ends; !ends.IsZero() && now.After(ends) {
		c.Log.Warn("junction: a list of revoked certificates is out of date, and is still used: give "+c.called("clientRevoked")+" a new one", "file", c.Revoked, "ended", ends)
	}
}

// Left returns the time until the certificate expires. It is negative after that, and 0 while there
// is none.
func (c *Certificate) Left() time.Duration {
	_, _ = c.Config(nil) // cannot fail, because it has succeeded before
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends.IsZero() {
		return 0
	}
	return time.Until(c.ends)
}

// certified returns the principal that a request's client certificate identifies.
func certified(r *http.Request) (*mcp.Principal, error) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil, errors.New("the client has no certificate")
	}
	c := r.TLS.VerifiedChains[0][0]
	name := c.Subject.CommonName
	if name == "" && len(c.DNSNames) > 0 {
		name = c.DNSNames[0]
	}
	if name == "" {
		return nil, errors.New("the client's certificate has no name")
	}
	return &mcp.Principal{Subject: name, Issuer: c.Issuer.String(), ClientID: name}, nil
}
