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
	documentReadTime = 10 * time.Second // for one request
	maxReading       = 8                // documents that are read at a time
)

// documents remember what clients publish of themselves (OAuth Client ID Metadata Document). The zero value has
// nothing.
type documents struct {
	mu      sync.Mutex
	by      map[string]document
	reading int
}

type document struct {
	client *client
	err    error
	until  time.Time
}

// get returns the client whose ID is the URL of its document.
func (d *documents) get(ctx context.Context, from *http.Client, id string) (*client, error) {
	if err := checkDocumentURL(id); err != nil {
		return nil, err
	}
	now := time.Now()
	d.mu.Lock()
	known, found := d.by[id]
	isFresh := found && now.Before(known.until)
	isBusy := !isFresh && d.reading >= maxReading
	if !isFresh && !isBusy {
		d.reading++
	}
	d.mu.Unlock()
	switch {
	case isFresh:
		return known.client, known.err
	case isBusy:
		return nil, errors.New("too many documents of clients are being read; try again in a moment")
	}
	c, err := readDocument(ctx, from, id)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reading--
	if ctx.Err() == nil {
		d.put(id, document{c, err, now})
	}
	return c, err
}

// put remembers a document; the lock is held.
func (d *documents) put(id string, one document) {
	one.until = one.until.Add(documentTime)
	if one.err != nil {
		one.until = one.until.Add(badDocumentTime - documentTime)
	}
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
		return fmt.Errorf("client_id: %.200q is no https URL of a document", id)
	case u.Path == "" || u.Path == "/" || strings.Contains(u.Path+"/", "/../") || strings.Contains(u.Path+"/", "/./"):
		return fmt.Errorf("client_id: %.200q names no document: it needs a path", id)
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
		return nil, fmt.Errorf("the client's document cannot be read: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxClientText+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the client's document cannot be read: %w", err)
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("the client's document %.200s: HTTP status %d", id, response.StatusCode)
	case len(text) > maxClientText:
		return nil, fmt.Errorf("the client's document %.200s has more than %d KiB", id, maxClientText>>10)
	}
	var said struct {
		ID     string `json:"client_id"`
		Method string `json:"token_endpoint_auth_method"`
		Secret string `json:"client_secret"`
		registration
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, fmt.Errorf("the client's document %.200s is not JSON as expected: %w", id, err)
	}
	switch err := said.check(); {
	case said.ID != id:
		return nil, fmt.Errorf("the client's document at %.200s is of the client %.200q", id, said.ID)
	case said.Method != "" && said.Method != "none" || said.Secret != "":
		return nil, fmt.Errorf("the client's document %.200s: token_endpoint_auth_method: expected none, got %.40q", id, said.Method)
	case err != nil:
		return nil, fmt.Errorf("the client's document %.200s: %w", id, err)
	}
	return &client{ID: id, Name: plaintext.Line(said.Name, maxClientName), Redirects: said.Redirects}, nil
}
