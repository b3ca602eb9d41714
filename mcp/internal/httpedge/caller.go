package httpedge

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/internal/unreadbody"
	"github.com/junction-mcp/junction/mcp"
)

// A Caller identifies a share of the resources of a server; see [share.Key].
type Caller interface{ Caller() string }

// CallerOf returns the key of a principal's share, or of the address's share if p is nil. It is
// never empty.
func CallerOf(r *http.Request, p *mcp.Principal) string {
	if p == nil {
		return share.Key("", "", r.RemoteAddr)
	}
	return share.Key(p.Issuer, p.Subject, r.RemoteAddr)
}

// A Refuse function sends the response that refuses a request, and contains the reason.
type Refuse func(status int, format string, args ...any)

// Authenticate returns the principal that find returns for a request. If it returns false, it has
// sent a response. If the error of find wraps an [http.Handler], that handler writes the response.
// Headers that identify the sender must not occur twice, as a proxy could use a different one than
// the server.
func (d *Deadlines) Authenticate(w http.ResponseWriter, r *http.Request, find func(*http.Request) (*mcp.Principal, error), refuse Refuse, log *slog.Logger, timeout time.Duration) (*mcp.Principal, bool) {
	if find == nil {
		return nil, true
	}
	for _, name := range []string{"Authorization", "X-Api-Key"} {
		if n := len(r.Header[name]); n > 1 {
			refuse(http.StatusBadRequest, "header %s occurs %d times", name, n)
			return nil, false
		}
	}
	principal, err := find(r)
	if err == nil {
		return principal, true
	}
	log.Debug("mcp: a request is refused", "client", r.RemoteAddr, "error", err)
	unreadbody.Close(w, r)
	var refusal http.Handler
	if errors.As(err, &refusal) {
		refusal.ServeHTTP(w, r)
		return nil, false
	}
	fault := jsonrpc.Errorf(jsonrpc.InvalidRequest, "not authenticated")
	d.Respond(w, http.StatusUnauthorized, jsonrpc.AppendError(nil, "", fault), timeout)
	return nil, false
}
