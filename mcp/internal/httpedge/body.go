package httpedge

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Media types.
const (
	JSON        = "application/json"
	EventStream = "text/event-stream"
)

const (
	// FirstRead is how much memory a body gets on the word of its length alone.
	FirstRead = 4 << 10
	// maxAllBodyBytes is how many bytes all bodies that are being read may take beyond
	// their first ones. One of the largest may always be read.
	maxAllBodyBytes = 16 << 20
)

// How long a client may take by default to send a body, and to read a response
// or an event.
const (
	DefaultReadTimeout  = 30 * time.Second
	DefaultWriteTimeout = 10 * time.Second
)

// ErrBusy is returned where too many large bodies are being read.
var ErrBusy = errors.New("too many large requests are being read")

// Bodies reads the bodies of requests. It is safe for concurrent use; the fields
// must not change while it is used.
type Bodies struct {
	// Max is how many bytes one body may have.
	Max int
	// Timeout is how long a client may take to send one; it gets a second more for
	// each 64 KiB that it announced.
	Timeout time.Duration

	held      atomic.Int64
	deadlines Deadlines
}

// Read reads the whole body of a request into memory of its own. The error is an
// [*http.MaxBytesError] if it has more than b.Max bytes, [ErrBusy], or wraps
// [os.ErrDeadlineExceeded].
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	length := r.ContentLength
	if length > int64(b.Max) {
		return nil, &http.MaxBytesError{Limit: int64(b.Max)}
	}
	var body []byte
	err := b.deadlines.Read(w, b.Timeout+time.Duration(max(length, 0)/slowest)*time.Second, func() (err error) {
		body, err = b.read(w, r, length)
		return err
	})
	return body, err
}

func (b *Bodies) read(w http.ResponseWriter, r *http.Request, length int64) ([]byte, error) {
	if length < 0 || length > FirstRead {
		return b.readGrowing(http.MaxBytesReader(w, r.Body, int64(b.Max)), int(length))
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return nil, err
	}
	r.Body.Close() // so that the server need not look for more before it answers
	return body, nil
}

// readGrowing reads to the end. Memory is taken as data comes, up to length if
// that is known and doubled as needed, so that a client pays for what it costs.
func (b *Bodies) readGrowing(r io.Reader, length int) ([]byte, error) {
	body := make([]byte, 0, FirstRead)
	held := int64(0)
	defer func() { b.held.Add(-held) }()
	for {
		if len(body) == cap(body) {
			grown := 2 * cap(body)
			if length <= 0 || len(body) >= length {
				length = b.Max
			}
			grown = min(grown, length+1) // one more, so that the end is found without growing again
			more := int64(grown - len(body))
			held += more
			if b.held.Add(more) > max(maxAllBodyBytes, int64(b.Max)+1) {
				return nil, ErrBusy
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
