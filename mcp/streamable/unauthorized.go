package streamable

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp/internal/httpedge"
)

// Unauthorized returns an error for [Options.Principal] that wraps err. The response has status 401
// and a WWW-Authenticate header that requests a bearer token for the realm. It does not contain
// err.
func Unauthorized(realm string, err error) error { return &unauthorized{realm, err} }

type unauthorized struct {
	realm string
	err   error
}

// Error returns the reason.
func (u *unauthorized) Error() string { return fmt.Sprintf("not authenticated: %v", u.err) }

// Unwrap returns the error passed to [Unauthorized].
func (u *unauthorized) Unwrap() error { return u.err }

var quotedString = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "", "\n", "")

// ServeHTTP writes the response.
func (u *unauthorized) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="`+quotedString.Replace(u.realm)+`"`)
	fault := jsonrpc.Errorf(jsonrpc.InvalidRequest, "not authenticated")
	new(httpedge.Deadlines).Respond(w, http.StatusUnauthorized, jsonrpc.AppendError(nil, "", fault), httpedge.DefaultWriteTimeout)
}
