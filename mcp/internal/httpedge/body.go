package httpedge

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// Media types.
const (
	JSON        = "application/json"
	EventStream = "text/event-stream"
)

// FirstRead is how much memory a body gets on the word of its length alone.
const FirstRead = 256 << 10

// ReadBody reads the whole body of a request into memory of its own. The error
// is an [*http.MaxBytesError] if it has more than most bytes.
func ReadBody(w http.ResponseWriter, r *http.Request, most int) ([]byte, error) {
	switch length := r.ContentLength; {
	case length > int64(most):
		return nil, &http.MaxBytesError{Limit: int64(most)}
	case length >= 0 && length <= FirstRead:
		body := make([]byte, length)
		_, err := io.ReadFull(r.Body, body)
		if err == nil {
			r.Body.Close() // so that the server need not look for more before it answers
		}
		return body, err
	default:
		return readGrowing(http.MaxBytesReader(w, r.Body, int64(most)), int(length))
	}
}

// readGrowing reads to the end. Memory is taken as data comes, up to length if
// that is known and doubled as needed, so that a client pays for what it costs.
func readGrowing(r io.Reader, length int) ([]byte, error) {
	body := make([]byte, 0, FirstRead/4)
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

// IsJSON reports whether the values of a Content-Type header name JSON.
func IsJSON(values []string) bool {
	if len(values) != 1 {
		return false
	}
	if values[0] == JSON {
		return true
	}
	kind, _, err := mime.ParseMediaType(values[0])
	return kind == JSON && (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter))
}

// Accepts reports whether an Accept header allows the media type. Nothing at
// all allows everything (RFC 9110, section 12.5.1).
func Accepts(values []string, media string) bool {
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
