package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/admission"
	"github.com/junction-mcp/junction/internal/share"
)

const (
	maxGuests         = 128              // connections that have sent no request from the page; a further one displaces the oldest
	maxMembers        = 128              // other connections, which the former cannot displace
	maxBody           = 32 << 20         // maximum bytes of a request body
	readHeaderTimeout = 10 * time.Second // timeout for the headers of a request
	idleTimeout       = 2 * time.Minute  // timeout of a connection between two requests
	tokenName         = "token"          // parameter of the link that has its token
	printedTime       = 30 * time.Minute // lifetime of a printed link
	openedTime        = 5 * time.Minute  // lifetime of a link that is opened in a browser at once
)

// policy is the Content-Security-Policy of all responses. With it, text from a server cannot run as
// a script, even if the page failed to escape the text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src data: blob:; " +
	"connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// setPolicy sets the headers of all responses.
func setPolicy(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// A Console is the web page and its API. It is an [http.Handler] for loopback addresses, and safe
// for concurrent use after the last call of Handle.
//
// The console has a path that cannot be guessed, and its cookie is limited to that path. Browsers
// send a cookie to all ports of a host, so without the path they would send the cookie of
// http://127.0.0.1:1 to another program at http://127.0.0.1:2.
type Console struct {
	path    string // has the form "/RANDOM/"
	cookie  string // the value of the cookie, which admitted browsers have
	api     *http.ServeMux
	handler http.Handler

	mu      sync.Mutex
	unused  *invitation
	waiting []once // documents of Once
}

// An invitation is a link that admits one browser before its context is done.
type invitation struct {
	token string
	ctx   context.Context
	end   context.CancelFunc
}

// New returns a Console.
func New() *Console {
	c := &Console{path: "/" + rand.Text() + "/", cookie: rand.Text(), api: http.NewServeMux()}
	inside := http.NewServeMux()
	inside.Handle("/api/v1/", http.StripPrefix("/api/v1", c.api))
	inside.HandleFunc("/", servePage)
	c.api.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		reply.Error(w, http.StatusNotFound, errors.New("the API of this junction has no such route"))
	})
	c.handler = http.StripPrefix(strings.TrimSuffix(c.path, "/"), inside)
	return c
}

// Handle adds a route to the API. The pattern is that of an [http.ServeMux], without the prefix
// "api/v1" below the page's path. The handler gets only authenticated requests from the page
// itself.
func (c *Console) Handle(pattern string, h http.Handler) { c.api.Handle(pattern, h) }

// Link returns a URL that admits one browser within 30 minutes. It ends an earlier unused link. The
// console must be served at the given origin, such as http://127.0.0.1:8000. The parameter where is
// the view to open, such as "inspector/weather"; it may be empty.
func (c *Console) Link(origin, where string) string {
	link, _ := c.invite(origin, where, printedTime)
	return link
}

// OpenedLink is like [Console.Link], but for a link that the caller opens in a browser at once. The
// link is valid for 5 minutes. The channel over is closed when the link was used, replaced or has
// expired, or when Serve returns.
func (c *Console) OpenedLink(origin, where string) (link string, over <-chan struct{}) {
	return c.invite(origin, where, openedTime)
}

func (c *Console) invite(origin, where string, life time.Duration) (link string, over <-chan struct{}) {
	i := &invitation{token: rand.Text()}
	i.ctx, i.end = context.WithTimeout(context.Background(), life)
	c.replace(i)
	if where != "" {
		where = "#/" + where
	}
	return origin + c.path + "?" + tokenName + "=" + i.token + where, i.ctx.Done()
}

// replace ends the unused link and sets the next one, which may be nil.
func (c *Console) replace(next *invitation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unused != nil {
		c.unused.end()
	}
	c.unused = next
}

// Serve serves the console until ctx is done. The listener must have a loopback address. Serve
// closes it.
func (c *Console) Serve(ctx context.Context, l net.Listener, logger *log.Logger) error {
	base, cancel := context.WithCancel(ctx)
	defer cancel()
	defer c.replace(nil)
	s := &http.Server{Handler: c, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, ErrorLog: logger,
		BaseContext: func(net.Listener) context.Context { return base }, ConnContext: admission.ConnContext}
	defer context.AfterFunc(ctx, func() { s.Close() })()
	if err := s.Serve(admission.Limit(l, share.New(maxGuests), share.New(maxMembers))); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// ServeHTTP implements [http.Handler].
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setPolicy(w.Header())
	if c.authenticated(r) {
		admission.LetIn(r.Context(), "") // all pages belong to one user, so they need no key
	} else { // without the cookie, neither a slow body nor further requests may occupy the connection
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readHeaderTimeout)) // if this fails, the timeouts of the server apply
	}
	if why := crossOrigin(r); why != "" {
		reply.Error(w, http.StatusForbidden, errors.New(why))
		return
	}
	if document := c.served(r); document != nil {
		document.ServeHTTP(w, r)
		return
	}
	site := cmp.Or(r.Header.Get("Sec-Fetch-Site"), "same-origin") // the browser tells in this header which page sent the request
	switch {
	case c.signIn(w, r):
	case !c.authenticated(r):
		if strings.HasPrefix(r.URL.Path, c.path+"api/v1/") {
			reply.Error(w, http.StatusUnauthorized, errors.New("expected the cookie that the link of this console gives"))
			return
		}
		serveClosed(w)
	case site != "same-origin" && site != "none" && r.URL.Path != c.path:
		reply.Error(w, http.StatusForbidden, errors.New("this is for the console's own page only"))
	default:
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		c.handler.ServeHTTP(w, r)
	}
}

// crossOrigin returns why a request must not be served: DNS rebinding or a page of another origin.
// It returns "" if the request may be served.
func crossOrigin(r *http.Request) string {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	if ip := net.ParseIP(strings.Trim(name, "[]")); !strings.EqualFold(name, "localhost") && (ip == nil || !ip.IsLoopback()) {
		return "the console is at loopback addresses only, and never at " + r.Host
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	for _, origin := range r.Header["Origin"] {
		if !strings.EqualFold(origin, scheme+r.Host) {
			return "this is for the console's own page only"
		}
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") != "" {
		return "expected an Origin"
	}
	return ""
}

// signIn admits a browser that has the link. It reports whether it wrote a response: a page with a
// script that opens the console. A redirect would not do, because a browser that follows one from
// another site does not send the cookie.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) bool {
	token := r.URL.Query().Get(tokenName)
	if token == "" || r.URL.Path != c.path || r.Method != http.MethodGet {
		return false
	}
	switch {
	case c.redeem(token):
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: c.cookie, Path: c.path, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	case !c.authenticated(r): // an admitted browser may open the link again
		serveClosed(w)
		return true
	}
	enter := r.Clone(r.Context())
	enter.URL.Path = "/enter.html"
	servePage(w, enter)
	return true
}

// redeem ends the unused link and returns true if it has the given token.
func (c *Console) redeem(token string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unused == nil || c.unused.ctx.Err() != nil || subtle.ConstantTimeCompare([]byte(token), []byte(c.unused.token)) == 0 {
		return false
	}
	c.unused.end()
	c.unused = nil
	return true
}

const cookieName = "junction"

// authenticated reports whether the browser that sent a request was admitted.
func (c *Console) authenticated(r *http.Request) bool {
	return slices.ContainsFunc(r.CookiesNamed(cookieName), func(cookie *http.Cookie) bool {
		return subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(c.cookie)) == 1
	})
}

const (
	maxOnce  = 16          // maximum number of waiting documents
	onceTime = time.Minute // maximum time for which a document waits
)

// A once is a document that is served for the first request only.
type once struct {
	path    string
	handler http.Handler
	until   time.Time
}

// Once returns a path at which h handles one request, within a minute and without the cookie. The
// path is not below the console's path: a document of a server can read its own address, and must
// not learn the path of the console from it.
func (c *Console) Once(h http.Handler) (path string) {
	path = "/" + rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.waiting = slices.DeleteFunc(c.waiting, func(o once) bool { return now.After(o.until) })
	if len(c.waiting) >= maxOnce {
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
	c.waiting = append(c.waiting, once{path, h, now.Add(onceTime)})
	return path
}

// served returns the handler of the document that waits at the path of a request, and removes the
// document. It returns nil if none waits.
func (c *Console) served(r *http.Request) http.Handler {
	if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, c.path) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.waiting, func(o once) bool { return o.path == r.URL.Path })
	if i < 0 {
		return nil
	}
	o := c.waiting[i]
	c.waiting = slices.Delete(c.waiting, i, i+1)
	if time.Now().After(o.until) {
		return nil
	}
	return o.handler
}

// web contains the files of the page, without their tests.
//
//go:embed web/*.html web/*.css web/*.js web/*.svg web/words/*.js
var web embed.FS

// kinds maps file extensions to media types, because those of the operating system may differ.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// servePage serves a file of the page.
func servePage(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	serveFile(w, name)
}

func serveFile(w http.ResponseWriter, name string) {
	kind := kinds[path.Ext(name)]
	data, err := web.ReadFile("web/" + name)
	if err != nil || kind == "" {
		reply.Error(w, http.StatusNotFound, errors.New("the console has no such page"))
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(data)
}

// teamFiles are the files of the team's page, by their paths below it.
var teamFiles = map[string]string{"": "team.html", "/team.js": "team.js", "/call_card.js": "call_card.js", "/team.css": "team.css", "/dom.js": "dom.js", "/words/en.js": "words/en.js", "/style.css": "style.css", "/icon.svg": "icon.svg"}

// Team returns a Handler for the page of a gateway's callers, at a path. The page uses the API below
// that path, at api/. It has no content of its own that needs a login. Team sends the headers of the
// page's security policy with each response of h, too, which handles all other requests.
func Team(base string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setPolicy(w.Header())
		w.Header().Set("X-Frame-Options", "DENY")
		name, found := teamFiles[strings.TrimPrefix(r.URL.Path, base)]
		if !found || name == "team.html" && !isReading(r) {
			h.ServeHTTP(w, r)
			return
		}
		if !isReading(r) {
			reply.Error(w, http.StatusMethodNotAllowed, errors.New("this page can only be read"))
			return
		}
		serveFile(w, name)
	})
}

func isReading(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// serveClosed responds with a page that explains how to get a link.
func serveClosed(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = io.WriteString(w, closed)
}

const closed = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Junction</title>
<h1>This link lets nobody in</h1>
<p>It was used before, is too old, or belongs to a console that ended. <code>junction console</code> and <code>junction inspect</code> print a
new one when you press Enter in their terminal; in <code>junction chat</code> say <code>/console</code> again; for
<code>junction up --console</code> run <code>junction console</code>.</p>
<p lang="zh">此链接已使用过、已过期，或所属的控制台已结束。在 <code>junction console</code> 或 <code>junction inspect</code> 的终端中按 Enter
键可得到新链接；在 <code>junction chat</code> 中请再次输入 <code>/console</code>；若使用 <code>junction up --console</code>，请运行
<code>junction console</code>。</p>
`
