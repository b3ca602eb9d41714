package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/schema"
)

const (
	// maxPage bounds one answer of a registry, in bytes.
	maxPage = 16 << 20
	// pageSize is how many entries a page is asked to have, and maxPageEntries how many one may have.
	pageSize       = 100
	maxPageEntries = 10_000
	// maxFaults is of how many entries that cannot be read a page says why.
	maxFaults = 20
	// maxCursor bounds where a list goes on, in bytes.
	maxCursor = 4 << 10
)

// ErrGarbage says that an answer is not one of a registry.
var ErrGarbage = errors.New("answers what no registry does")

// ErrToken says that a registry wants a token, or another one.
var ErrToken = errors.New("wants a token that lets you in")

// A Client asks one registry, by version 0.1 of the registry API. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	options ClientOptions
}

// ClientOptions are those of [NewClient].
type ClientOptions struct {
	HTTP  *http.Client                              // nil: one of its own, with timeouts
	Token func(ctx context.Context) (string, error) // nil: none is sent
}

// NewClient makes a client of the registry at an address, without the path of the API. With a token the address is https, or
// of this machine.
func NewClient(address string, o ClientOptions) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("registry %q: expected a URL such as https://registry.example.com", address)
	}
	if o.Token != nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return nil, fmt.Errorf("registry %s: a token is sent over https only, or to this machine; change the URL to https", address)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/servers"), "/v0.1")
	if o.HTTP == nil {
		o.HTTP = newHTTP()
	}
	return &Client{u, o}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// String is the address of the registry.
func (c *Client) String() string { return c.base.String() }

// A ListRequest says which entries are listed; the zero one asks for the first page of all.
type ListRequest struct {
	Cursor         string    // [Page.Next] of the page before
	UpdatedSince   time.Time // only those that changed since, deleted ones too
	Version        string    // only this one of each server; "latest" is the latest
	Search         string    // only those whose names have it, as the registry finds them
	IncludeDeleted bool
	Limit          int // entries of a page; 0 is 100
}

// A Page is a part of a list.
type Page struct {
	Entries []*Entry
	Next    string  // empty: this is the last page
	Faults  []error // of entries that cannot be read, 20 at most; Unread counts all
	Unread  int
}

// List asks for a page of what the registry has.
func (c *Client) List(ctx context.Context, r ListRequest) (*Page, error) {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	limit := r.Limit
	if limit == 0 {
		limit = pageSize
	}
	q.Set("limit", strconv.Itoa(limit))
	set("cursor", r.Cursor)
	set("version", r.Version)
	set("search", r.Search)
	if !r.UpdatedSince.IsZero() {
		q.Set("updated_since", r.UpdatedSince.UTC().Format(time.RFC3339Nano))
	} else if r.IncludeDeleted { // which updated_since says, too
		q.Set("include_deleted", "true")
	}
	return c.page(ctx, "/servers", q)
}

// page reads a list.
func (c *Client) page(ctx context.Context, path string, q url.Values) (*Page, error) {
	body, err := c.read(ctx, path, q)
	if err != nil {
		return nil, err
	}
	p, err := parsePage(body)
	if err != nil {
		return nil, fmt.Errorf("registry %s %w: %w; is this its URL?", c, ErrGarbage, err)
	}
	return p, nil
}

// parsePage reads the body of a list. One entry that cannot be read does not hide the others.
func parsePage(body []byte) (*Page, error) {
	var list struct {
		Servers  *[]json.RawMessage `json:"servers"`
		Metadata struct {
			NextCursor  *string `json:"nextCursor"`
			OlderCursor *string `json:"next_cursor"`
		} `json:"metadata"`
	}
	if err := schema.DecodeLoose(body, &list); err != nil {
		return nil, err
	}
	if list.Servers == nil {
		return nil, errors.New(`there is no list "servers"`)
	}
	if len(*list.Servers) > maxPageEntries {
		return nil, fmt.Errorf("a page has %d entries, expected at most %d", len(*list.Servers), maxPageEntries)
	}
	p := &Page{}
	for _, next := range []*string{list.Metadata.OlderCursor, list.Metadata.NextCursor} {
		if next != nil {
			p.Next = *next
		}
	}
	if len(p.Next) > maxCursor {
		return nil, fmt.Errorf("the cursor has %d bytes, expected at most %d", len(p.Next), maxCursor)
	}
	for _, raw := range *list.Servers {
		p.add(parseEntry(raw))
	}
	return p, nil
}

// add adds an entry, or notes why it cannot be read.
func (p *Page) add(e *Entry, err error) {
	if err == nil {
		p.Entries = append(p.Entries, e)
		return
	}
	p.Unread++
	if len(p.Faults) < maxFaults {
		p.Faults = append(p.Faults, err)
	}
}
