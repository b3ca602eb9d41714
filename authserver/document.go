package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/share"
)

const (
	maxDocuments     = 1_000            // documents in the cache
	documentTime     = 10 * time.Minute // how long a document is used without another read
	badDocumentTime  = time.Minute      // how long a failure is remembered
	oldDocumentTime  = 24 * time.Hour   // how long a document is used if it cannot be read again
	documentReadTime = 10 * time.Second // time limit of one request
	maxReading       = 64               // documents that are read at the same time
	maxReadingHost   = 4                // of these, documents of one host
)

// errUnread reports that a document cannot be read at the moment. It may still be valid.
var errUnread = errors.New("the client's document cannot be read")

// documents caches documents that clients publish: their descriptions (OAuth Client ID Metadata
// Document) or their keys. The zero value is empty.
type documents[T any] struct {
	mu      sync.Mutex
	by      map[string]document[T]
	reading map[string]int // number of current reads, by host
	places  *share.Budget  // shares of the current reads, by caller
}

type document[T any] struct {
	content T
	err     error
	read    time.Time // last successful read
	looked  time.Time // last attempt
	until   time.Time // time when it is read again
}

// get returns the document at a URL. With again set, it also reads the document if the cached one
// is fresh, unless the last read was a moment ago.
func (d *documents[T]) get(ctx context.Context, at string, again bool, read func(context.Context) (T, error)) (T, error) {
	now, host := time.Now(), ""
	if u, err := url.Parse(at); err == nil {
		host = strings.ToLower(u.Hostname())
	}
	d.mu.Lock()
	known, found := d.by[at]
	isFresh := found && now.Before(known.until) && (!again || now.Sub(known.looked) < badDocumentTime)
	isBusy := !isFresh && !d.begin(host, share.Of(ctx))
	d.mu.Unlock()
	switch {
	case isFresh:
		return known.content, known.err
	case isBusy && known.isUsable(now):
		return known.content, nil
	case isBusy:
		return known.content, fmt.Errorf("%w: too many documents of clients are being read; try again in a moment", errUnread)
	}
	content, err := read(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.places.Give(share.Of(ctx))
	if d.reading[host]--; d.reading[host] == 0 {
		delete(d.reading, host)
	}
	next := document[T]{content: content, err: err, read: now, looked: now, until: now.Add(documentTime)}
	if err != nil {
		next.until = now.Add(badDocumentTime)
	}
	if errors.Is(err, errUnread) && known.isUsable(now) {
		next.content, next.err, next.read = known.content, nil, known.read
	}
	if ctx.Err() == nil {
		if d.by == nil {
			d.by = map[string]document[T]{}
		}
		for other := range d.by {
			if len(d.by) < maxDocuments {
				break
			}
			delete(d.by, other)
		}
		d.by[at] = next
	}
	return next.content, next.err
}

// isUsable reports whether an old document may be used because it cannot be read again.
func (d document[T]) isUsable(now time.Time) bool {
	return d.err == nil && !d.read.IsZero() && now.Sub(d.read) < oldDocumentTime
}

// begin reports whether a caller may read another document of a host now, and counts the read. The
// caller holds the lock.
func (d *documents[T]) begin(host, by string) bool {
	if d.reading == nil {
		d.reading, d.places = map[string]int{}, share.New(maxReading)
	}
	if d.reading[host] >= maxReadingHost || !d.places.Take(by) {
		return false
	}
	d.reading[host]++
	return true
}

// described returns the client whose ID is the URL of its document.
func (s *Server) described(ctx context.Context, id string, again bool) (*client, error) {
	u, err := url.Parse(id)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || strings.Contains(id, "#"):
		return nil, fmt.Errorf("%w: client_id: %.200q is not an https URL of a document", errNoClient, id)
	case u.Path == "" || u.Path == "/" || strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path+"/", "/./"):
		return nil, fmt.Errorf("%w: client_id: %.200q needs a path to a document", errNoClient, id)
	}
	return s.documents.get(ctx, id, again, func(ctx context.Context) (*client, error) { return s.readDocument(ctx, id) })
}

// fetch reads the document at a URL that a client names.
func (s *Server) fetch(ctx context.Context, at string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, documentReadTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	response, err := s.options.Documents.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxClientText+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: %.200s: HTTP status %d", errUnread, at, response.StatusCode)
	case len(text) > maxClientText:
		return nil, fmt.Errorf("%w: the client's document %.200s has more than %d KiB", errNoClient, at, maxClientText>>10)
	}
	return text, nil
}

func (s *Server) readDocument(ctx context.Context, id string) (*client, error) {
	text, err := s.fetch(ctx, id)
	if err != nil {
		return nil, err
	}
	var doc struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		registration
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%w: the client's document %.200s is not JSON as expected: %w", errNoClient, id, err)
	}
	c := &client{ID: id, Name: plaintext.Line(doc.Name, maxClientName), Redirects: doc.Redirects}
	switch err := doc.check(); {
	case doc.ID != id:
		return nil, fmt.Errorf("%w: the client's document at %.200s names another client, %.200q", errNoClient, id, doc.ID)
	case doc.Method != "" && doc.Method != methodNone && doc.Method != methodKey || doc.Secret != "":
		return nil, fmt.Errorf("%w: the client's document %.200s: token_endpoint_auth_method: expected none or %s, got %.40q", errNoClient, id, methodKey, doc.Method)
	case err != nil:
		return nil, fmt.Errorf("%w: the client's document %.200s: %w", errNoClient, id, err)
	}
	if err := doc.sign(c); err != nil {
		return nil, fmt.Errorf("%w: the client's document %.200s: %w", errNoClient, id, err)
	}
	return c, nil
}
