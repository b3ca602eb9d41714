package up

import (
	"crypto/tls"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"
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
