// Package formfill implements a browser for tests. It keeps cookies, follows redirects and fills in
// login forms.
package formfill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

const (
	pageSize = 1 << 20 // bytes
	steps    = 20      // maximum number of requests of one visit
)

// A Browser is the browser of one user. Fields maps the names of form fields to the user's input.
type Browser struct {
	Fields map[string]string
	client *http.Client
}

// New returns a browser without cookies. sends performs its requests; nil means
// [http.DefaultTransport].
func New(fields map[string]string, sends http.RoundTripper) *Browser {
	jar, _ := cookiejar.New(nil) // never fails
	return &Browser{fields, &http.Client{Transport: sends, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// A Page is a page that the browser loaded.
type Page struct {
	URL    *url.URL
	Status int
	Header http.Header
	Text   string
	// Action, Values and Fields describe the page's form: the URL it is sent to, its preset values,
	// and the names of the fields that the user fills in. Action is empty if the page has no form.
	Action string
	Values url.Values
	Fields []string
}

// Get loads a page without following redirects.
func (b *Browser) Get(ctx context.Context, at string) (*Page, error) {
	return b.send(ctx, http.MethodGet, at, nil)
}

// Send sends a form with an Origin header, as browsers do.
func (b *Browser) Send(ctx context.Context, at string, values url.Values) (*Page, error) {
	return b.send(ctx, http.MethodPost, at, values)
}

// Show loads a page, follows redirects, and sends forms for whose fields the browser has input. It
// returns the first page that neither redirects nor has such a form.
func (b *Browser) Show(ctx context.Context, at string) (*Page, error) {
	p, _, err := b.walk(ctx, at, func(string) bool { return false })
	return p, err
}

// Visit is like [Browser.Show], but stops at the first address for which ends returns true. It
// returns this address without visiting it. If ends is nil, it returns the address of the first
// page without a form.
func (b *Browser) Visit(ctx context.Context, at string, ends func(to string) bool) (string, error) {
	p, to, err := b.walk(ctx, at, func(to string) bool { return ends != nil && ends(to) })
	switch {
	case err != nil || to != "":
		return to, err
	case ends == nil && p.Status < 400:
		return p.URL.String(), nil
	}
	return "", fmt.Errorf("%w: %s: HTTP status %d: %.2000s", ErrNoForm, p.URL, p.Status, p.Text)
}

// walk loads pages until it reaches a page that leads no further, or an address for which ends
// returns true.
func (b *Browser) walk(ctx context.Context, at string, ends func(to string) bool) (p *Page, to string, err error) {
	p, err = b.Get(ctx, at)
	for range steps {
		switch {
		case err != nil:
			return nil, "", err
		case p.Next() != "" && ends(p.Next()):
			return p, p.Next(), nil
		case p.Next() != "":
			p, err = b.Get(ctx, p.Next())
		case p.Action != "" && p.Status < 400 && b.knows(p.Fields):
			p, err = b.Send(ctx, p.Action, b.Fill(p))
		default:
			return p, "", nil
		}
	}
	return nil, "", fmt.Errorf("more than %d steps, the last at %s", steps, at)
}

func (b *Browser) knows(fields []string) bool {
	for _, name := range fields {
		if _, known := b.Fields[name]; !known {
			return false
		}
	}
	return true
}

// Cookies returns the browser's cookies for a site.
func (b *Browser) Cookies(at *url.URL) []*http.Cookie { return b.client.Jar.Cookies(at) }

func (b *Browser) send(ctx context.Context, method, at string, values url.Values) (*Page, error) {
	req, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(values.Encode()))
	if err != nil {
		return nil, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", req.URL.Scheme+"://"+req.URL.Host)
	}
	response, err := b.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, pageSize))
	if err != nil {
		return nil, err
	}
	p := &Page{URL: req.URL, Status: response.StatusCode, Header: response.Header, Text: string(text)}
	return p, p.readForm()
}

// readForm sets Action, Values and Fields from the page's form.
func (p *Page) readForm() error {
	root, err := html.Parse(strings.NewReader(p.Text))
	if err != nil {
		return err
	}
	p.Values = url.Values{}
	for n := range root.Descendants() {
		of := func(name string) string {
			for _, a := range n.Attr {
				if a.Key == name {
					return a.Val
				}
			}
			return ""
		}
		switch {
		case n.Type != html.ElementNode:
		case n.Data == "form":
			to, err := p.URL.Parse(of("action"))
			if err != nil {
				return err
			}
			p.Action = to.String()
		case n.Data == "input" && of("type") == "hidden":
			p.Values.Set(of("name"), of("value"))
		case (n.Data == "input" || n.Data == "button") && of("name") != "":
			p.Fields = append(p.Fields, of("name"))
		}
	}
	return nil
}

// Fill returns the values of a page's form, including the user's input.
func (b *Browser) Fill(p *Page) url.Values {
	for _, name := range p.Fields {
		p.Values.Set(name, b.Fields[name])
	}
	return p.Values
}

// ErrNoForm is returned for a page without a form at which the browser cannot continue.
var ErrNoForm = errors.New("the page has no form")

// Next returns the URL to which a page redirects, or "".
func (p *Page) Next() string {
	to, err := p.URL.Parse(p.Header.Get("Location"))
	if p.Header.Get("Location") == "" || err != nil {
		return ""
	}
	return to.String()
}
