package authserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed" // the pages
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"sync"
)

//go:embed page.css
var style string

//go:embed page.html
var pagesText string

// pages are the templates of all pages.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"style": func() template.CSS { return template.CSS(style) }}).Parse(pagesText)) // tested
})

// styleHash lets the pages have their style, and no other.
var styleHash = sync.OnceValue(func() string {
	sum := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
})

// A clientText is a client in words.
type clientText struct {
	Name string // as it calls itself
	ID   string
	Host string // where the browser goes next
	Here bool   // which is a program on the user's machine
}

type loginPage struct {
	Name, Request, Token, User, Fault string
	Client                            clientText
}

type consentPage struct {
	Name, Request, Token, User string
	Client                     clientText
	Where, Resource            string
	Scopes                     []string
}

type faultPage struct{ Fault string }

// describe is the client of a request, in words.
func (s *Server) describe(ctx context.Context, q *request) clientText {
	t := clientText{ID: q.Client, Host: q.Redirect}
	if c, err := s.client(ctx, q.Client); err == nil {
		t.Name = c.Name
	}
	if u, err := url.Parse(q.Redirect); err == nil {
		t.Here = isLoopback(u) || u.Scheme != "https"
		t.Host = u.Host
		if u.Scheme != "https" && u.Scheme != "http" {
			t.Host = u.Scheme + ":"
		}
	}
	return t
}

// show writes a page. The browser may send its form here, and follow the redirect to the client.
func (s *Server) show(w http.ResponseWriter, status int, page, redirect string, values any) {
	var b bytes.Buffer
	if err := pages().ExecuteTemplate(&b, page, values); err != nil {
		s.options.Logger.Error("authorization server: a page", "error", err)
		status = http.StatusInternalServerError
	}
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
	_, _ = w.Write(b.Bytes()) // the browser may be gone
}

// showFault says what is wrong to a user who cannot be sent back to a client.
func (s *Server) showFault(w http.ResponseWriter, status int, err error) {
	s.show(w, status, "fault", "", faultPage{err.Error()})
}
