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
)

const (
	maxDocuments     = 1_000            // that are remembered
	documentTime     = 10 * time.Minute // for how long one is
	badDocumentTime  = time.Minute      // and that one cannot be had
	oldDocumentTime  = 24 * time.Hour   // for how long one is used that cannot be read again
	documentReadTime = 10 * time.Second // for one request
	maxReading       = 64               // documents that are read at a time
	maxReadingHost   = 4                // of one host
)

// errUnread says that a document cannot be had at the moment. What it says may hold nevertheless.
var errUnread = errors.New("the client's document cannot be read")

// documents remember what clients publish of themselves (OAuth Client ID Metadata Document). The zero value has
// nothing.
type documents struct {
	mu      sync.Mutex
	by      map[string]document
	reading map[string]int // how many of each host
}

type document struct {
	client *client
	err    error
	read   time.Time // when it was had
	until  time.Time // when it is read again
}

// get returns the client whose ID is the URL of its document.
func (d *documents) get(ctx context.Context, from *http.Client, id string) (*client, error) {
	if err := checkDocumentURL(id); err != nil {
		return nil, err
	}
	now, host := time.Now(), hostOf(id)
	d.mu.Lock()
	known, found := d.by[id]
	isFresh := found && now.Before(known.until)
	isBusy := !isFresh && !d.begin(host)
	d.mu.Unlock()
	switch {
	case isFresh:
		return known.client, known.err
	case isBusy && known.isUsable(now):
		return known.client, nil
	case isBusy:
		return nil, fmt.Errorf("%w: too many documents of clients are being read; try again in a moment", errUnread)
	}
	c, err := readDocument(ctx, from, id)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end(host)
	next := document{client: c, err: err, read: now, until: now.Add(documentTime)}
	if err != nil {
		next.until = now.Add(badDocumentTime)
	}
	if errors.Is(err, errUnread) && known.isUsable(now) {
		next.client, next.err, next.read = known.client, nil, known.read
	}
	if ctx.Err() == nil {
		d.put(id, next)
	}
	return next.client, next.err
}

// isUsable reports whether a document can stand for one that cannot be had.
func (d document) isUsable(now time.Time) bool {
	return d.client != nil && now.Sub(d.read) < oldDocumentTime
}

// begin reports whether another document of a host may be read; the lock is held.
func (d *documents) begin(host string) bool {
	all := 0
	for _, n := range d.reading {
		all += n
	}
	if all >= maxReading || d.reading[host] >= maxReadingHost {
		return false
	}
	if d.reading == nil {
		d.reading = map[string]int{}
	}
	d.reading[host]++
	return true
}

// end says that one of a host was read; the lock is held.
func (d *documents) end(host string) {
	if d.reading[host]--; d.reading[host] == 0 {
		delete(d.reading, host)
	}
}

func hostOf(id string) string {
	u, err := url.Parse(id)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// put remembers a document; the lock is held.
func (d *documents) put(id string, one document) {
	if d.by == nil {
		d.by = map[string]document{}
	}
	for other := range d.by {
		if len(d.by) < maxDocuments {
			break
		}
		delete(d.by, other)
	}
	d.by[id] = one
}

func checkDocumentURL(id string) error {
	u, err := url.Parse(id)
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || strings.Contains(id, "#"):
		return fmt.Errorf("%w: client_id: %.200q is no https URL of a document", errNoClient, id)
	case u.Path == "" || u.Path == "/" || strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path+"/", "/./"):
		return fmt.Errorf("%w: client_id: %.200q names no document: it needs a path", errNoClient, id)
	}
	return nil
}

func readDocument(ctx context.Context, from *http.Client, id string) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, documentReadTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	response, err := from.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxClientText+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%w: %.200s: HTTP status %d", errUnread, id, response.StatusCode)
	case len(text) > maxClientText:
		return nil, fmt.Errorf("%w: the client's document %.200s has more than %d KiB", errNoClient, id, maxClientText>>10)
	}
	var said struct {
		ID     string `json:"client_id"`
		Method string `json:"token_endpoint_auth_method"`
		Secret string `json:"client_secret"`
		registration
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, fmt.Errorf("%w: the client's document %.200s is not JSON as expected: %w", errNoClient, id, err)
	}
	switch err := said.check(); {
	case said.ID != id:
		return nil, fmt.Errorf("%w: the client's document at %.200s is of the client %.200q", errNoClient, id, said.ID)
	case said.Method != "" && said.Method != "none" || said.Secret != "":
		return nil, fmt.Errorf("%w: the client's document %.200s: token_endpoint_auth_method: expected none, got %.40q", errNoClient, id, said.Method)
	case err != nil:
		return nil, fmt.Errorf("%w: the client's document %.200s: %w", errNoClient, id, err)
	}
	return &client{ID: id, Name: plaintext.Line(said.Name, maxClientName), Redirects: said.Redirects}, nil
}
