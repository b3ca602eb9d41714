package httplink

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// The values of Accept-Encoding. A request without the header accepts any coding (RFC 9110, section
// 12.5.3). No coding is best for a server nearby, and for a stream, as a proxy may delay a stream
// to compress it.
var (
	noCoding   = []string{"identity"}
	gzipCoding = []string{"gzip"}
)

const (
	headerCoding = "Content-Encoding"
	headerCodes  = "Accept-Encoding"
)

// askCoding sets the codings that the response may have in the request.
func askCoding(header http.Header, method, scheme string) {
	if header[headerCodes] != nil {
		return
	}
	header[headerCodes] = noCoding
	if scheme == "https" && method == http.MethodPost {
		header[headerCodes] = gzipCoding
	}
}

// errCoding is wrapped by errors of bodies that cannot be decoded.
var errCoding = errors.New("the body cannot be decoded")

// IsCoding reports whether an error means that a body cannot be decoded.
func IsCoding(err error) bool { return errors.Is(err, errCoding) }

// decode removes the coding from the body of a response. The reader of the body must limit the
// decoded size. It reports whether the request did not allow the coding.
func decode(resp *http.Response, asked []string) (unasked bool) {
	coding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header[headerCoding], ",")))
	if coding == "" || coding == "identity" || resp.Body == nil || resp.Body == http.NoBody {
		return false
	}
	d := &decoded{body: resp.Body}
	switch coding {
	case "gzip", "x-gzip":
		d.open = func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case "deflate":
		d.open = inflate
	default:
		d.err = fmt.Errorf("%w: its content coding is %q, which was not asked for; gzip and deflate can be read", errCoding, plaintext.Line(coding, 40))
	}
	resp.Body, resp.ContentLength = d, -1
	return len(asked) != 1 || asked[0] != coding
}

// inflate returns a reader of the coding deflate. The standard requires the format of zlib, whose
// first two bytes contain a checksum. Some servers send raw deflate data.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	begin, err := b.Peek(2)
	if err == nil && begin[0]&0xf == 8 && (int(begin[0])<<8|int(begin[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// A decoded is a body without its coding. The first Read opens the decoder.
type decoded struct {
	body io.ReadCloser
	open func(io.Reader) (io.Reader, error)
	r    io.Reader
	err  error
}

// Read implements [io.Reader].
func (d *decoded) Read(p []byte) (int, error) {
	if d.err == nil && d.r == nil {
		d.r, d.err = d.open(d.body)
		d.err = corrupt(d.err)
	}
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.r.Read(p)
	return n, corrupt(err)
}

// corrupt wraps an error about invalid data in errCoding, and leaves errors of the connection
// unchanged.
func corrupt(err error) error {
	_, damaged := errors.AsType[flate.CorruptInputError](err)
	for _, other := range []error{gzip.ErrHeader, gzip.ErrChecksum, zlib.ErrHeader, zlib.ErrChecksum, zlib.ErrDictionary} {
		damaged = damaged || err == other
	}
	if damaged {
		return fmt.Errorf("%w: %w", errCoding, err)
	}
	return err
}

// Close implements [io.Closer].
func (d *decoded) Close() error { return d.body.Close() }
