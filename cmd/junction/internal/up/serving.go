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
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config/settings"
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
	usesTime          = 5 * time.Second  // for writing when; another program may hold the file
)

// A Front describes where a command serves: at an address, or on standard input and output.
type Front struct {
	settings.Listen
	Flags  *SettingFlags
	Stdio  bool
	Auth   []string // ways to authenticate clients, without AuthNone, each once
	drain  Drain
	limits settings.GatewayLimits
	shared *shared                // with other replicas
	owning *owning                // of instances that run at one replica; nil if each replica runs them
	events *streamable.EventLog   // events of sessions in the shared store; nil without one
	log    func() *audit.Log      // returns the audit log, or nil if there is none; nil for commands that write none
	doors  *atomic.Pointer[Doors] // gets the endpoints, if not nil

	// authorization holds the settings for tokens. from is their file, or empty, and folder its folder.
	authorization settings.Authorization
	from, folder  string
	roles         map[string]settings.Role
}

// FrontMembers returns the settings that commands other than up have as flags.
func FrontMembers() []string {
	return []string{"listen.http", "listen.tls", "listen.publicURL", "listen.hosts", "listen.origins", "listen.trustedProxies", "listen.proxyProtocol", "auth", "drain"}
}

// LogMembers returns the settings of the log.
func LogMembers() []string { return []string{"telemetry.logFormat", "telemetry.logLevel"} }

// Define defines --stdio, and the flags of the settings at some paths; without paths, all.
func (f *Front) Define(flags *pflag.FlagSet, members ...string) {
	f.Flags = NewSettingFlags(flags, members...)
	flags.Lookup("auth").DefValue = settings.AuthNone
	flags.BoolVar(&f.Stdio, "stdio", false, "serve on standard input and output")
}

// Prepare takes the flags of a command without settings, and starts the log. It returns an error if
// they are not valid.
func (f *Front) Prepare(a *cli.App) error {
	s, err := f.Flags.Apply(new(settings.Settings))
	if err != nil {
		return err
	}
	f.take(s, "")
	a.StartLog(s.Telemetry.LogFormat, s.Telemetry.LogLevel)
	return f.check()
}

// take sets f to the settings. from is their file.
func (f *Front) take(s *settings.Settings, from string) {
	f.Listen, f.Auth = s.Listen, s.Ways()
	f.PublicURL = cmp.Or(f.PublicURL, s.Authorization.URL)
	f.TrustedProxies = slices.Concat(f.TrustedProxies, s.Authorization.TrustedProxies)
	f.authorization, f.from, f.folder, f.roles, f.limits = s.Authorization, from, filepath.Dir(from), s.Roles, s.Limits
	f.drain = f.drainOf(s.Drain)
}

// check returns an error for settings that do not go together.
func (f *Front) check() error {
	switch {
	case f.Stdio && len(f.Auth) > 0:
		return f.Flags.wrong("%s goes with %s: on standard input and output the only client is the program that started it", "auth", "listen.http")
	case f.Flags.Given("listen.publicURL") != "" && len(f.Auth) == 0:
		return f.Flags.wrong("%s goes with %s", "listen.publicURL", "auth")
	case f.TLS.ACME != nil && f.TLS.Cert != "":
		return f.Flags.wrong("%s and %s: give only one", "listen.tls.cert", "listen.tls.acme")
	case f.TLS.ACME != nil && strings.HasPrefix(f.HTTP, settings.UnixPrefix):
		return f.Flags.wrong("%s goes with an address, not with a socket: %s", "listen.tls.acme", "listen.http")
	case (f.TLS.Cert == "") != (f.TLS.Key == ""):
		return f.Flags.wrong("%s and %s go together", "listen.tls.cert", "listen.tls.key")
	case f.TLS.ClientCA != "" && !f.TLS.Encrypts():
		return f.Flags.wrong("%s goes with %s and %s", "listen.tls.clientCA", "listen.tls.cert", "listen.tls.key")
	case f.TLS.Revoked != "" && f.TLS.ClientCA == "":
		return f.Flags.wrong("%s goes with %s", "listen.tls.clientRevoked", "listen.tls.clientCA")
	case f.Stdio && f.TLS.Encrypts():
		return f.Flags.wrong("%s goes with %s", "listen.tls.cert", "listen.http")
	case f.Stdio && f.HTTP != "":
		return f.Flags.wrong("%s and --stdio: give only one", "listen.http")
	case f.AdminInsecure && f.Admin == "":
		return f.Flags.wrong("%s goes with %s", "listen.adminInsecure", "listen.admin")
	}
	return nil
}

// trusted returns the trusted proxies.
func (f *Front) trusted() (proxied.Trusted, error) {
	return proxied.Parse(f.TrustedProxies)
}

// Serve serves h until ctx is done or the client on standard input disconnects.
func Serve(ctx context.Context, a *cli.App, f Front, h mcp.Handler) error {
	if f.Stdio {
		return serveStdio(ctx, a, f, h)
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
	if f.ProxyProtocol {
		trusted, err := f.trusted()
		if err == nil && trusted.IsEmpty() {
			err = f.Flags.wrong("%s goes with %s, which names the proxies", "listen.proxyProtocol", "listen.trustedProxies")
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
	if l, err = Encrypt(f.TLS, a.Place, l, a.Logger(), f.tlsMember); err != nil {
		open.Close()
		return nil, err
	}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		warnOfNetwork(a, l, f)
	}
	return l, nil
}

// tlsMember returns the name of a member of listen.tls for users: the flag that gave it, or else the
// setting.
func (f *Front) tlsMember(member string) string {
	return cmp.Or(f.Flags.Given("listen.tls."+member), "listen.tls."+member)
}

// warnOfNetwork warns about everything that other machines of the network can do.
func warnOfNetwork(a *cli.App, l net.Listener, f Front) {
	switch _, secure := l.(*Encrypted); {
	case !f.KnowsCallers():
		a.Screen.Printf("warning: %s is not a loopback address: every client that can reach it may call the tools; --auth keys requires a key (junction key), --auth local a login (junction user).\n", l.Addr())
	case !secure && !strings.HasPrefix(f.PublicURL, "https:"):
		a.Screen.Printf("warning: traffic to %s is not encrypted, and others can read keys, tokens and results; give --tls-cert and --tls-key, or --public-url with the https address of a proxy.\n", l.Addr())
	}
	if len(f.Hosts) == 0 && f.PublicURL == "" {
		a.Screen.Printf("Clients reach it by its IP address; to let them use a name, add --allow-host NAME.\n")
	}
}

// Endpoint returns the URL where clients reach a listener.
func (f *Front) Endpoint(l net.Listener) string {
	switch {
	case f.PublicURL != "":
		return f.PublicURL + launch.EndpointPath
	case l.Addr().Network() == "unix":
		return launch.HTTPUnix + ":" + filename.Absolute(l.Addr().String())
	default:
		return f.origin(l) + launch.EndpointPath
	}
}

// origin returns the origin of a listener.
func (f *Front) origin(l net.Listener) string {
	_, secure := l.(*Encrypted)
	return f.originAt(l.Addr(), secure)
}

// originAt returns the origin of an address, which may be encrypted. Clients cannot connect to a wildcard address, so for
// that the host is the first one of --allow-host, or else the loopback address.
func (f *Front) originAt(addr net.Addr, secure bool) string {
	scheme, host := "http://", addr.String()
	if secure {
		scheme = "https://"
	}
	if at, is := WildcardAddr(addr); is {
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
	if f.TLS.ClientCA != "" {
		principal = certified
	}
	options := ReplicaOptions(ctx, a)
	if f.shared != nil {
		options.StateKeysFrom = f.shared.keys
	}
	leaving := &departure{ring: f.shared.ring()}
	d := &Doors{Front: f, leaving: leaving.isLeaving, principal: principal, Access: access, options: options, Profile: profile, Open: map[string]EndpointHandler{}}
	d.NewNowhere()
	if f.owning != nil {
		d.Open[instancePath] = f.owning.serve(f.limited(mcp.ServeOptions{Logger: options.Logger, StateKeysFrom: options.StateKeysFrom}))
	}
	d.At(launch.EndpointPath, h)
	d.At(OlderPath, h)
	if f.doors != nil {
		f.doors.Store(d)
	}
	trusted, err := f.trusted()
	if err != nil {
		return err
	}
	var handler http.Handler = d
	if e, is := l.(*Encrypted); is {
		handler = e.Certificate.WithoutRevoked(handler, f.log)
	}
	leaving.next, leaving.refuse = trusted.Handler(handler), d.Closed(h)
	server := &http.Server{Handler: leaving, ReadHeaderTimeout: cmp.Or(f.limits.HeaderTime, readHeaderTimeout), IdleTimeout: idleTimeout, ErrorLog: a.ServerLog(), ConnContext: leaving.connContext}
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
	leaving.begin()
	farewell := f.owning.leave()
	WaitBeforeDrain(ctx, a, f.drain)
	farewell()
	leaving.refuseNew()
	killed, end := untilKilled(context.WithoutCancel(ctx), a)
	defer end()
	drain, cancel := context.WithTimeout(killed, f.drain.Time)
	defer cancel()
	d.settle(drain)
	err = d.shutdown(drain)
	last, cancel := context.WithTimeout(killed, LastResponseTime) // for the responses to cancelled requests
	defer cancel()
	if err := server.Shutdown(last); err != nil {
		server.Close()
	}
	<-ended
	if err != nil && drain.Err() != nil {
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

	leaving func() bool  // reports whether clients should connect anew; may be nil
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
	if d.Front.owning != nil && strings.HasPrefix(path, replicaPath) {
		d.Front.owning.serveHTTP(w, r)
		return
	}
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
	return streamable.Options{Leaving: d.leaving, ServeOptions: d.Front.limited(d.options), MaxSessions: d.Front.limits.Sessions, SessionTimeout: d.Front.limits.SessionTime, AllowedHosts: d.Front.AllowedHosts(), AllowedOrigins: d.Front.Origins, CORS: len(d.Front.Origins) > 0}
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
			o.SharedSessions, o.Peers, o.DialPeerTLS, o.EventLog = path, shared.peersAt(path), shared.dialTLS, d.Front.events
			o.SharedTasks = d.Front.events != nil // a store has both
		}
		e = streamable.HandlerWith(h, o)
	}
	if d.Access != nil && d.Access.Verifier != nil && d.Access.Exchanges != nil {
		e = carried{e, auth.KeepToken(e), &d.Access.Exchanges.some}
	}
	d.Open[path] = e
	return e
}

// limited returns options with the size of a message that the settings allow.
func (f *Front) limited(o mcp.ServeOptions) mcp.ServeOptions {
	if size, ok := settings.Size(f.limits.Message); ok {
		o.MaxMessage = int(size)
	}
	return o
}

// endpoints returns the present endpoints.
func (d *Doors) endpoints() []EndpointHandler {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.Open))
}

// Closed returns a handler that refuses all requests, as an endpoint does that has shut down.
func (d *Doors) Closed(h mcp.Handler) http.Handler {
	e := streamable.HandlerWith(h, d.endpointOptions())
	e.Close()
	return e
}

// settle waits until the endpoints are idle, or ctx is done. Endpoints for HTTP+SSE, whose clients
// cannot go elsewhere, do not wait.
func (d *Doors) settle(ctx context.Context) {
	var settling sync.WaitGroup
	for _, e := range d.endpoints() {
		if s, is := e.(settler); is {
			settling.Go(func() { _ = s.Settle(ctx) })
		}
	}
	settling.Wait()
}

// A settler is an endpoint that can wait until it is idle.
type settler interface {
	Settle(ctx context.Context) error
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
func serveStdio(ctx context.Context, a *cli.App, f Front, h mcp.Handler) error {
	o := f.limited(ServeOptions(a))
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
