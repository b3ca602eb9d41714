package traffic

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
)

const methodDiscover = "server/discover"

// refusesDiscovery reports whether the event is a legacy server's response to server/discover: an
// error that no modern server returns.
func (e *Event) refusesDiscovery() bool {
	if e.Kind != Error || e.Hop != Server || e.Method != methodDiscover {
		return false
	}
	fault := jsonrpc.Get(e.Message, "error")
	code, err := strconv.Atoi(string(jsonrpc.Get(fault, "code")))
	return err == nil && isLegacy(&jsonrpc.Error{Code: code, Data: jsonrpc.Get(fault, "data")})
}

// isLegacy reports whether an error response to server/discover is from a legacy server.
func isLegacy(e *jsonrpc.Error) bool {
	if e.Code == revision.CodeUnsupportedRevision {
		return len(revision.Offered(e)) > 0 && revision.CommonModern(revision.Offered(e)) == nil
	}
	return !revision.IsModern(e)
}

// statusIsLegacy reports whether err is the HTTP status of a legacy server that refuses
// server/discover.
func statusIsLegacy(err error) bool {
	var status *mcp.StatusError
	if !errors.As(err, &status) || status.Status < 400 || status.Status >= 500 {
		return false
	}
	switch status.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests: // these do not depend on the method
		return false
	}
	return status.Fault == nil || isLegacy(&jsonrpc.Error{Code: status.Fault.Code, Data: status.Fault.Data})
}
