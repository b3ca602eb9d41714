package httpedge

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/internal/unreadbody"
)

// Media types.
const (
	JSON        = "application/json"
	EventStream = "text/event-stream"
)

const (
	// FirstRead is the number of bytes that are allocated for a body before any of it is read.
	FirstRead = 4 << 10
	// maxAllBodyBytes is the maximum memory of all bodies of one caller that are being read,
	// without the first FirstRead bytes of each. One body of the maximum size is always admitted.
	// The bodies of all callers together may take a third more.
	maxAllBodyBytes = 16 << 20
)

// ErrBusy is the error if too many large bodies are being read.
var ErrBusy = errors.New("too many large requests are being read")

// Bodies reads the bodies of requests. It is safe for concurrent use. Its fields must not change
// after the first use.
type Bodies struct {
	// Max is the maximum number of bytes of one body.
	Max int
	// Timeout is how long a client may take to send a body, plus a second for each 64 KiB of the
	// announced length.
	Timeout time.Duration

	once      sync.Once
	held      *share.Budget
	deadlines Deadlines
}

// Read reads the whole body of a request into new memory. The error is an [*http.MaxBytesError] if
// the body has more than b.Max bytes, is [ErrBusy], or wraps [os.ErrDeadlineExceeded].
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request, by Caller) ([]byte, error) {
	length := r.ContentLength
	if length > int64(b.Max) {
		return nil, &http.MaxBytesError{Limit: int64(b.Max)}
	}
	var body []byte
	err := b.deadlines.Read(w, b.Timeout+time.Duration(max(length, 0)/slowest)*time.Second, func() (err error) {
		if length < 0 || length > FirstRead {
			body, err = b.readGrowing(http.MaxBytesReader(w, r.Body, int64(b.Max)), int(length), by.Caller())
			return err
		}
		body = make([]byte, length)
		if _, err := io.ReadFull(r.Body, body); err != nil {
			return err
		}
		r.Body.Close() // the server then need not look for more input before it responds
		return nil
	})
	if err != nil {
		return nil, err
	}
	return body, nil
}

// Receive is like [Bodies.Read]. On an error, it refuses the request and returns false.
func (b *Bodies) Receive(w http.ResponseWriter, r *http.Request, by Caller, refuse Refuse) ([]byte, bool) {
	body, err := b.Read(w, r, by)
	if err == nil {
		return body, true
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		unreadbody.Close(w, r) // instead of reading all of it
		refuse(http.StatusRequestEntityTooLarge, "the body is too large: at most %d bytes", b.Max)
	case errors.Is(err, ErrBusy):
		unreadbody.Close(w, r)
		refuse(http.StatusServiceUnavailable, "%v", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		refuse(http.StatusRequestTimeout, "the body did not come within %v", b.Timeout)
	default:
		refuse(http.StatusBadRequest, "the body could not be read: %v", err)
	}
	return nil, false
}

// budget returns the budget for the bodies that are being read.
func (b *Bodies) budget() *share.Budget {
	b.once.Do(func() { b.held = share.Bytes(max(maxAllBodyBytes, b.Max+1)) })
	return b.held
}

// readGrowing reads to the end. It allocates memory as data arrive: up to length if that is
// positive, and doubled as needed. So a client occupies only the memory that it fills.
func (b *Bodies) readGrowing(r io.Reader, length int, caller string) ([]byte, error) {
	body := make([]byte, 0, FirstRead)
	held := 0
	defer func() { b.budget().GiveN(caller, held) }()
	for {
		if len(body) == cap(body) {
			grown := 2 * cap(body)
			if length <= 0 || len(body) >= length {
				length = b.Max
			}
			grown = min(grown, length+1) // one byte more, to find the end without growing again
			if !b.budget().TakeN(caller, grown-len(body)) {
				return nil, ErrBusy
			}
			held += grown - len(body)
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

// IsJSON reports whether the values of a Content-Type header are the media type of JSON.
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

// CanRead reports whether a body is JSON without a content coding. If it is not, CanRead refuses
// the request. The response for an unsupported coding lists the supported ones (RFC 9110, section
// 15.5.16).
func CanRead(w http.ResponseWriter, r *http.Request, refuse Refuse) bool {
	if !IsJSON(r.Header["Content-Type"]) {
		unreadbody.Close(w, r)
		refuse(http.StatusUnsupportedMediaType, "the body must be %s", JSON)
		return false
	}
	for _, coding := range r.Header["Content-Encoding"] {
		if coding = strings.TrimSpace(coding); coding != "" && !strings.EqualFold(coding, "identity") {
			unreadbody.Close(w, r)
			w.Header().Set("Accept-Encoding", "identity")
			refuse(http.StatusUnsupportedMediaType, "the body must have no content coding")
			return false
		}
	}
	return true
}

// Accepts reports whether an Accept header allows the media type. Without the header, every type is
// allowed (RFC 9110, section 12.5.1).
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

// unwanted reports whether the parameters of an accepted type set its weight to zero.
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
