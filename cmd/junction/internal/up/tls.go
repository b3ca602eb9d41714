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
	challenges, err := c.serveChallenges(p)
	if err != nil {
		return nil, err
	}
	e := &Encrypted{Listener: tls.NewListener(l, &tls.Config{GetConfigForClient: c.Config}), Certificate: c, challenges: challenges}
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
	challenges  *challenges // of ACME; nil without an address for them
}

// Close closes the listener and the address of challenges, and stops the daily check of the
// certificate.
func (e *Encrypted) Close() error {
	e.daily.Stop()
	return errors.Join(e.Listener.Close(), e.challenges.close())
}

// A Certificate holds the certificate of an address and the authorities of clients. It reads their
// files again when they change.
type Certificate struct {
	settings.TLS

	Log    *slog.Logger
	Called func(member string) string // as in [Encrypt]

	mu     sync.Mutex
	Looked time.Time
	now    *tls.Config
	issued *autocert.Manager // gets the certificates by ACME; nil without it
	failed string            // last logged reason why ACME issues none; empty if it does

	// The files of each part are read again by themselves: a fault of one part keeps no other away.
	ofSite, ofClients, ofRevoked part

	site    []tls.Certificate // empty with ACME
	clients *x509.CertPool    // authorities of clients; nil if they need no certificate
	refused revocation        // revoked certificates of clients

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

// A part describes files that are read together.
type part struct {
	stamp string // identifies the versions of the files in use; empty before the first
	fault string // last logged reason why the files cannot be used; empty if they can
}

// A tlsFile is a file and the flag that names it.
type tlsFile struct{ flag, path string }

// Config returns the configuration for a new connection. Of files that cannot be read, the earlier
// content stays in use. After a change it returns a new one, so that no client can resume a session
// that a removed authority allowed.
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
	changed := c.now == nil
	cert, key := tlsFile{c.called("cert"), c.Cert}, tlsFile{c.called("key"), c.Key}
	authorities, revoked := tlsFile{c.called("clientCA"), c.ClientCA}, tlsFile{c.called("clientRevoked"), c.Revoked}
	for _, one := range []struct {
		part  *part
		used  bool
		files []tlsFile
		read  func() error
		fault string // is logged with the reason
		open  bool   // whether a change needs a new configuration
	}{
		{&c.ofRevoked, c.Revoked != "", []tlsFile{revoked, authorities}, c.readRevoked, "junction: the new revoked certificates cannot be used; the earlier ones stay in use", false},
		{&c.ofSite, c.issued == nil, []tlsFile{cert, key}, c.readSite, "junction: the new certificate cannot be used; the earlier one stays in use", true},
		{&c.ofClients, c.ClientCA != "", []tlsFile{authorities}, c.readClients, "junction: the new authorities of clients cannot be used; the earlier ones stay in use", true},
	} {
		if !one.used {
			continue
		}
		was, why := one.part.stamp, ""
		if err := one.part.reread(one.files, one.read); err != nil {
			if c.now == nil {
				return nil, err
			}
			if why = err.Error(); why != one.part.fault { // log once and not for each connection
				c.Log.Error(one.fault, "error", err)
			}
		}
		one.part.fault = why
		changed = changed || one.open && one.part.stamp != was
	}
	if !changed {
		return c.now, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: c.site}
	if c.issued != nil {
		config.GetCertificate = c.obtain
	}
	if c.clients != nil {
		config.ClientCAs, config.ClientAuth = c.clients, tls.RequireAndVerifyClientCert
	}
	c.now = config
	return config, nil
}

// reread calls read if one of the files has changed since the last read that succeeded.
func (p *part) reread(files []tlsFile, read func() error) error {
	stamp := ""
	for _, f := range files {
		one, err := stampOf(f.flag, f.path)
		if err != nil {
			return err
		}
		stamp += one
	}
	if stamp == p.stamp {
		return nil
	}
	if err := read(); err != nil {
		return err
	}
	p.stamp = stamp
	return nil
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

// readSite reads the certificate of the address. The caller holds the lock.
func (c *Certificate) readSite() error {
	fresh, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	if err != nil { // another program may be writing a file
		return fmt.Errorf("%s %s, %s %s: %w", c.called("cert"), c.Cert, c.called("key"), c.Key, err)
	}
	c.site = []tls.Certificate{fresh}
	c.noteTimes(fresh.Certificate)
	return nil
}

// readClients reads the authorities of clients. The caller holds the lock.
func (c *Certificate) readClients() error {
	text, err := os.ReadFile(c.ClientCA)
	if err != nil {
		return fmt.Errorf("%s: %w", c.called("clientCA"), err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s: %s holds no certificate in PEM", c.called("clientCA"), c.ClientCA)
	}
	c.clients = pool
	return nil
}

// readRevoked reads the revoked certificates, whose lists the authorities of clients signed. The
// caller holds the lock.
func (c *Certificate) readRevoked() error {
	text, err := os.ReadFile(c.ClientCA)
	if err != nil {
		return fmt.Errorf("%s: %w", c.called("clientCA"), err)
	}
	refused, err := readRevoked(c.Revoked, certificatesIn(text))
	if err != nil {
		return fmt.Errorf("%s: %s: %w", c.called("clientRevoked"), c.Revoked, err)
	}
	if c.refused = refused; c.now != nil {
		c.warnExpiry(time.Now())
	}
	return nil
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
