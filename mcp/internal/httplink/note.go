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

// NoteRequest tells who watches a request which headers carry it.
func NoteRequest(n mcp.Noter, r *http.Request) { n.Note(noteKind, requestNote{r}) }

// NoteResponse tells who watches a request with which headers the response begins.
func NoteResponse(n mcp.Noter, status int, header http.Header) {
	n.Note(noteKind, responseNote{status, header})
}

type requestNote struct{ *http.Request }

// AppendJSON appends the note.
func (r requestNote) AppendJSON(dst []byte) ([]byte, error) {
	u := *r.URL
	if u.Host == "" { // as a server sees it
		if u.Scheme, u.Host = "http", r.Host; r.TLS != nil {
			u.Scheme = "https"
		}
	}
	w := jsonrpc.NewObject(dst)
	w.String("method", r.Method)
	w.String("url", nameOf(&u))
	writeShown(&w, r.Header)
	return w.Bytes(), nil
}

// MarshalJSON implements [json.Marshaler].
func (r requestNote) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

type responseNote struct {
	status int
	header http.Header
}

// AppendJSON appends the note.
func (r responseNote) AppendJSON(dst []byte) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	w.Int("status", int64(r.status))
	writeShown(&w, r.header)
	return w.Bytes(), nil
}

// MarshalJSON implements [json.Marshaler].
func (r responseNote) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil) }

// writeShown writes headers without what could be a secret: of those that are not known to have none, the names only.
func writeShown(w *jsonrpc.Writer, header http.Header) {
	var few [24]string
	names := few[:0]
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	w.Object("headers")
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
