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
	maxGuests         = 128              // connections without a request of the page; the oldest makes room for one more
	maxMembers        = 128              // others that no guest takes the place of
	maxBody           = 32 << 20         // bytes of a request
	readHeaderTimeout = 10 * time.Second // for the headers of a request
	idleTimeout       = 2 * time.Minute  // of a connection between two requests
	tokenName         = "token"          // of the query of a link
	printedTime       = 30 * time.Minute // that a link lives which nobody uses
	openedTime        = 5 * time.Minute  // that one lives which a browser is to open at once
)

// policy is the Content-Security-Policy of everything: what a server wrote cannot run, even where the page would fail to
// show it as text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src data: blob:; " +
	"connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// A Console is the web page and its API. It is an [http.Handler], to be served at loopback addresses, and safe for
// concurrent use after the last call of Handle.
//
// It lives below a path that nobody can guess: cookies do not know ports, so a browser would send the one of
// http://127.0.0.1:1 to a stranger's http://127.0.0.1:2, if it did not have that path.
type Console struct {
	path    string // "/RANDOM/"
	cookie  string // the value of the cookie of those who were let in
	api     *http.ServeMux
	handler http.Handler

	mu      sync.Mutex
	unused  *invitation // the link that nobody has used; nil: there is none
	waiting []once      // documents outside of path
}

// An invitation is a link that lets one browser in, until its context is done.
type invitation struct {
	token string
	ctx   context.Context
	end   context.CancelFunc
}

// New makes a Console.
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

// Handle adds a route to the API, with a pattern as [http.ServeMux] has: what it answers is at api/v1 below the page. Who
// gets as far was let in, and asks from the page itself.
func (c *Console) Handle(pattern string, h http.Handler) { c.api.Handle(pattern, h) }

// Link makes the address that lets a browser in, once and within 30 minutes, of a console that is served at this origin, such
// as http://127.0.0.1:8000. One that was made before, and that nobody has used, ends. Where is the view to open, such as
// "inspector/weather"; it may be empty.
func (c *Console) Link(origin, where string) string {
	link, _ := c.invite(origin, where, printedTime)
	return link
}

// OpenedLink is [Console.Link] for a link that is opened in a browser at once: it ends after 5 minutes. Over is closed when the
// link lets nobody in any more: somebody used it, another one took its place, it is too old, or Serve ended.
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

// replace ends the link that nobody has used; next may be nil.
func (c *Console) replace(next *invitation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unused != nil {
		c.unused.end()
	}
	c.unused = next
}

// Serve serves the console until ctx is done. The listener, which Serve closes, must be at a loopback address.
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
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if c.authenticated(r) {
		admission.LetIn(r.Context(), "") // there is one user
	} else { // a body that never comes keeps no connection, nor does one that has more to ask
		h.Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readHeaderTimeout)) // where there is none, whoever serves has one
	}
	if why := crossOrigin(r); why != "" {
		reply.Error(w, http.StatusForbidden, errors.New(why))
		return
	}
	if document := c.served(r); document != nil {
		document.ServeHTTP(w, r)
		return
	}
	site := cmp.Or(r.Header.Get("Sec-Fetch-Site"), "same-origin") // a browser says which page asks
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

// crossOrigin says why a request does not come from a page of this address: it was rebound to it, or belongs to another.
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

// signIn lets in a browser that has the link, and reports whether it answered. A script asks for the page that follows: a
// browser that another site redirected would not send the cookie.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) bool {
	token := r.URL.Query().Get(tokenName)
	if token == "" || r.URL.Path != c.path || r.Method != http.MethodGet {
		return false
	}
	switch {
	case c.redeem(token):
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: c.cookie, Path: c.path, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	case !c.authenticated(r): // who is in opens it once more
		serveClosed(w)
		return true
	}
	enter := r.Clone(r.Context())
	enter.URL.Path = "/enter.html"
	servePage(w, enter)
	return true
}

// redeem reports whether a token is that of the link, and ends it.
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

// authenticated reports whether who asks was let in.
func (c *Console) authenticated(r *http.Request) bool {
	return slices.ContainsFunc(r.CookiesNamed(cookieName), func(cookie *http.Cookie) bool {
		return subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(c.cookie)) == 1
	})
}

const (
	maxOnce  = 16          // documents that wait to be asked for
	onceTime = time.Minute // that one waits
)

// A once is a document that is served to the first who asks for it.
type once struct {
	path    string
	handler http.Handler
	until   time.Time
}

// Once returns a path at which h answers one request, within a minute, and without the cookie. It is outside of the console's
// own path: a document that a server wrote can read its own address, and must not learn the console's from it.
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

// served is the handler of a document that waits at a path, which ends that; nil where there is none.
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

// web is the page, without its tests.
//
//go:embed web/*.html web/*.css web/*.js web/*.svg web/words/*.js
var web embed.FS

// kinds are the media types by a file's ending: those of the system's table may be others.
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
	kind := kinds[path.Ext(name)]
	data, err := web.ReadFile("web/" + name)
	if err != nil || kind == "" {
		reply.Error(w, http.StatusNotFound, errors.New("the console has no such page"))
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(data)
}

// serveClosed tells one who was not let in how to get in.
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
