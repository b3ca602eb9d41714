package httpedge

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// RefuseUnauthenticated answers a request that a Principal function refused with
// err. Where err wraps an [http.Handler], that writes the response.
func (d *Deadlines) RefuseUnauthenticated(w http.ResponseWriter, r *http.Request, err error, log *slog.Logger, timeout time.Duration) {
	log.Debug("mcp: a request is not authenticated", "client", r.RemoteAddr, "error", err)
	var refusal http.Handler
	if errors.As(err, &refusal) {
		refusal.ServeHTTP(w, r)
		return
	}
	fault := jsonrpc.Errorf(jsonrpc.InvalidRequest, "not authenticated")
	d.Respond(w, http.StatusUnauthorized, jsonrpc.AppendError(nil, "", fault), timeout)
}
