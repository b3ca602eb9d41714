package launch

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
)

// WantsLogin reports whether a server could be reached and does not let this user in.
func WantsLogin(err error) bool {
	refused, is := errors.AsType[*mcp.StatusError](err)
	return errors.Is(err, oauth.ErrLogin) || is && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden)
}

// OffersNothing has a client answer what servers ask while it is only tried whether they work: it declines forms, and has no folders to work in.
func OffersNothing(o *mcp.ClientOptions) {
	o.ElicitURL = true
	o.OnElicit = func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	o.OnRoots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{}, nil }
}

// Origin returns what is started or called for a server, with the hash of its definition, by which it is known again.
func Origin(d *config.Definition, hash string) []string {
	words := append([]string{d.String()}, d.Around()...)
	if hash != "" {
		words = append(words, "(hash "+hash+")")
	}
	if d.Project {
		words = append(words, "(in "+filepath.Dir(filename.Real(d.Source))+")")
	}
	return words
}
