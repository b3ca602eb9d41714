package authserver

import (
	"context"
	"crypto/sha256"
	_ "embed" // for the style
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/outside"
)

//go:embed page.css
var style string

// styleHash returns the hash for the content security policy, which allows only the pages' own
// style.
var styleHash = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
})

// A page is built from constant text and escaped values. html/template could do the same, but it
// uses reflection. That prevents the linker from removing unused code, and the binary grows by 8
// MB.
type page struct{ text strings.Builder }

func newPage(title string, values ...string) *page {
	p := new(page)
	p.text.WriteString("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<style>" + style + "</style>\n")
	p.add("<title>"+title+"</title>\n", values...)
	p.add("<h1>"+title+"</h1>\n", values...)
	return p
}

// add adds text and replaces each %s in it by an escaped value. Each %s must be between tags, or in
// a quoted attribute.
func (p *page) add(text string, values ...string) {
	escaped := make([]any, len(values))
	for i, value := range values {
		escaped[i] = html.EscapeString(value)
	}
	fmt.Fprintf(&p.text, text, escaped...)
}

// begin writes the start of a form with its hidden fields.
func (p *page) begin(path, request, token string) {
	p.add("<form method=\"post\" action=\"%s\">\n<input type=\"hidden\" name=\"request\" value=\"%s\">\n<input type=\"hidden\" name=\"csrf\" value=\"%s\">\n", path, request, token)
}

// A clientText describes a client for its user.
type clientText struct {
	name string // name that the client gave itself
	host string // host of the next redirect
	here bool   // whether the client is a program on the user's machine
}

// describe returns the description of a request's client.
func (s *Server) describe(ctx context.Context, q *request) clientText {
	t := clientText{host: q.Redirect}
	if c, err := s.client(ctx, q.Client); err == nil {
		t.name = c.Name
	}
	if u, err := url.Parse(q.Redirect); err == nil {
		t.host, t.here = u.Host, outside.IsHere(u.Hostname()) || u.Scheme != "https"
		if u.Scheme != "https" && u.Scheme != "http" {
			t.host = u.Scheme + ":"
		}
	}
	return t
}

// loginPage returns the page with the form for name and password. isHome is set if no client is
// involved.
func (s *Server) loginPage(isHome bool, c clientText, request, token, user, fault string) *page {
	p := newPage("Log in to %s", s.options.Name)
	if isHome {
		p.add("<p>The page shows what you may use here.</p>\n")
	} else if c.name == "" {
		p.add("<p>A program wants to use it for you. The next page asks you for permission.</p>\n")
	} else {
		p.add("<p>A program that calls itself <q>%s</q> wants to use it for you. The next page asks you for permission.</p>\n", c.name)
	}
	if fault != "" {
		p.add("<p class=\"fault\" role=\"alert\">%s</p>\n", fault)
	}
	p.begin(loginPath, request, token)
	p.add("<label>Name <input name=\"username\" value=\"%s\" autocomplete=\"username\" required autofocus></label>\n", user)
	p.add("<label>Password <input name=\"password\" type=\"password\" autocomplete=\"current-password\" required></label>\n<button>Log in</button>\n</form>\n</html>\n")
	return p
}

// consentPage returns the page that asks the user to allow a client.
func (s *Server) consentPage(q *request, c *client, u User, scopes []string, text clientText, request, token string) *page {
	p := newPage("May this program use %s for you?", s.options.Name)
	rows := func(title string, values ...string) {
		p.add("<dt>%s</dt>\n", title)
		for _, value := range values {
			p.add("<dd>%s</dd>\n", value)
		}
	}
	p.add("<dl>\n")
	name := []string{"nothing"}
	if text.name != "" {
		name = []string{text.name}
	}
	rows("It calls itself", name...)
	is := "a program that registered itself here on " + c.Made.UTC().Format(time.DateOnly) + "; any program can do that, under any name"
	if u, err := url.Parse(c.ID); c.isDocument() && err == nil {
		is = "described by a document at " + u.Host
	}
	rows("It is", is, q.Client)
	to := []string{text.host}
	if text.here {
		to = append(to, "This is a program on your own computer: allow it only if you started this yourself.")
	}
	rows("You go back to", to...)
	rows("It may use", q.Resource)
	if len(scopes) == 0 {
		scopes = []string{"none"}
	}
	rows("With the scopes", scopes...)
	rows("You are", u.Name)
	p.add("</dl>\n")
	p.begin(consentPath, request, token)
	p.add("<button name=\"decision\" value=\"allow\">Allow</button>\n<button name=\"decision\" value=\"deny\">Do not allow</button>\n<button name=\"decision\" value=\"other\">I am another user</button>\n</form>\n</html>\n")
	return p
}

// show writes a page. The page's policy allows the browser to send the form here and to follow the
// redirect to the client.
func (s *Server) show(w http.ResponseWriter, status int, redirect string, p *page) {
	target := ""
	if u, err := url.Parse(redirect); err == nil && redirect != "" {
		target = " " + u.Scheme + ":"
		if u.Scheme == "http" || u.Scheme == "https" {
			target += "//" + u.Host
		}
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src "+styleHash()+"; form-action 'self'"+target+"; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(p.text.String())) // fails if the browser has disconnected
}

// showFault shows an error to a user whose browser cannot be redirected to a client.
func (s *Server) showFault(w http.ResponseWriter, status int, err error) {
	p := newPage("This does not work")
	p.add("<p>%s</p>\n</html>\n", err.Error())
	s.show(w, status, "", p)
}

// showReturn shows a page with a link that returns an error to the client. The page shows the
// address of the link, because anyone can register such an address.
func (s *Server) showReturn(w http.ResponseWriter, to string) {
	p := newPage("This does not work")
	u, err := url.Parse(to)
	if err != nil {
		s.showFault(w, http.StatusBadRequest, errNoClient)
		return
	}
	q := u.Query()
	p.add("<p>A program asked for a login here, and its request cannot be answered: %s (%s).</p>\n", q.Get("error_description"), q.Get("error"))
	u.RawQuery, u.Fragment = "", ""
	p.add("<p>To return to the program, use this address, if you know it:</p>\n<dl><dd>%s</dd></dl>\n", u.String())
	p.add("<form method=\"get\" action=\"%s\">\n", u.String())
	for name, values := range q {
		for _, value := range values {
			p.add("<input type=\"hidden\" name=\"%s\" value=\"%s\">\n", name, value)
		}
	}
	p.add("<button>Go back</button>\n</form>\n</html>\n")
	s.show(w, http.StatusBadRequest, to, p)
}
