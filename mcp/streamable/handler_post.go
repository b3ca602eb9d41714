package streamable

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// More headers, in the form in which net/http keeps them, so that they can be
// looked up without making them canonical each time.
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"

	mediaJSON   = "application/json"
	mediaEvents = "text/event-stream"

	methodListen = "subscriptions/listen"
)

// firstRead is how much memory a request's body gets on the word of its length alone.
const firstRead = 256 << 10

// post answers a message, or a batch of them.
func (x *exchange) post() {
	if !isJSON(x.r.Header["Content-Type"]) {
		x.refuse(http.StatusUnsupportedMediaType, "the body must be %s", mediaJSON)
		return
	}
	if accept := x.r.Header["Accept"]; !accepts(accept, mediaJSON) || !accepts(accept, mediaEvents) {
		x.refuse(http.StatusNotAcceptable, "the Accept header must allow %s and %s", mediaJSON, mediaEvents)
		return
	}
	body, ok := x.body()
	if !ok {
		return
	}
	if jsonrpc.IsBatch(body) {
		x.batch(body)
		return
	}
	m, fault := jsonrpc.Parse(body, jsonrpc.Limits{})
	switch {
	case fault != nil:
		x.fault(http.StatusBadRequest, m.ID, fault)
	case x.isModern(&m):
		x.modern(&m)
	default:
		x.legacy(&m)
	}
}

// isModern decides by the header and, where that is missing or legacy, by the
// body. initialize is legacy whatever the header says: the body is the truth.
func (x *exchange) isModern(m *jsonrpc.Message) bool {
	if m.Method != methodInitialize && x.namesModern() {
		return true
	}
	return m.Kind == jsonrpc.Request && edge.IsModern(m)
}

// namesModern reports whether the header names a modern revision, or one that
// nobody here knows.
func (x *exchange) namesModern() bool {
	for _, name := range x.r.Header[headerVersion] {
		if r := revision.Lookup(name); r == nil || r.Modern {
			return true
		}
	}
	return false
}

// body reads the whole body; if it reports false it has answered.
func (x *exchange) body() ([]byte, bool) {
	most := x.endpoint.options.MaxMessage
	length := x.r.ContentLength
	if length > int64(most) {
		x.tooLarge()
		return nil, false
	}
	var body []byte
	var err error
	if length >= 0 && length <= firstRead {
		body = make([]byte, length)
		_, err = io.ReadFull(x.r.Body, body)
	} else {
		body, err = readGrowing(http.MaxBytesReader(x.w, x.r.Body, int64(most)), int(length))
	}
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return body, true
	case errors.As(err, &large):
		x.tooLarge()
	default:
		x.refuse(http.StatusBadRequest, "the body could not be read: %v", err)
	}
	return nil, false
}

func (x *exchange) tooLarge() {
	x.w.Header().Set("Connection", "close") // rather than read all of it
	x.refuse(http.StatusRequestEntityTooLarge, "the body is too large: at most %d bytes", x.endpoint.options.MaxMessage)
}

// readGrowing reads to the end. Memory is taken as data comes, up to length if
// that is known and doubled as needed, so that a client pays for what it costs.
func readGrowing(r io.Reader, length int) ([]byte, error) {
	body := make([]byte, 0, firstRead/4)
	for {
		if len(body) == cap(body) {
			grown := 2 * cap(body)
			if length > 0 && len(body) < length {
				grown = min(grown, length+1) // one more, so that the end is found without growing again
			}
			body = slices.Grow(body, grown-len(body))
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF {
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func isJSON(values []string) bool {
	if len(values) != 1 {
		return false
	}
	if values[0] == mediaJSON {
		return true
	}
	kind, _, err := mime.ParseMediaType(values[0])
	return kind == mediaJSON && (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter))
}

// accepts reports whether an Accept header allows the media type. Nothing at
// all allows everything (RFC 9110, section 12.5.1).
func accepts(values []string, media string) bool {
	if len(values) == 0 {
		return true
	}
	family, _, _ := strings.Cut(media, "/")
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			kind, parameters, _ := strings.Cut(part, ";")
			kind = strings.TrimSpace(kind)
			named := strings.EqualFold(kind, media) || kind == "*/*" || strings.EqualFold(kind, family+"/*")
			if named && !unwanted(parameters) {
				return true
			}
		}
	}
	return false
}

// unwanted reports whether the parameters of an accepted type give it no weight.
func unwanted(parameters string) bool {
	if parameters == "" {
		return false
	}
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, weight, _ := strings.Cut(strings.TrimSpace(parameter), "=")
		if strings.EqualFold(name, "q") && strings.Trim(weight, "0.") == "" {
			return true
		}
	}
	return false
}

// only returns the value of a header that must stand once.
func (x *exchange) only(header, spelled string) (string, error) {
	switch values := x.r.Header[header]; len(values) {
	case 1:
		return values[0], nil
	case 0:
		return "", fmt.Errorf("header %s is missing", spelled)
	default:
		return "", fmt.Errorf("header %s stands %d times", spelled, len(values))
	}
}
