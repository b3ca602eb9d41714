package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/schema"
)

const (
	// maxPage is the largest size of a registry's response in bytes.
	maxPage = 16 << 20
	// pageSize is the requested number of entries on a page, and maxPageEntries the largest
	// accepted one.
	pageSize       = 100
	maxPageEntries = 10_000
	// maxFaults is the largest number of unreadable entries of a page that are reported.
	maxFaults = 20
	// maxCursor is the largest length of a cursor in bytes.
	maxCursor = 4 << 10
)

// ErrGarbage reports that a response is not one of a registry.
var ErrGarbage = errors.New("does not answer like a registry")

// ErrToken reports that a registry requires a token, or does not accept the given one.
var ErrToken = errors.New("needs a token with access")

// A Client accesses one registry by version 0.1 of the registry API. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	options ClientOptions
}

// ClientOptions are the options of [NewClient].
type ClientOptions struct {
	HTTP  *http.Client                              // nil means a new client with timeouts
	Token func(ctx context.Context) (string, error) // nil means no token
}

// NewClient returns a client of the registry at an address, which must not include the path of the
// API. If o has a Token, the address must use https or be on this machine.
func NewClient(address string, o ClientOptions) (*Client, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("registry %q: expected a URL such as https://registry.example.com", address)
	}
	if o.Token != nil && u.Scheme == "http" && !outside.IsHere(u.Hostname()) {
		return nil, fmt.Errorf("registry %s: a token is sent over https only, or to this machine; change the URL to https", address)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/servers"), "/v0.1")
	if o.HTTP == nil {
		o.HTTP = newHTTP()
	}
	return &Client{u, o}, nil
}

// String returns the address of the registry.
func (c *Client) String() string { return c.base.String() }

// A ListRequest selects entries of a registry. The zero value selects the first page of all
// entries.
type ListRequest struct {
	Cursor         string    // Next of the previous page
	UpdatedSince   time.Time // only entries changed since then, including deleted ones
	Version        string    // only this version of each server; "latest" selects the latest one
	Search         string    // only names that match by the registry's own rules
	IncludeDeleted bool
	Limit          int // number of entries on the page; 0 means 100
}

// A Page is a part of a registry's list.
type Page struct {
	Entries []*Entry
	Next    string  // empty for the last page
	Faults  []error // errors of unreadable entries, at most 20; Unread counts all of them
	Unread  int
}

// List returns a page of the registry's list.
func (c *Client) List(ctx context.Context, r ListRequest) (*Page, error) {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	q.Set("limit", strconv.Itoa(cmp.Or(r.Limit, pageSize)))
	set("cursor", r.Cursor)
	set("version", r.Version)
	set("search", r.Search)
	if !r.UpdatedSince.IsZero() {
		q.Set("updated_since", r.UpdatedSince.UTC().Format(time.RFC3339Nano))
	} else if r.IncludeDeleted { // updated_since includes deleted entries anyway
		q.Set("include_deleted", "true")
	}
	body, err := c.read(ctx, "/servers", q)
	if err != nil {
		return nil, err
	}
	p, err := parsePage(body)
	if err != nil {
		return nil, fmt.Errorf("registry %s %w: %w; check its URL", c, ErrGarbage, err)
	}
	return p, nil
}

// parsePage parses a page. Its other entries are returned even if some are unreadable.
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

// add adds an entry to the page, or counts the error of an unreadable one.
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

// Encode returns a server.json. It has the members of s, and then those members of the JSON object
// rest for which s has no field. _meta comes from rest.
func (s *Server) Encode(rest json.RawMessage) (json.RawMessage, error) {
	text, err := schema.Encode(nil, s)
	if err != nil {
		return nil, err
	}
	known, fault := jsonrpc.Index(text, jsonrpc.Limits{})
	if fault != nil {
		return nil, errors.New(fault.Message)
	}
	w := jsonrpc.NewObject(nil)
	for name, value := range known.All() {
		w.Raw(name, value)
	}
	if len(rest) == 0 {
		return w.Bytes(), nil
	}
	further, fault := jsonrpc.Index(rest, jsonrpc.Limits{})
	if fault != nil {
		return nil, errors.New(fault.Message)
	}
	own := []string{"$schema", "name", "title", "description", "version", "repository", "websiteUrl", "packages", "remotes"}
	for name, value := range further.All() {
		if !slices.Contains(own, name) {
			w.Raw(name, value)
		}
	}
	return w.Bytes(), nil
}

// Publish publishes a version of a server. server is a server.json, and the client's token
// identifies the publisher. Publish sends the request only once. After an error without a response,
// use Version to learn whether it was published.
func (c *Client) Publish(ctx context.Context, server json.RawMessage) (*Entry, error) {
	if c.options.Token == nil {
		return nil, fmt.Errorf("registry %s: %w: there is none", c, ErrToken)
	}
	body, err := c.once(ctx, http.MethodPost, "/publish", nil, server)
	if err != nil {
		return nil, err
	}
	e, err := parseEntry(body)
	if err != nil {
		return nil, fmt.Errorf("registry %s %w: %w", c, ErrGarbage, err)
	}
	return e, nil
}

// LoginGitHub exchanges a token of GitHub for a token of the registry. With it the user may publish
// names that begin with io.github.USER. The result is valid for some minutes.
func (c *Client) LoginGitHub(ctx context.Context, token string) (string, error) {
	w := jsonrpc.NewObject(nil)
	w.String("github_token", token)
	body, err := c.once(ctx, http.MethodPost, "/auth/github-at", nil, w.Bytes())
	if err != nil {
		return "", err
	}
	given, ok := jsonrpc.Unquote(jsonrpc.Get(body, "registry_token"))
	if !ok || given == "" {
		return "", fmt.Errorf("registry %s %w: there is no registry_token", c, ErrGarbage)
	}
	return given, nil
}
