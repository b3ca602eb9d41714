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
	if o.Token != nil && u.Scheme == "http" && !outside.IsHere(u.Hostname()) {
		return nil, fmt.Errorf("registry %s: a token is sent over https only, or to this machine; change the URL to https", address)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/servers"), "/v0.1")
	if o.HTTP == nil {
		o.HTTP = newHTTP()
	}
	return &Client{u, o}, nil
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
	q.Set("limit", strconv.Itoa(cmp.Or(r.Limit, pageSize)))
	set("cursor", r.Cursor)
	set("version", r.Version)
	set("search", r.Search)
	if !r.UpdatedSince.IsZero() {
		q.Set("updated_since", r.UpdatedSince.UTC().Format(time.RFC3339Nano))
	} else if r.IncludeDeleted { // which updated_since says, too
		q.Set("include_deleted", "true")
	}
	body, err := c.read(ctx, "/servers", q)
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

// Encode is the server.json: the members of s, then those of rest, an object, that s has no place for. What is _meta there stays.
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

// Publish publishes a version of a server; server is a server.json. The client's token says who does. It is sent once: whether a
// registry that did not answer has published it, Version tells.
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

// LoginGitHub gets a token of the registry for a user of GitHub, who publishes names that begin with io.github.USER. It is valid for minutes.
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
