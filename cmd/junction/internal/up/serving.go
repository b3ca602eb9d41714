package up

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/admission"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/proxied"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/unreadbody"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/stdio"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/spf13/pflag"
)

const (
	OlderPath         = "/sse" // path of HTTP+SSE, for clients without a newer transport
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	formTime          = 30 * time.Second // time to send the body of a request for a login
	usesPause         = time.Minute      // time between two checks whether keys were used
)

// A Front describes where a command serves: at an address, or on standard input and output.
type Front struct {
	HTTP    string
	Stdio   bool
	Hosts   []string // host names under which clients may reach the address
	Origins []string // origins of web pages that may use the address
	Auth    string   // AuthNone, or the ways to authenticate clients
	Public  string   // origin under which clients reach the address; empty means the address itself
	proxies []string // networks of proxies whose reports of client addresses are trusted
	header  bool     // whether these proxies send headers of the PROXY protocol
	Security
	drain  Drain
	shared *shared           // with other replicas
	log    func() *audit.Log // returns the audit log, or nil if there is none; nil for commands that write none

	// authorization holds the settings for tokens. folder is the folder of their file.
	authorization settings.Authorization
	folder        string
	roles         map[string]settings.Role
}

func (f *Front) Flags(flags *pflag.FlagSet, byDefault string) {
	flags.StringVar(&f.HTTP, "http", "", "serve at `HOST:PORT` or unix:FILE, path "+launch.EndpointPath+" ("+OlderPath+" for clients that know only HTTP+SSE)"+byDefault)
	flags.StringSliceVar(&f.Hosts, "allow-host", nil, "with --http: let clients use this host `NAME`, in addition to localhost and its address")
	flags.StringSliceVar(&f.Origins, "allow-origin", nil, "with --http: let web pages of this `ORIGIN` use it, such as https://example.com")
	f.Security.flags(flags)
	f.drain.Flags(flags)
	flags.StringVar(&f.Auth, "auth", AuthNone, "with --http: admit clients by `none|keys|local|URL`: all clients; those with a key of junction key; users of junction user, who log in here (local); or those with a token of the authorization server at a URL; several with commas")
	flags.StringVar(&f.Public, "public-url", "", "with --auth: the `ORIGIN` that clients and browsers use, such as https://tools.example.com (default its address)")
	flags.StringSliceVar(&f.proxies, "trusted-proxy", nil, "with --http: take the address of a client from X-Forwarded-For or Forwarded of proxies in this `NETWORK`, such as 10.0.0.0/8, at this address, or with unix at the socket")
	flags.BoolVar(&f.header, "proxy-protocol", false, "with --trusted-proxy: these proxies begin each connection with a header of the PROXY protocol, version 1 or 2")
	flags.BoolVar(&f.Stdio, "stdio", false, "serve on standard input and output")
}

// Check returns an error if the flags are not valid.
func (f *Front) Check() error {
	if err := f.checkAuth(); err != nil {
		return err
	}
	if f.Stdio && f.Auth != AuthNone {
		return cli.Usagef("--auth goes with --http: on standard input and output the only client is the program that started it")
	}
	if err := cmp.Or(f.Security.check(), f.drain.Check()); err != nil {
		return err
	}
	if _, err := proxied.Parse(f.proxies); err != nil {
		return cli.Usagef("--trusted-proxy: %w", err)
	}
	if f.Stdio && f.Cert != "" {
		return cli.Usagef("--tls-cert goes with --http")
	}
	if f.HTTP == "" {
		return nil
	}
	if f.Stdio {
		return cli.Usagef("--http and --stdio: give only one")
	}
	path, isFile := strings.CutPrefix(f.HTTP, unixPrefix)
	if isFile && path != "" {
		return nil
	}
	_, port, err := net.SplitHostPort(f.HTTP)
	if err == nil && !isFile {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || isFile {
		return cli.Usagef("--http: expected HOST:PORT, such as 127.0.0.1:7717, or unix:FILE, got %q", f.HTTP)
	}
	return nil
}

// trusted returns the trusted proxies of the flags and the settings.
func (f *Front) trusted() (proxied.Trusted, error) {
	return proxied.Parse(append(slices.Clone(f.authorization.TrustedProxies), f.proxies...))
}

// Serve serves h until ctx is done or the client on standard input disconnects.
func Serve(ctx context.Context, a *cli.App, f Front, h mcp.Handler) error {
	if f.Stdio {
		return serveStdio(ctx, a, h)
	}
	l, err := listen(ctx, a, f)
	if err != nil {
		return err
	}
	defer l.Close()
	access, err := openAccess(ctx, a, l, f, nil)
	if err != nil {
		return err
	}
	a.Screen.Printf("Serving at %s\n", f.Endpoint(l))
	return serveHTTP(ctx, a, l, f, h, access, nil)
}

// listen listens at --http. It prints a warning if other machines can reach the address.
func listen(ctx context.Context, a *cli.App, f Front) (net.Listener, error) {
	l, err := ListenAt(a.Place, f.HTTP)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("--http %s: this address is in use%s; --http 127.0.0.1:0 takes one that is free", f.HTTP, usedBy(ctx, a, f))
	}
	if err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	open := l
	_, isTCP := l.(*net.TCPListener)
	if f.header || f.authorization.ProxyProtocol {
		trusted, err := f.trusted()
		if err == nil && trusted.IsEmpty() {
			err = cli.Usagef("--proxy-protocol, or proxyProtocol in settings, goes with --trusted-proxy or trustedProxies, which names the proxies")
		}
		if err != nil {
			open.Close()
			return nil, err
		}
		l = trusted.Listen(l, a.Logger())
		open = l
	}
	if isTCP {
		l = LimitConnections(l)
	}
	if l, err = f.Security.Listen(a.Place, l, a.Logger()); err != nil {
		open.Close()
		return nil, err
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		warnOfNetwork(a, l, f)
	}
	return l, nil
}

// warnOfNetwork warns about everything that other machines of the network can do.
func warnOfNetwork(a *cli.App, l net.Listener, f Front) {
	switch _, secure := l.(*Encrypted); {
	case f.Auth == AuthNone && f.ClientCA == "":
		a.Screen.Printf("warning: %s is not a loopback address: every client that can reach it may call the tools; --auth keys requires a key (junction key), --auth local a login (junction user).\n", l.Addr())
	case !secure && !strings.HasPrefix(f.Public, "https:"):
		a.Screen.Printf("warning: traffic to %s is not encrypted, and others can read keys, tokens and results; give --tls-cert and --tls-key, or --public-url with the https address of a proxy.\n", l.Addr())
	}
	if len(f.Hosts) == 0 && f.Public == "" {
		a.Screen.Printf("Clients reach it by its IP address; to let them use a name, add --allow-host NAME.\n")
	}
}

// Endpoint returns the URL where clients reach a listener.
func (f *Front) Endpoint(l net.Listener) string {
	switch origin := cmp.Or(f.Public, f.authorization.URL); {
	case origin != "":
		return origin + launch.EndpointPath
	case l.Addr().Network() == "unix":
		return launch.HTTPUnix + ":" + filename.Absolute(l.Addr().String())
	default:
		return f.origin(l) + launch.EndpointPath
	}
}

// origin returns the origin of a listener. Clients cannot connect to a wildcard address, so for
// that the host is the first one of --allow-host, or else the loopback address.
func (f *Front) origin(l net.Listener) string {
	scheme, host := "http://", l.Addr().String()
	if _, ok := l.(*Encrypted); ok {
		scheme = "https://"
	}
	if at, is := WildcardAddr(l); is {
		name := "127.0.0.1"
		if len(f.Hosts) > 0 {
			name = f.Hosts[0]
		}
		host = net.JoinHostPort(strings.Trim(name, "[]"), fmt.Sprint(at.Port))
	}
	return scheme + host
}

// serveHTTP serves h until ctx is done, and then waits for running requests within the times of the
// drain. If profile is not nil, it returns the handlers of profiles by name.
func serveHTTP(ctx context.Context, a *cli.App, l net.Listener, f Front, h mcp.Handler, access *Access, profile func(name string) mcp.Handler) error {
	var principal func(*http.Request) (*mcp.Principal, error)
	if f.ClientCA != "" {
		principal = certified
	}
	options := ReplicaOptions(ctx, a)
	if f.shared != nil {
		options.StateKeysFrom = f.shared.keys
	}
	d := &Doors{Front: f, principal: principal, Access: access, options: options, Profile: profile, Open: map[string]EndpointHandler{}}
	d.NewNowhere()
	d.At(launch.EndpointPath, h)
	d.At(OlderPath, h)
	trusted, err := f.trusted()
	if err != nil {
		return err
	}
	var handler http.Handler = d
	if e, is := l.(*Encrypted); is {
		handler = e.Certificate.WithoutRevoked(handler, f.log)
	}
	server := &http.Server{Handler: trusted.Handler(handler), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, ErrorLog: a.ServerLog(), ConnContext: admission.ConnContext}
	if _, secure := l.(*Encrypted); !secure { // a proxy in front may parse heads of requests in another way
		l = HeadListener{l}
		WatchHeads(server)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	defer access.saveUses(context.WithoutCancel(ctx), true)
	for uses := time.Tick(usesPause); ctx.Err() == nil; {
		select {
		case err := <-ended:
			d.Close()
			return err
		case <-uses:
			access.saveUses(ctx, false)
		case <-ctx.Done():
		}
	}
	WaitBeforeDrain(ctx, a, f.drain)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.drain.Time)
	defer cancel()
	err = d.shutdown(drain)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), LastResponseTime) // for the responses to cancelled requests
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		server.Close()
	}
	<-ended
	if errors.Is(err, context.DeadlineExceeded) {
		a.Screen.Printf("junction: some requests were still running and were cancelled\n")
	}
	return nil
}

// Doors holds the endpoints of one address, by path.
type Doors struct {
	Front   Front
	options mcp.ServeOptions
	Profile func(name string) mcp.Handler // returns the handler of a profile; nil if there are no profiles
	// principal authenticates requests by client certificate; nil without such certificates.
	principal func(*http.Request) (*mcp.Principal, error)
	Access    *Access // authenticates requests by key or token; nil if clients need neither

	nowhere http.Handler // responds at all other paths

	mu     sync.Mutex
	Open   map[string]EndpointHandler
	closed bool
}

type EndpointHandler interface {
	http.Handler
	Shutdown(ctx context.Context) error
	Close()
}

// ServeHTTP passes a request to the endpoint at its path.
func (d *Doors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := pathOf(r)
	if d.Access == nil && d.principal == nil {
		r = AdmitAfterBody(r)
	}
	if d.Access != nil && !isEndpoint(path) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(formTime))
		}
		if d.Access.serve(w, r) {
			return
		}
	}
	if path == launch.EndpointPath || path == OlderPath {
		d.At(path, nil).ServeHTTP(w, r)
		return
	}
	_, name, found := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	var h mcp.Handler
	if found && name != "" && d.Profile != nil && (path == launch.EndpointPath+"/"+name || path == OlderPath+"/"+name) {
		h = d.Profile(name)
	}
	e := d.At(path, h)
	if h == nil && e != nil { // the profile no longer exists
		d.mu.Lock()
		delete(d.Open, path)
		d.mu.Unlock()
		e.Close()
		e = nil
	}
	if e == nil {
		unreadbody.Close(w, r)
		d.nowhere.ServeHTTP(w, r)
		return
	}
	e.ServeHTTP(w, r)
}

// isEndpoint reports whether an endpoint is, or could be, at a path. Endpoints set their own
// deadlines.
func isEndpoint(path string) bool {
	for _, base := range []string{launch.EndpointPath, OlderPath} {
		if path == base || strings.HasPrefix(path, base+"/") {
			return true
		}
	}
	return false
}

// pathOf returns the path of a request. It removes a final slash, which some clients and proxies
// append to the path of an endpoint.
func pathOf(r *http.Request) string {
	if r.URL.RawPath != "" { // the path has an escaped slash, which is part of a name
		return r.URL.Path
	}
	trimmed := strings.TrimSuffix(r.URL.Path, "/")
	for _, endpoint := range []string{launch.EndpointPath, OlderPath, MetadataPath} {
		if below, found := strings.CutPrefix(trimmed, endpoint); found && (below == "" || below[0] == '/') {
			return trimmed
		}
	}
	return r.URL.Path
}

// NewNowhere makes the handler of all other paths. It sends CORS headers, so that allowed web pages
// can read the error.
func (d *Doors) NewNowhere() {
	o := d.endpointOptions()
	o.Principal = func(r *http.Request) (*mcp.Principal, error) { return nil, nothingAt{r.URL.Path, d.Profile != nil} }
	d.nowhere = streamable.HandlerWith(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{}, errors.ErrUnsupported
	}), o)
}

// A nothingAt is the error for a path without an endpoint.
type nothingAt struct {
	path     string
	profiles bool // whether profiles may have endpoints
}

func (n nothingAt) Error() string {
	if name, found := strings.CutPrefix(n.path, launch.EndpointPath+"/"); found && n.profiles {
		return fmt.Sprintf("there is no profile %q; the endpoint is %s, or %s/NAME for a profile of the configuration", name, launch.EndpointPath, launch.EndpointPath)
	}
	return "there is nothing at this path; the endpoint is " + launch.EndpointPath
}

// ServeHTTP implements [http.Handler].
func (n nothingAt) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, n.Error(), http.StatusNotFound)
}

// endpointOptions returns the options of all endpoints. They allow the web pages of --allow-origin
// to read responses.
func (d *Doors) endpointOptions() streamable.Options {
	return streamable.Options{ServeOptions: d.options, AllowedHosts: d.Front.Hosts, AllowedOrigins: d.Front.Origins, CORS: len(d.Front.Origins) > 0}
}

// At returns the endpoint at a path. If there is none, it makes one for h. It returns nil if h is
// nil or d is closed.
func (d *Doors) At(path string, h mcp.Handler) EndpointHandler {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.Open[path]
	if e != nil || h == nil || d.closed {
		return e
	}
	o := d.endpointOptions()
	o.Principal = d.principal
	if d.Access != nil {
		o.Principal, o.Challenge = d.Access.At(path)
	}
	if o.Principal != nil {
		o.Principal = AdmitAuthenticated(o.Principal)
	}
	if strings.HasPrefix(path, OlderPath) {
		e = httpsse.HandlerWith(h, httpsse.Options{ServeOptions: o.ServeOptions, Principal: o.Principal, AllowedHosts: o.AllowedHosts, AllowedOrigins: o.AllowedOrigins, CORS: o.CORS})
	} else {
		if shared := d.Front.shared; shared != nil {
			o.SharedSessions, o.Peers = path, shared.peersAt(path)
		}
		e = streamable.HandlerWith(h, o)
	}
	if d.Access != nil && d.Access.Verifier != nil && d.Access.Exchanges != nil {
		e = carried{e, auth.Carry(e), &d.Access.Exchanges.some}
	}
	d.Open[path] = e
	return e
}

// end prevents the creation of further endpoints, and returns the existing ones.
func (d *Doors) end() []EndpointHandler {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return slices.Collect(maps.Values(d.Open))
}

// shutdown shuts down all endpoints in parallel.
func (d *Doors) shutdown(ctx context.Context) error {
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

func (d *Doors) Close() {
	for _, e := range d.end() {
		e.Close()
	}
}

// serveStdio serves h to the one client on standard input and output.
func serveStdio(ctx context.Context, a *cli.App, h mcp.Handler) error {
	o := ServeOptions(a)
	if a.Stdin == os.Stdin && a.Stdout == os.Stdout {
		return stdio.ServeWith(ctx, h, o)
	}
	in, ok := a.Stdin.(io.ReadCloser)
	if !ok {
		in = io.NopCloser(a.Stdin)
	}
	return stdio.ServeStreams(ctx, h, in, a.Stdout, o)
}

// HintStdio prints a hint if up waits for a client on standard input and standard input is a
// terminal.
func HintStdio(a *cli.App, f Front) {
	if f.Stdio && a.Person != nil {
		a.Screen.Printf("Serving on standard input and output, for a client that starts this command; to serve at an address: --http 127.0.0.1:7717\n")
	}
}

// usedBy describes the process that uses the address of a front, as far as a request can find out.
func usedBy(ctx context.Context, a *cli.App, f Front) string {
	host, port, err := net.SplitHostPort(f.HTTP)
	if err != nil {
		return ""
	}
	if at := net.ParseIP(host); host == "" || at != nil && at.IsUnspecified() {
		host = "127.0.0.1"
	}
	url := "http://" + net.JoinHostPort(host, port) + launch.EndpointPath
	ups, _ := cli.Instances(ctx, a.Place) // an unreadable folder counts as empty
	for _, up := range ups {
		if up.Endpoint == url {
			return fmt.Sprintf(" by the junction up of process %d, in %s, which serves at %s", up.PID, a.Short(up.Folder), url)
		}
	}
	o := mcp.ClientOptions{Name: url, Revision: revision.Latest().Name, ConnectTimeout: cli.StatusTimeout, Logger: a.Logger()}
	c, err := mcp.DialWith(ctx, streamable.ClientWith(url, streamable.ClientOptions{Logger: a.Logger()}), o)
	if err != nil {
		return ", perhaps by another junction (junction status lists the running ones)"
	}
	defer c.Close()
	if s := c.Server(); s == nil || s.Name != "junction" {
		return " by another server of the Model Context Protocol, at " + url
	}
	return " by another junction at " + url + ", which runs with another home folder or as another user, so junction status does not list it"
}
