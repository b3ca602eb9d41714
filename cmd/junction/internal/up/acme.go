package up

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
)

const (
	challengeTime = 10 * time.Second // for a request of an authority
	maxChallenge  = 16 << 10         // bytes of its head
)

// useACME makes c get its certificates by ACME, if the settings say so. The first client that uses
// a name waits for the certificate. Keys and certificates are in files that only this user can read.
func (c *Certificate) useACME(p place.Place) error {
	a := c.ACME
	if a == nil {
		return nil
	}
	folder := a.Cache
	if folder == "" {
		var err error
		if folder, err = p.State("acme"); err != nil {
			return err
		}
	}
	c.issued = &autocert.Manager{
		Prompt: autocert.AcceptTOS, Cache: autocert.DirCache(p.Path(folder)), HostPolicy: autocert.HostWhitelist(a.Hosts...), Email: a.Email,
		Client: &acme.Client{DirectoryURL: a.Directory, UserAgent: "junction/" + cli.Version}, // an empty URL is that of Let's Encrypt
	}
	return nil
}

// A challenges is the server of the challenges HTTP-01.
type challenges struct {
	server *http.Server
	ended  chan struct{} // closed when it no longer serves
}

// serveChallenges serves the challenges HTTP-01 at the address of the settings, if they have one. It
// redirects other requests to https.
func (c *Certificate) serveChallenges(p place.Place) (*challenges, error) {
	if c.ACME == nil || c.ACME.HTTP == "" {
		return nil, nil
	}
	l, err := ListenAt(p, c.ACME.HTTP)
	if err != nil {
		return nil, fmt.Errorf("listen.tls.acme.http: %w", err)
	}
	answer := c.issued.HTTPHandler(nil)
	withoutPort := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // the manager compares names only
		if host, _, err := net.SplitHostPort(r.Host); err == nil {
			r.Host = host
		}
		answer.ServeHTTP(w, r)
	})
	s := &challenges{&http.Server{Handler: withoutPort, ReadTimeout: challengeTime, WriteTimeout: challengeTime, IdleTimeout: challengeTime, MaxHeaderBytes: maxChallenge,
		ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug)}, make(chan struct{})}
	go func() {
		defer close(s.ended)
		if err := s.server.Serve(LimitConnections(l)); !errors.Is(err, http.ErrServerClosed) {
			c.Log.Error("junction: the address of listen.tls.acme.http is no longer served", "error", err)
		}
	}()
	return s, nil
}

// close ends the server. It does nothing for nil.
func (s *challenges) close() error {
	if s == nil {
		return nil
	}
	err := s.server.Close()
	<-s.ended
	return err
}

// obtain returns the certificate for a connection. It logs a failure once, unless the client uses a
// name that has no certificate.
func (c *Certificate) obtain(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	got, err := c.issued.GetCertificate(hello)
	name := strings.ToLower(strings.TrimSuffix(hello.ServerName, "."))
	if !slices.Contains(c.ACME.Hosts, name) {
		return got, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil && (c.failed != "" || c.ends.IsZero() || got.Leaf != nil && got.Leaf.NotAfter.After(c.ends)):
		c.failed = ""
		c.noteTimes(got.Certificate)
	case err != nil && err.Error() != c.failed:
		c.failed = err.Error()
		c.Log.Error("junction: there is no certificate by ACME", "host", name, "error", err)
	}
	return got, err
}
