package httpedge

import "net/http"

const corsMaxAge = "600" // seconds that a browser caches the permissions

// CrossOrigin adds headers to the response if shared is set. With them, a browser lets a page of
// another origin read the response. The caller has checked the origin. CrossOrigin reports whether
// the request is a preflight request. It has then sent the response.
func CrossOrigin(w http.ResponseWriter, r *http.Request, shared bool) bool {
	h := w.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !shared {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, DPoP-Nonce, Retry-After")
	if r.Method != http.MethodOptions {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	allowed := "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id"
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		allowed = asked // the names of Mcp-Param-* headers vary, so all requested headers are allowed
		h.Add("Vary", "Access-Control-Request-Headers")
	}
	h.Set("Access-Control-Allow-Headers", allowed)
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true") // a page on the internet may use a server in this network
	}
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}
