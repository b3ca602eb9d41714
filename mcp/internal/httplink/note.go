package httplink

import (
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/internal/secret"
	"github.com/junction-mcp/junction/mcp"
)

// noteKind is the kind of the notes that have headers.
const noteKind = "http"

// A note is what one who watches a request sees of the HTTP around it: of the request, or of the response.
type note struct {
	Method string              `json:"method,omitempty"`
	URL    string              `json:"url,omitempty"`
	Status int                 `json:"status,omitempty"`
	Header map[string][]string `json:"headers"`
}

// NoteRequest tells who watches a request which headers carry it.
func NoteRequest(n mcp.Noter, r *http.Request) {
	u := *r.URL
	if u.Host == "" { // as a server sees it
		if u.Scheme, u.Host = "http", r.Host; r.TLS != nil {
			u.Scheme = "https"
		}
	}
	n.Note(noteKind, &note{Method: r.Method, URL: nameOf(&u), Header: shown(r.Header)})
}

// NoteResponse tells who watches a request with which headers the response begins.
func NoteResponse(n mcp.Noter, status int, header http.Header) {
	n.Note(noteKind, &note{Status: status, Header: shown(header)})
}

// shown are headers without what could be a secret: of those that are not known to have none, the names only.
func shown(header http.Header) map[string][]string {
	all := make(map[string][]string, len(header))
	for name, values := range header {
		var as []string
		for _, value := range values {
			as = append(as, shownValue(http.CanonicalHeaderKey(name), value))
		}
		all[name] = as
	}
	return all
}

func shownValue(name, value string) string {
	switch name {
	case "Mcp-Session-Id": // who has all of it is in the session; its beginning tells it from others
		const enough = 6
		if len(value) < 4*enough {
			return secret.Hidden
		}
		return value[:enough] + secret.Cut
	case "Mcp-Name":
		return secret.URI(value)
	case "Accept", "Accept-Encoding", "Accept-Language", "Allow", "Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date",
		"Host", "Last-Event-Id", "Mcp-Method", "Mcp-Protocol-Version", "Origin", "Retry-After", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site",
		"Server", "Traceparent", "Transfer-Encoding", "User-Agent", "Vary", "Via", "X-Accel-Buffering":
		return value // texts that look like secrets are hidden later, as everywhere
	}
	if argument, is := strings.CutPrefix(name, "Mcp-Param-"); is && !secret.Named(argument) {
		return value
	}
	return secret.Hidden
}
