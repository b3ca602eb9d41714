package config

import (
	"errors"
	"fmt"
	"strings"
)

// TLS configures the connection to an https server. Each member is a PEM file of up to 64 KiB.
type TLS struct {
	CertFile string `json:"cert,omitempty" file:"yes" shown:"1" identity:"1 tls" doc:"a PEM file with the certificate that identifies the client to the server"`                          // absolute; includes intermediate certificates
	KeyFile  string `json:"key,omitempty" file:"yes" shown:"1" identity:"1" doc:"a PEM file with the certificate's key; without it, the file of the certificate contains the key, too"`   // absolute
	CAFile   string `json:"ca,omitempty" file:"yes" shown:"1" identity:"1" doc:"a PEM file with the authorities that may have issued the server's certificate, in place of the system's"` // absolute

	workspace string // folder of the project that defines the server, which must contain the files; else empty
}

// ReadFile reads a file of the configuration as [OAuth.ReadFile] does.
func (t *TLS) ReadFile(path string) ([]byte, error) { return readNamed(t.workspace, path) }

// check returns an error if members contradict each other.
func (t *TLS) check() error {
	if t.KeyFile != "" && t.CertFile == "" {
		return errors.New("cert is missing: it names the file with the certificate for key")
	}
	return nil
}

// checkTLS returns an error if the server cannot use the member "tls".
func (d *Definition) checkTLS() error {
	switch {
	case d.TLS == nil:
	case d.Kind == Stdio:
		return errors.New(`is only for a server with "url", and this one has "command"`)
	case strings.HasPrefix(strings.ToLower(d.URL), "http:"):
		return fmt.Errorf("needs an address that begins with https, got %s", quote(d.URL))
	}
	return nil
}
