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
	maxGuests         = 128              // connections without a request of the page; the oldest makes room for a further one
	maxMembers        = 128              // other connections, which these cannot displace
	maxBody           = 32 << 20         // bytes of a request
	readHeaderTimeout = 10 * time.Second // for the headers of a request
	idleTimeout       = 2 * time.Minute  // of a connection between two requests
	tokenName         = "token"          // in the query of a link
	printedTime       = 30 * time.Minute // lifetime of an unused link
	openedTime        = 5 * time.Minute  // lifetime of a link that a browser opens at once
)

// policy is the Content-Security-Policy of all responses. Texts of a server cannot run, even if the
// page failed to show them as text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src data: blob:; " +
	"connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// A Console is the web page and its API. It is an [http.Handler], to be served at loopback
// addresses, and safe for concurrent use after the last call of Handle.
//
// Its path cannot be guessed. Cookies do not depend on ports, so a browser would otherwise send the
// cookie of http://127.0.0.1:1 to a stranger's http://127.0.0.1:2.
type Console struct {
	path    string // the form "/RANDOM/"
	cookie  string // the value of the cookie of browsers that were let in
	api     *http.ServeMux
	handler http.Handler

	mu      sync.Mutex
	unused  *invitation // the unused link; nil if there is none
	waiting []once      // documents outside of path
}

// An invitation is a link that lets one browser in, until its context is done.
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

// Handle adds a route to the API, with a pattern of [http.ServeMux]. Its responses are at api/v1
// below the page. Its requests were authenticated, and come from the page itself.
func (c *Console) Handle(pattern string, h http.Handler) { c.api.Handle(pattern, h) }

// Link returns an address that lets a browser in, once and within 30 minutes. The console must be
// served at this origin, such as http://127.0.0.1:8000. An earlier unused link ends. The parameter
// where is the view to open, such as "inspector/weather", or empty.
func (c *Console) Link(origin, where string) string {
	link, _ := c.invite(origin, where, printedTime)
	return link
}

// OpenedLink is like [Console.Link] for a link that is opened in a browser at once: it ends after 5
// minutes. The channel over is closed when the link is used, replaced or too old, or Serve ended.
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

// replace ends the unused link; next may be nil.
func (c *Console) replace(next *invitation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unused != nil {
		c.unused.end()
	}
	c.unused = next
}

// Serve serves the console until ctx is done. The listener, which Serve closes, must be at a
// loopback address.
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
	} else { // a body that never arrives must not keep a connection, nor must one with further requests
		h.Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readHeaderTimeout)) // if it cannot be set, the server has its own
	}
	if why := crossOrigin(r); why != "" {
		reply.Error(w, http.StatusForbidden, errors.New(why))
		return
	}
	if document := c.served(r); document != nil {
		document.ServeHTTP(w, r)
		return
	}
	site := cmp.Or(r.Header.Get("Sec-Fetch-Site"), "same-origin") // is the browser's statement of the requesting page
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

// crossOrigin returns the reason why a request does not come from a page of this address: DNS
// rebinding or another origin. It is empty for others.
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

// signIn lets in a browser that has the link, and reports whether it responded. A script requests
// the page that follows, as a browser that another site redirected would not send the cookie.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) bool {
	token := r.URL.Query().Get(tokenName)
	if token == "" || r.URL.Path != c.path || r.Method != http.MethodGet {
		return false
	}
	switch {
	case c.redeem(token):
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: c.cookie, Path: c.path, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	case !c.authenticated(r): // a browser that is in may open the link again
		serveClosed(w)
		return true
	}
	enter := r.Clone(r.Context())
	enter.URL.Path = "/enter.html"
	servePage(w, enter)
	return true
}

// redeem reports whether a token is that of the link, and ends the link.
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

// authenticated reports whether the browser of a request was let in.
func (c *Console) authenticated(r *http.Request) bool {
	return slices.ContainsFunc(r.CookiesNamed(cookieName), func(cookie *http.Cookie) bool {
		return subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(c.cookie)) == 1
	})
}

const (
	maxOnce  = 16          // waiting documents
	onceTime = time.Minute // for which one waits
)

// A once is a document that is served to the first request for it.
type once struct {
	path    string
	handler http.Handler
	until   time.Time
}

// Once returns a path at which h handles one request, within a minute, and without the cookie. It
// is outside of the console's own path: a document of a server can read its own address, and must
// not learn the console's from it.
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

// served returns the handler of a document that waits at a path, and removes it, or nil.
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

// web holds the page, without its tests.
//
//go:embed web/*.html web/*.css web/*.js web/*.svg web/words/*.js
var web embed.FS

// kinds holds the media types by file extension, as those of the system may differ.
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

// serveClosed responds with a page that explains how to get in.
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
