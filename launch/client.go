package launch

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/refused"
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

// removeRefusalMarks is middleware that removes from a server's responses the mark of a request that a
// gateway refused itself.
func removeRefusalMarks(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" && req.Peer != nil {
			listens := *req
			listens.Peer = &unmarkedPeer{req.Peer}
			req = &listens
		}
		result, err := next.Handle(ctx, req)
		result.Meta = refused.Without(result.Meta)
		if req.Method == "tasks/get" && err == nil {
			if body, fault := result.Encoded(); fault == nil {
				result = result.WithJSON(refused.WithoutInTask(body))
			}
		}
		if fault, is := errors.AsType[*mcp.Error](err); is && refused.In(fault.Data) != "" {
			return result, &mcp.Error{Code: fault.Code, Message: fault.Message, Data: refused.Without(fault.Data), Server: fault.Server}
		}
		return result, err
	})
}

// An unmarkedPeer is the Peer of a subscription; it removes the marks from notifications about
// tasks.
type unmarkedPeer struct{ mcp.Peer }

// Unwrap implements the interface of [mcp.PeerAs].
func (p *unmarkedPeer) Unwrap() mcp.Peer { return p.Peer }

// Notify implements [mcp.Peer].
func (p *unmarkedPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == "notifications/tasks" {
		params = refused.WithoutInTask(params)
	}
	return p.Peer.Notify(ctx, method, params)
}
