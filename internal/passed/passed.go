// Package passed authenticates requests that one replica passes on to another. Replicas have the
// same state keys, and clients have none.
package passed

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/internal/share"
)

// Header is the name of the header that authenticates a request. Its value is sealed, and bound to
// the time, the method, the URL, the body, and the headers that decide who sends the request and what
// it does.
const Header = "Junction-Passed-On"

const (
	// MaxAbout is the largest size of [Note.About] in bytes. Sealed and encoded it fits into the header.
	MaxAbout = 8 << 10

	skewTime  = time.Minute // largest difference between the clocks of two replicas
	maxHeader = 16 << 10    // characters of the header
	maxOnce   = 1 << 18     // headers that a Once keeps
)

// ErrRefused means that a request was not passed on by a replica, or was changed since.
var ErrRefused = errors.New("the header " + Header + " is not of a replica with the same stateKeys and time")

// A Note is the content of the header.
type Note struct {
	Sent  int64           `json:"t"`           // time in Unix milliseconds
	Body  []byte          `json:"b"`           // SHA-256 of the body
	About json.RawMessage `json:"a,omitempty"` // further data
}

// Seal sets the header of a request with a body.
func Seal(ring *seal.Ring, r *http.Request, body []byte, about json.RawMessage, now time.Time) error {
	if len(about) > MaxAbout {
		return fmt.Errorf("what is passed on about a request has %d bytes, at most %d fit into a header", len(about), MaxAbout)
	}
	sum := sha256.Sum256(body)
	plain, err := Marshal(Note{now.UnixMilli(), sum[:], about})
	if err != nil {
		return err
	}
	r.Header[Header] = []string{ring.Seal(plain, boundTo(r))}
	return nil
}

// Marshal returns the JSON of a value without the escapes that only web pages need, as they could make
// a name in [Note.About] six times as long.
func Marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Is reports whether a request has the header, valid or not.
func Is(r *http.Request) bool { return len(r.Header[Header]) > 0 }

// Open returns the content of the header, or [ErrRefused]. The caller must also check the body with
// [Note.Has] once it is read.
func Open(ring *seal.Ring, r *http.Request, now time.Time) (*Note, error) {
	values := r.Header[Header]
	if len(values) != 1 || len(values[0]) > maxHeader {
		return nil, ErrRefused
	}
	plain, err := ring.Open(values[0], boundTo(r))
	if err != nil {
		return nil, ErrRefused
	}
	n := new(Note)
	if err := json.Unmarshal(plain, n); err != nil {
		return nil, ErrRefused
	}
	if skew := now.Sub(time.UnixMilli(n.Sent)); skew > skewTime || skew < -skewTime {
		return nil, fmt.Errorf("%w: the clocks differ by %v", ErrRefused, skew.Round(time.Second))
	}
	return n, nil
}

// A Once knows the requests that were passed on a short time ago, as those who can read them could send
// them again. It is safe for concurrent use.
type Once struct {
	seen *share.Recent[[sha256.Size]byte]
}

// NewOnce returns a Once without requests.
func NewOnce() *Once { return &Once{share.NewRecent[[sha256.Size]byte](2*skewTime, maxOnce)} }

// Take reports whether a request, whose header [Open] has read, came for the first time.
func (o *Once) Take(r *http.Request, now time.Time) bool {
	return o.seen.AddNew(sha256.Sum256([]byte(r.Header[Header][0])), now)
}

// Has reports whether the body is that of the request.
func (n *Note) Has(body []byte) bool {
	sum := sha256.Sum256(body)
	return bytes.Equal(sum[:], n.Body)
}

// Reader returns the body of the request. At its end, Read returns [ErrRefused] if it is another
// one.
func (n *Note) Reader(body io.ReadCloser) io.ReadCloser {
	return &reader{ReadCloser: body, sum: sha256.New(), want: n.Body}
}

type reader struct {
	io.ReadCloser
	sum  hash.Hash
	want []byte
}

// Read implements [io.Reader].
func (r *reader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.sum.Write(p[:n])
	if err == io.EOF && !bytes.Equal(r.sum.Sum(nil), r.want) {
		err = ErrRefused
	}
	return n, err
}

// boundTo returns the text that the header of a request is bound to.
func boundTo(r *http.Request) []byte {
	b := []byte("passed on")
	for _, part := range []string{r.Method, cmp.Or(r.URL.EscapedPath(), "/"), r.URL.RawQuery} {
		b = strconv.AppendQuote(append(b, ' '), part)
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Last-Event-Id"} {
		for _, value := range r.Header[name] {
			b = strconv.AppendQuote(append(b, ' '), name+": "+value)
		}
	}
	return b
}
