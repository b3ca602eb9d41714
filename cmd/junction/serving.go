package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/stdio"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/spf13/pflag"
)

const (
	endpointPath      = "/mcp"
	olderPath         = "/sse" // HTTP+SSE, for clients that know nothing newer
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
)

// A front is how a command serves: at an address, or on standard input and output.
type front struct {
	http    string
	stdio   bool
	hosts   []string // names under which it may be reached
	origins []string // of web pages that may use it
	auth    string   // none, or ways to let clients in: who may use it
	public  string   // the origin by which clients reach it; empty: its address
	security

	// authorization is what the settings say of tokens, and folder that of their file.
	authorization settings.Authorization
	folder        string
}

func (f *front) flags(flags *pflag.FlagSet, byDefault string) {
	flags.StringVar(&f.http, "http", "", "serve at `HOST:PORT` or unix:FILE, path "+endpointPath+" ("+olderPath+" for clients that know only HTTP+SSE)"+byDefault)
	flags.StringSliceVar(&f.hosts, "allow-host", nil, "with --http: let clients reach it by this `NAME`, in addition to localhost and its address")
	flags.StringSliceVar(&f.origins, "allow-origin", nil, "with --http: let web pages of this `ORIGIN` use it, such as https://example.com")
	f.security.flags(flags)
	flags.StringVar(&f.auth, "auth", authNone, "with --http: let clients in by `none|keys|local|URL`: all; those that send a key of junction key; or a token: of the users of junction user, who log in here (local), or of the authorization server at a URL; or several of these, with commas")
	flags.StringVar(&f.public, "public-url", "", "with --auth: the `ORIGIN` by which clients and browsers reach it, such as https://tools.example.com (default its address)")
	flags.BoolVar(&f.stdio, "stdio", false, "serve on standard input and output")
}

// check says what is wrong with the flags.
func (f *front) check() error {
	if err := f.checkAuth(); err != nil {
		return err
	}
	if f.stdio && f.auth != authNone {
		return usagef("--auth goes with --http: on standard input and output there is only the program that started it")
	}
	if err := f.security.check(); err != nil {
		return err
	}
	if f.stdio && f.cert != "" {
		return usagef("--tls-cert goes with --http")
	}
	if f.http == "" {
		return nil
	}
	if f.stdio {
		return usagef("--http and --stdio exclude each other")
	}
	path, isFile := strings.CutPrefix(f.http, unixPrefix)
	if isFile && path != "" {
		return nil
	}
	_, port, err := net.SplitHostPort(f.http)
	if err == nil && !isFile {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || isFile {
		return usagef("--http: expected HOST:PORT, such as 127.0.0.1:7717, or unix:FILE, got %q", f.http)
	}
	return nil
}

// serve serves h until ctx is done, or the client on standard input goes away.
func (a *app) serve(ctx context.Context, f front, h mcp.Handler) error {
	if !f.stdio {
		l, err := a.listen(f)
		if err != nil {
			return err
		}
		defer l.Close()
		access, err := a.openAccess(ctx, l, f, nil)
		if err != nil {
			return err
		}
		a.screen.Printf("Serving at %s\n", f.endpoint(l))
		return a.serveHTTP(ctx, l, f, h, access, nil)
	}
	return a.serveStdio(ctx, h)
}

// listen opens an address, and warns if it is not of this machine only.
func (a *app) listen(f front) (net.Listener, error) {
	l, err := listenAt(f.http)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--http %s: this address is in use, perhaps by another junction (junction status lists those that run); --http 127.0.0.1:0 takes one that is free", f.http)
	}
	if err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	open := l
	if l, err = f.security.listen(l, a.logger()); err != nil {
		open.Close()
		return nil, err
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		a.warnOfNetwork(l, f)
	}
	return l, nil
}

// warnOfNetwork says what those in the network can do who reach an address.
func (a *app) warnOfNetwork(l net.Listener, f front) {
	switch _, secure := l.(*encrypted); {
	case f.auth == authNone && f.clientCA == "":
		a.screen.Printf("warning: %s is not a loopback address: everyone who can reach it may call the tools; --auth keys lets in who has a key (junction key), --auth local who logs in (junction user).\n", l.Addr())
	case !secure && !strings.HasPrefix(f.public, "https:"):
		a.screen.Printf("warning: what goes to %s is not encrypted: keys, tokens and results can be read on their way; give --tls-cert and --tls-key, or, behind a proxy that encrypts, its address with --public-url.\n", l.Addr())
	}
	if len(f.hosts) == 0 && f.public == "" {
		a.screen.Printf("Clients reach it by its IP address; to let them use a name, add --allow-host NAME.\n")
	}
}

// endpoint is the URL by which clients reach an address.
func (f *front) endpoint(l net.Listener) string {
	switch origin := cmp.Or(f.public, f.authorization.URL); {
	case origin != "":
		return origin + endpointPath
	case l.Addr().Network() == "unix":
		return httpUnix + ":" + absolute(l.Addr().String())
	default:
		return f.origin(l) + endpointPath
	}
}

// origin is that of an address. All addresses of this machine are not one that a client can use: it gets a name that
// --allow-host has, or else the one on this machine.
func (f *front) origin(l net.Listener) string {
	scheme, host := "http://", l.Addr().String()
	if _, ok := l.(*encrypted); ok {
		scheme = "https://"
	}
	if at, is := everywhere(l); is {
		name := "127.0.0.1"
		if len(f.hosts) > 0 {
			name = f.hosts[0]
		}
		host = net.JoinHostPort(strings.Trim(name, "[]"), fmt.Sprint(at.Port))
	}
	return scheme + host
}

// everywhere reports whether a listener is at all addresses of this machine.
func everywhere(l net.Listener) (at *net.TCPAddr, is bool) {
	at, is = l.Addr().(*net.TCPAddr)
	return at, is && at.IP.IsUnspecified()
}

// serverLog is for what servers of net/http say of connections, such as that no TLS came.
func (a *app) serverLog() *log.Logger {
	return slog.NewLogLogger(a.logger().Handler(), slog.LevelWarn)
}

// serveHTTP serves h until ctx is done, then waits for running requests as long
// as a drain may take. Below its path there is what profile returns by name, if
// that is not nil.
func (a *app) serveHTTP(ctx context.Context, l net.Listener, f front, h mcp.Handler, access *access, profile func(name string) mcp.Handler) error {
	var principal func(*http.Request) (*mcp.Principal, error)
	if f.clientCA != "" {
		principal = certified
	}
	d := &doors{front: f, principal: principal, access: access, options: a.serveOptions(), profile: profile, open: map[string]endpointHandler{}}
	d.at(endpointPath, h)
	d.at(olderPath, h)
	server := &http.Server{Handler: d, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, ErrorLog: a.serverLog()}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		d.close()
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), mcp.DefaultDrainTimeout)
	defer cancel()
	err := d.shutdown(drain)
	if err := server.Shutdown(drain); err != nil {
		server.Close()
	}
	<-ended
	if errors.Is(err, context.DeadlineExceeded) {
		a.screen.Printf("junction: some requests were still running, and were cancelled\n")
	}
	return nil
}

// doors are the endpoints of one address, by path.
type doors struct {
	front   front
	options mcp.ServeOptions
	profile func(name string) mcp.Handler // nil: there are none
	// principal authenticates requests by what is below HTTP; nil: there is nothing.
	principal func(*http.Request) (*mcp.Principal, error)
	access    *access // who is let in by a key or a token; nil: that is not looked at

	mu     sync.Mutex
	open   map[string]endpointHandler
	closed bool
}

type endpointHandler interface {
	http.Handler
	Shutdown(ctx context.Context) error
	Close()
}

// ServeHTTP passes a request on to the endpoint of its path.
func (d *doors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if d.access != nil && d.access.serve(w, r) {
		return
	}
	if path == endpointPath || path == olderPath {
		d.at(path, nil).ServeHTTP(w, r)
		return
	}
	_, name, found := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	var h mcp.Handler
	if found && name != "" && d.profile != nil && (path == endpointPath+"/"+name || path == olderPath+"/"+name) {
		h = d.profile(name)
	}
	e := d.at(path, h)
	if h == nil && e != nil { // the profile is not there any more
		d.mu.Lock()
		delete(d.open, path)
		d.mu.Unlock()
		e.Close()
		e = nil
	}
	if e == nil && d.profile != nil && strings.HasPrefix(path, endpointPath+"/") {
		http.Error(w, fmt.Sprintf("there is no profile %q; the endpoint is %s, and that of a profile of the configuration %s/NAME", name, endpointPath, endpointPath), http.StatusNotFound)
		return
	}
	if e == nil {
		http.Error(w, "there is nothing at this path; the endpoint is "+endpointPath, http.StatusNotFound)
		return
	}
	e.ServeHTTP(w, r)
}

// at is the endpoint of a path, which is made for h where there is none; nil where there can be none.
func (d *doors) at(path string, h mcp.Handler) endpointHandler {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.open[path]
	if e != nil || h == nil || d.closed {
		return e
	}
	f, principal := d.front, d.principal
	var challenge func(needs []string) string
	if d.access != nil {
		principal, challenge = d.access.at(path)
	}
	if strings.HasPrefix(path, olderPath) {
		e = httpsse.HandlerWith(h, httpsse.Options{ServeOptions: d.options, Principal: principal, AllowedHosts: f.hosts, AllowedOrigins: f.origins})
	} else {
		e = streamable.HandlerWith(h, streamable.Options{ServeOptions: d.options, Principal: principal, Challenge: challenge, AllowedHosts: f.hosts, AllowedOrigins: f.origins})
	}
	if d.access != nil && d.access.verifier != nil && d.access.exchanges != nil {
		e = carried{e, auth.Carry(e), &d.access.exchanges.some}
	}
	d.open[path] = e
	return e
}

// end makes no more endpoints, and returns those that there are.
func (d *doors) end() []endpointHandler {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return slices.Collect(maps.Values(d.open))
}

// shutdown ends all in order, at the same time.
func (d *doors) shutdown(ctx context.Context) error {
	all := d.end()
	ended := make(chan error, len(all))
	for _, e := range all {
		go func() { ended <- e.Shutdown(ctx) }()
	}
	var errs []error
	for range all {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

func (d *doors) close() {
	for _, e := range d.end() {
		e.Close()
	}
}

// serveOptions are those of what serves clients.
func (a *app) serveOptions() mcp.ServeOptions {
	o := mcp.ServeOptions{Logger: a.logger()}
	if a.traffic != nil {
		o.Wire = a.traffic.Clients()
	}
	return o
}

// serveStdio serves h to the one client on standard input and output.
func (a *app) serveStdio(ctx context.Context, h mcp.Handler) error {
	o := a.serveOptions()
	if a.stdin == os.Stdin && a.stdout == os.Stdout {
		return stdio.ServeWith(ctx, h, o)
	}
	in, ok := a.stdin.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(a.stdin)
	}
	return stdio.ServeStreams(ctx, h, in, a.stdout, o)
}

// orderly is err, except that the end which somebody asked for is none.
func orderly(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && (err == nil || errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		if errors.Is(cause, errInterrupted) {
			return nil
		}
		return cause
	}
	return err
}
