package httplink

import (
	"net/http"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/secret"
	"github.com/junction-mcp/junction/mcp"
)

// noteKind is the kind of the notes that have headers.
const noteKind = "http"

// NoteExchange tells who watches a request which headers carried it and, where a response began, with which status and headers
// that did; without one, status is 0.
func NoteExchange(n mcp.Noter, r *http.Request, status int, header http.Header) {
	n.Note(noteKind, &exchange{r, status, header})
}

type exchange struct {
	request *http.Request
	status  int
	header  http.Header
}

// AppendJSON appends the note.
func (x *exchange) AppendJSON(dst []byte) ([]byte, error) {
	u := *x.request.URL
	if u.Host == "" { // as a server sees it
		if u.Scheme, u.Host = "http", x.request.Host; x.request.TLS != nil {
			u.Scheme = "https"
		}
	}
	w := jsonrpc.NewObject(dst)
	w.String("method", x.request.Method)
	w.String("url", nameOf(&u))
	writeShown(&w, "requestHeaders", x.request.Header)
	if x.status != 0 {
		w.Int("status", int64(x.status))
		writeShown(&w, "responseHeaders", x.header)
	}
	return w.Bytes(), nil
}

// MarshalJSON implements [json.Marshaler].
func (x *exchange) MarshalJSON() ([]byte, error) { return x.AppendJSON(nil) }

// writeShown writes headers without what could be a secret: of those that are not known to have none, the names only.
func writeShown(w *jsonrpc.Writer, member string, header http.Header) {
	var few [24]string
	names := few[:0]
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	w.Object(member)
	for _, name := range names {
		w.Array(name)
		for _, value := range header[name] {
			w.StringElement(shownValue(name, value))
		}
		w.End()
	}
	w.End()
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
	if canonical := http.CanonicalHeaderKey(name); canonical != name {
		return shownValue(canonical, value)
	}
	if argument, is := strings.CutPrefix(name, "Mcp-Param-"); is && !secret.Named(argument) {
		return value
	}
	return secret.Hidden
}
