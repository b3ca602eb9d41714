package up

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"unicode/utf8"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	uplib "github.com/junction-mcp/junction/up"
)

const maxUser = 2000 // largest size of the header with a user in bytes

// checkUserHeader returns an error if settings or flags contradict the userHeader of an entry.
func (o *Options) checkUserHeader(e launch.Entry, servers map[string]settings.Server) error {
	if e.Definition.UserHeader == "" {
		return nil
	}
	isolation := servers[e.Name].Isolation
	switch {
	case o.Stdio || !o.KnowsCallers():
		return fmt.Errorf("server %q: userHeader needs users: serve over HTTP, with --auth", e.Name)
	case isolation != "" && isolation != "user":
		return fmt.Errorf(`server %q: userHeader needs a connection for each user, but junction.servers.%s.isolation is %q; make it "user", or remove it`, e.Name, e.Name, isolation)
	}
	return nil
}

// actingFor returns a check of keys in which a request may name the user that its caller acts for, in
// a header. It returns check itself if there is no such header.
func actingFor(header string, check func(r *http.Request, profile string) (*mcp.Principal, error)) func(r *http.Request, profile string) (*mcp.Principal, error) {
	if header == "" {
		return check
	}
	return func(r *http.Request, profile string) (*mcp.Principal, error) {
		p, err := check(r, profile)
		if err != nil || len(r.Header.Values(header)) == 0 {
			return p, err
		}
		acts := *p
		for name, text := range map[string]*string{header: &acts.Subject, header + uplib.IssuerSuffix: &acts.Issuer} {
			switch values := r.Header.Values(name); {
			case len(values) == 0: // the issuer of the key
			case len(values) > 1 || len(values[0]) > maxUser || values[0] == "":
				return nil, streamable.Unauthorized("junction", fmt.Errorf("expected one value of %s, of up to %d bytes", name, maxUser))
			default:
				*text, err = url.PathUnescape(values[0])
				if err == nil && !utf8.ValidString(*text) { // JSON could not tell it from others, such as in the owner of a task
					err = errors.New("it is not in UTF-8")
				}
				if err != nil {
					return nil, streamable.Unauthorized("junction", fmt.Errorf("the value of %s is not percent-encoded text: %w", name, err))
				}
			}
		}
		return &acts, nil
	}
}
