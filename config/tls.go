package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// TLS is what a file says of how a connection to an https server is made: files in PEM, of up to 64 KiB.
type TLS struct {
	CertFile string `json:"cert,omitempty"` // absolute: the certificate by which the server knows the client, and those that signed it
	KeyFile  string `json:"key,omitempty"`  // absolute: its key; that of CertFile where the file has both
	CAFile   string `json:"ca,omitempty"`   // absolute: authorities that the server's certificate is trusted by, in place of the system's

	workspace string // of a project's definition its folder, which the files must lie in
}

// ReadFile reads one of the files, as [OAuth.ReadFile] does. It is read anew each time.
func (t *TLS) ReadFile(path string) ([]byte, error) { return readNamed(t.workspace, path) }

// readTLS reads the member "tls".
func (e *entryReader) readTLS(v hujson.Value) (err error) {
	if v.Value.Kind() != '{' {
		return wrongType("an object", v)
	}
	t := &TLS{}
	for _, m := range members(v) {
		switch m.name {
		case "cert":
			t.CertFile, err = nonEmpty(m.value)
		case "key":
			t.KeyFile, err = nonEmpty(m.value)
		case "ca":
			t.CAFile, err = nonEmpty(m.value)
		default:
			e.warn(e.def.Name, "tls."+plain(m.name), m.at, errors.New("is ignored: Junction has no such member"))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	e.def.tls = t
	if t.KeyFile != "" && t.CertFile == "" {
		return errors.New("cert is missing: the file of the certificate that key is for")
	}
	return nil
}

// checkTLS says why an entry cannot have the member "tls".
func (d *Definition) checkTLS() error {
	switch {
	case d.tls == nil:
	case d.Kind == Stdio:
		return errors.New(`is for a server with "url", and this one is a program`)
	case strings.HasPrefix(strings.ToLower(d.url), "http:"):
		return fmt.Errorf("needs an address that begins with https, got %s", quote(d.url))
	}
	return nil
}

// tls completes what a file says of TLS; where it fails, it names the field.
func (x *expansion) tls() (_ *TLS, field string, err error) {
	if x.def.tls == nil {
		return nil, "", nil
	}
	t := *x.def.tls
	t.workspace = x.def.workspace
	for _, member := range []struct {
		name string
		path *string
	}{{"cert", &t.CertFile}, {"key", &t.KeyFile}, {"ca", &t.CAFile}} {
		written := *member.path
		if written == "" {
			continue
		}
		value, err := x.expandLine(written)
		if err != nil {
			return nil, "tls." + member.name, err
		}
		*member.path = absolute(value, x.def.folder)
		if t.workspace == "" {
			continue
		}
		if _, _, local := insideProject(t.workspace, *member.path); !local {
			return nil, "tls." + member.name, outsideProject(written)
		}
	}
	return &t, "", nil
}
