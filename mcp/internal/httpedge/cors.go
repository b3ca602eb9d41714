package httpedge

import "net/http"

const corsMaxAge = "600" // seconds for which a browser remembers what is allowed

// CrossOrigin adds what a browser wants to see before it lets a page of another
// origin read the response, where that is shared with it; the origin was checked before. It reports whether the
// request was only about that, and is answered.
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
		allowed = asked // Mcp-Param-* have names of their own, so what is asked for is allowed
		h.Add("Vary", "Access-Control-Request-Headers")
	}
	h.Set("Access-Control-Allow-Headers", allowed)
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		h.Set("Access-Control-Allow-Private-Network", "true") // a page of the internet may use a server of this network
	}
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}
