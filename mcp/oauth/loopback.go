package oauth

import (
	"context"
	"crypto/subtle"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"
)

const (
	callbackPath = "/callback"
	callbackTime = 10 * time.Second // timeout of one request of the browser
)

// Loopback returns a function for [Options.Visit] with which the user comes back to an address on
// this machine (RFC 8252 section 7.3). It listens there during the visit. The function open sends
// the user's browser to a page; it must not wait for the user.
func Loopback(open func(ctx context.Context, page string) error) func(ctx context.Context, redirect string) (*Visit, error) {
	return func(ctx context.Context, redirect string) (*Visit, error) {
		l, err := listen(ctx, redirect)
		if err != nil {
			return nil, fmt.Errorf("listen for the end of the login: %w", err)
		}
		b := &loopback{back: make(chan string, 1)}
		server := &http.Server{Handler: b, ReadHeaderTimeout: callbackTime, ReadTimeout: callbackTime, WriteTimeout: callbackTime, MaxHeaderBytes: 64 << 10}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = server.Serve(l) // returns when the server is closed
		}()
		at := "http://" + l.Addr().String()
		visit := &Visit{Redirect: at + callbackPath, Close: func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callbackTime)
			defer cancel()
			_ = server.Shutdown(ctx) // lets the browser receive the last page
			_ = server.Close()
			<-ended
		}}
		visit.Go = func(ctx context.Context, page string) (string, error) {
			u, err := url.Parse(page)
			if err != nil {
				return "", err
			}
			b.state.Store(new(u.Query().Get("state")))
			if err := open(ctx, page); err != nil {
				return "", fmt.Errorf("open %s: %w", page, err)
			}
			select {
			case path := <-b.back:
				return at + path, nil
			case <-ctx.Done():
				return "", fmt.Errorf("waited for the login at %s: %w", u.Host, context.Cause(ctx))
			}
		}
		return visit, nil
	}
}

// LoopbackRedirect returns the redirect URI of [Loopback] at a port. It is meant for clients that
// are registered with a fixed redirect URI.
func LoopbackRedirect(port int) string {
	return fmt.Sprintf("http://127.0.0.1:%d%s", port, callbackPath)
}

// listen listens at the address of the redirect URI, or at any free port if that one is in use.
func listen(ctx context.Context, redirect string) (net.Listener, error) {
	if before, err := url.Parse(redirect); err == nil && before.Port() != "" && before.Path == callbackPath && before.Hostname() == "127.0.0.1" {
		if l, err := new(net.ListenConfig).Listen(ctx, "tcp", before.Host); err == nil {
			return l, nil
		}
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
}

// A loopback handles the request with which the user's browser comes back.
type loopback struct {
	state  atomic.Pointer[string] // state of the login; nil before the login starts
	isBack atomic.Bool            // set when the browser came back, which is accepted once
	back   chan string            // capacity 1; gets the path with its query
}

// ServeHTTP accepts the end of the login. A page that guesses the state can neither complete nor
// end the login.
func (b *loopback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet || r.URL.Path != callbackPath {
		http.NotFound(w, r)
		return
	}
	q, state := r.URL.Query(), b.state.Load()
	if state == nil || *state == "" || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(*state)) == 0 {
		w.WriteHeader(http.StatusBadRequest)
		page(w, "This page belongs to another login", "Go back to the program, and try again.")
		return
	}
	if b.isBack.Swap(true) { // reloaded or sent again
		w.WriteHeader(http.StatusConflict)
		page(w, "This login was already completed", "You can close this window. The program shows the result of the login.")
		return
	}
	b.back <- r.URL.RequestURI()
	if fault := q.Get("error"); fault != "" {
		page(w, "The login failed", plain(fault+" "+q.Get("error_description")))
		return
	}
	page(w, "The login is complete", "You can close this window. The program shows the result of the login.")
}

func page(w http.ResponseWriter, title, text string) {
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%[1]s</title>`+
		`<style>body{font:16px/1.5 system-ui,sans-serif;max-width:30em;margin:20vh auto;padding:0 1em;color-scheme:light dark}</style><h1>%[1]s</h1><p>%[2]s</p>`+"\n",
		html.EscapeString(title), html.EscapeString(text))
}
