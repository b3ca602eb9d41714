package inspect

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
)

const (
	maxConnections = 16               // maximum number of connections
	maxBody        = 4 << 20          // maximum bytes of a request of a page
	idleTime       = 15 * time.Minute // time after which a connection is closed if no page follows it
	maxDescription = 256 << 10        // maximum bytes of a page's description of a server
)

// A Server is the server that a page wants to connect to. It has a name from the configuration, a
// URL or a command.
type Server struct {
	Name    string            `json:"server,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // only with URL
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"` // Args, Env and Dir: only with Command
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"`
	// Revision, if set, is the only revision to use.
	Revision string `json:"revision,omitempty"`
}

// An Opened is a server that [Options.Open] has found.
type Opened struct {
	// Name is the server's name in a configuration; without a configuration, the name of its
	// transport.
	Name string
	// Origin tells users where the server is defined.
	Origin    string
	Transport mcp.Transport
	// Client contains the options of the connection. The inspector sets its callbacks, middleware
	// and Wire.
	Client mcp.ClientOptions
	// Entry describes the server without secrets.
	Entry Entry
	// Explain describes for users why connecting failed or why a connection ended. The parameter
	// stray is the first line on a program's standard output that was not a message.
	Explain func(ctx context.Context, err error, stray string) Fault
	// Login logs the user in; it is nil if that is not possible. It calls visit with the URL to
	// open, and returns a description of the result.
	Login func(ctx context.Context, scopes []string, visit func(page string)) (string, error)
}

// A Fault is the cause of a failure, with its remedy.
type Fault struct {
	// Link is the part that failed, by its name in junction doctor.
	Link   string `json:"link,omitempty"`
	Cause  string `json:"cause"`
	Remedy string `json:"remedy,omitempty"`
	// Login is set if a login would solve the problem.
	Login bool `json:"login,omitempty"`
}

// Hooks observe the layers below a connection. They must not block.
type Hooks struct {
	// HTTP wraps the transport of requests to the server or, if authorization is set, of requests
	// to its authorization servers.
	HTTP func(next http.RoundTripper, authorization bool) http.RoundTripper
	// Stderr gets the lines of a program's standard error. Stdout gets the lines of its standard
	// output that are not messages.
	Stderr, Stdout func(line string)
}

// Options defines how servers are reached.
type Options struct {
	// Open finds a server. Its error, which may be a [*FaultError], tells why the server cannot be
	// used.
	Open func(ctx context.Context, s Server, hooks Hooks) (*Opened, error)
	// Once returns a path on the console's origin at which h handles one request of a frame. The
	// console's own path must not be derivable from it. If Once is nil, the views of servers are
	// not shown.
	Once func(h http.Handler) (path string)
}

// A FaultError is an error that has a Fault.
type FaultError struct{ Fault }

// Error returns the cause.
func (e *FaultError) Error() string { return e.Cause }

// An Inspector manages the connections of pages. Its methods are safe for concurrent use.
type Inspector struct {
	options Options
	ctx     context.Context
	end     context.CancelCauseFunc
	running sync.WaitGroup // one for each connection

	mu    sync.Mutex
	all   []*connection // in the order in which they were made
	ended bool
}

// New returns an Inspector without connections. The caller must call Close when done.
func New(o Options) *Inspector {
	i := &Inspector{options: o}
	i.ctx, i.end = context.WithCancelCause(context.Background())
	return i
}

// Close ends all connections and waits for their end.
func (i *Inspector) Close() {
	i.mu.Lock()
	i.ended = true
	all := slices.Clone(i.all)
	i.mu.Unlock()
	i.end(errors.New("the console ends"))
	for _, c := range all {
		c.close()
	}
	i.running.Wait()
}

// Mount calls handle for each route of the API, with its pattern, such as "GET /connections/{id}".
func (i *Inspector) Mount(handle func(pattern string, h http.Handler)) {
	handle("POST /connections", reply.With(i.begin))
	handle("GET /connections", reply.With(i.list))
	for pattern, f := range map[string]func(*connection, *http.Request) (any, error){
		"GET /connections/{id}": func(c *connection, _ *http.Request) (any, error) { return c.view(), nil },
		"DELETE /connections/{id}": func(c *connection, _ *http.Request) (any, error) {
			c.close()
			return nil, nil
		},
		"POST /connections/{id}/connect":        (*connection).reconnect,
		"POST /connections/{id}/requests":       (*connection).ask,
		"GET /connections/{id}/requests":        (*connection).history,
		"GET /connections/{id}/requests/{n}":    (*connection).request,
		"DELETE /connections/{id}/requests/{n}": (*connection).cancel,
		"POST /connections/{id}/answers/{q}":    (*connection).answer,
		"GET /connections/{id}/questions":       (*connection).openQuestions,
		"PUT /connections/{id}/subscriptions":   (*connection).subscribe,
		"PUT /connections/{id}/loglevel":        (*connection).setLevel,
		"GET /connections/{id}/copy/{n}":        (*connection).copies,
		"POST /connections/{id}/login":          (*connection).login,
	} {
		handle(pattern, reply.With(func(r *http.Request) (any, error) {
			c, err := i.find(r)
			if err != nil {
				return nil, err
			}
			defer c.use()()
			return f(c, r)
		}))
	}
	handle("GET /connections/{id}/events", i.serving((*connection).stream))
	handle("GET /connections/{id}/app", i.serving((*connection).app))
}

// find returns the connection that the path of a request names.
func (i *Inspector) find(r *http.Request) (*connection, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, c := range i.all {
		if c.id == r.PathValue("id") {
			return c, nil
		}
	}
	return nil, reply.Refuse(http.StatusNotFound, "there is no such connection: it ended, or the console was started again")
}

// begin makes a connection for a page.
func (i *Inspector) begin(r *http.Request) (any, error) {
	var s Server
	if err := decode(r, &s, maxDescription); err != nil {
		return nil, err
	}
	c, err := i.connect(s)
	if err != nil {
		return nil, err
	}
	return reply.Accepted{Body: c.view()}, nil
}

// Begin makes a connection before a page requests it, and returns its id in the API. It returns an
// error only if s is invalid; events report whether connecting succeeds.
func (i *Inspector) Begin(s Server) (id string, err error) {
	c, err := i.connect(s)
	if err != nil {
		return "", err
	}
	return c.id, nil
}

func (i *Inspector) connect(s Server) (*connection, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	i.mu.Lock()
	if i.ended || len(i.all) >= maxConnections {
		i.mu.Unlock()
		return nil, reply.Refuse(http.StatusTooManyRequests, "%d connections are open, and there are at most %d: close one", maxConnections, maxConnections)
	}
	c := newConnection(i, strings.ToLower(rand.Text()[:10]), s)
	i.all = append(i.all, c)
	i.running.Add(1)
	i.mu.Unlock()
	c.start()
	return c, nil
}

func (s *Server) check() error {
	given := 0
	for _, one := range []string{s.Name, s.URL, s.Command} {
		if one != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return reply.Refuse(http.StatusBadRequest, `expected one of "server", "url" and "command"`)
	case s.URL == "" && len(s.Headers) > 0:
		return reply.Refuse(http.StatusBadRequest, `"headers" are for a "url"`)
	case s.Command == "" && (len(s.Args) > 0 || len(s.Env) > 0 || s.Dir != ""):
		return reply.Refuse(http.StatusBadRequest, `"args", "env" and "cwd" are for a "command"`)
	}
	return nil
}

// list returns descriptions of all connections.
func (i *Inspector) list(*http.Request) (any, error) {
	i.mu.Lock()
	all := slices.Clone(i.all)
	i.mu.Unlock()
	views := []view{}
	for _, c := range all {
		views = append(views, c.view())
	}
	return struct {
		Connections []view `json:"connections"`
	}{views}, nil
}

// serving returns a handler for a function that writes the response itself.
func (i *Inspector) serving(f func(c *connection, w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := i.find(r)
		if err == nil {
			defer c.use()()
			err = f(c, w, r)
		}
		if err != nil {
			reply.Error(w, http.StatusInternalServerError, err)
		}
	})
}

// decode decodes the body of a page's request, which has at most limit bytes.
func decode(r *http.Request, into any, limit int64) error {
	data, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return reply.Refuse(http.StatusBadRequest, "the request cannot be read: %v", err)
	}
	if int64(len(data)) > limit {
		return reply.Refuse(http.StatusRequestEntityTooLarge, "the request has more than %d bytes", limit)
	}
	if fault := jsonrpc.Valid(data, jsonrpc.Limits{}); fault != nil {
		return reply.Refuse(http.StatusBadRequest, "expected JSON: %s", fault.Message)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return reply.Refuse(http.StatusBadRequest, "%v", err)
	}
	return nil
}

// loginTime is the timeout of a login.
const loginTime = 5 * time.Minute

// A loginState is the state of a login.
type loginState struct {
	State  string `json:"state"` // begun, open, done or failed
	URL    string `json:"url,omitempty"`
	Detail string `json:"detail,omitempty"`
	Cause  string `json:"cause,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

// login logs the user in at the server, and then reconnects.
func (c *connection) login(r *http.Request) (any, error) {
	var in struct {
		Scopes []string `json:"scopes"`
	}
	if r.ContentLength != 0 {
		if err := decode(r, &in, maxDescription); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	var opened *Opened
	if c.attempt != nil {
		opened = c.attempt.opened
	}
	busy := c.signing
	if opened != nil && opened.Login != nil {
		c.signing = true
	}
	c.mu.Unlock()
	switch {
	case opened == nil || opened.Login == nil:
		return nil, reply.Refuse(http.StatusConflict, "a login is not possible: the server has no URL, or its headers have credentials")
	case busy:
		return nil, reply.Refuse(http.StatusConflict, "a login has begun already; its page is in the events")
	}
	if !c.spawn(func() { c.sign(opened, in.Scopes) }) {
		return nil, reply.Refuse(http.StatusConflict, "the connection ends")
	}
	return reply.Accepted{Body: loginState{State: "begun"}}, nil
}

func (c *connection) sign(opened *Opened, scopes []string) {
	ctx, cancel := context.WithTimeoutCause(c.ctx, loginTime, fmt.Errorf("no login within %v", loginTime))
	defer cancel()
	c.journal.add("login", loginState{State: "begun"})
	said, err := opened.Login(ctx, scopes, func(page string) {
		c.journal.add("login", loginState{State: "open", URL: page})
	})
	c.mu.Lock()
	c.signing = false
	c.mu.Unlock()
	if err != nil {
		failed := loginState{State: "failed", Cause: plaintext.Line(err.Error(), maxDetail), Remedy: "the requests above show which step failed, and why"}
		if known, is := errors.AsType[*FaultError](err); is {
			failed.Remedy = known.Remedy
		}
		c.journal.add("login", failed)
		return
	}
	c.journal.add("login", loginState{State: "done", Detail: plaintext.Line(said, maxDetail)})
	c.start()
}

// maxDomains is the maximum number of origins that a view may name for one purpose.
const maxDomains = 50

// app redirects a frame to a view of the server (MCP Apps). The address does not reveal the
// console's path. The policy of the view gives it an opaque origin in any frame, so that it can
// neither send nor read the console's cookie. It can reach only the origins that it declares.
func (c *connection) app(w http.ResponseWriter, r *http.Request) error {
	client, a, err := c.connectedTo()
	if err != nil {
		return err
	}
	if c.inspector.options.Once == nil {
		return reply.Refuse(http.StatusNotImplemented, "this console shows no views")
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), defaultTimeout, fmt.Errorf("no answer within %v", time.Duration(defaultTimeout)))
	defer cancel()
	uri := r.URL.Query().Get("uri")
	if !strings.HasPrefix(uri, apps.Scheme) || len(uri) > maxURI {
		return reply.Refuse(http.StatusBadRequest, `"uri": expected one that begins with %s`, apps.Scheme)
	}
	v, err := apps.Read(ctx, client, uri)
	if err != nil {
		return reply.Refuse(http.StatusBadGateway, "%v", err)
	}
	_, port, _ := net.SplitHostPort(r.Host)
	policy, err := policyOf(v.CSP, port, a.opened.Entry.isHere())
	if err != nil {
		return reply.Refuse(http.StatusUnprocessableEntity, "the view %s: %v", uri, err)
	}
	path := c.inspector.options.Once(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Del("X-Frame-Options") // the directive frame-ancestors replaces it
		h.Set("Content-Security-Policy", policy)
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		_, _ = w.Write([]byte(v.HTML)) // fails if the page was closed
	}))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, path, http.StatusSeeOther)
	return nil
}

// isHere reports whether the server is known to run on this machine.
func (e Entry) isHere() bool {
	u, err := url.Parse(e.URL)
	return e.Command != "" || err == nil && isLoopback(strings.ToLower(u.Hostname()))
}

// isLoopback reports whether a host may be this machine. It includes every host whose last label
// starts with a digit, because browsers parse a host that ends with a number as an IPv4 address.
func isLoopback(host string) bool {
	host = strings.TrimSuffix(host, ".")
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().IsLoopback() || address.Unmap().IsUnspecified()
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || last != "" && last[0] >= '0' && last[0] <= '9'
}

// policyOf returns the Content-Security-Policy of a view, according to the extension: the view can
// reach only the origins that it declares. The policy does not contain 'self', which would be the
// console. The parameter port is the port of the console; here is set if the server runs on this
// machine.
func policyOf(named *apps.CSP, port string, here bool) (string, error) {
	if named == nil {
		named = &apps.CSP{}
	}
	var resources, connects, frames, bases string
	for _, one := range []struct {
		into    *string
		what    string
		domains []string
	}{{&resources, "resourceDomains", named.Resource}, {&connects, "connectDomains", named.Connect}, {&frames, "frameDomains", named.Frame}, {&bases, "baseUriDomains", named.BaseURI}} {
		if len(one.domains) > maxDomains {
			return "", fmt.Errorf("its %s has more than %d entries", one.what, maxDomains)
		}
		for _, domain := range one.domains {
			if err := checkDomain(domain, port, one.what == "connectDomains", here); err != nil {
				return "", fmt.Errorf("its %s: %w", one.what, err)
			}
			*one.into += " " + domain
		}
	}
	orNone := func(text string) string {
		if text == "" {
			return " 'none'"
		}
		return text
	}
	return "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'" + resources + "; style-src 'unsafe-inline'" + resources +
		"; img-src data: blob:" + resources + "; media-src data: blob:" + resources + "; font-src data:" + resources +
		"; connect-src" + orNone(connects) + "; frame-src" + orNone(frames) + "; object-src 'none'; form-action 'none'; base-uri" + orNone(bases) +
		"; frame-ancestors 'self'", nil
}

// domainForm matches an origin in a policy. Other characters could end the directive or the policy.
var domainForm = regexp.MustCompile(`^(https?|wss?)://((?:\*\.)?[A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(?::(\d{1,5}))?$`)

// checkDomain returns an error if a view may not declare an origin. An origin on this machine is
// only for views of servers on this machine.
func checkDomain(domain, port string, connects, here bool) error {
	m := domainForm.FindStringSubmatch(strings.TrimSuffix(domain, "/"))
	if m == nil || strings.HasSuffix(domain, "/") && strings.Count(domain, "/") != 3 {
		return fmt.Errorf("%.100q is not an origin such as https://example.com", domain)
	}
	scheme, host := m[1], strings.Trim(strings.ToLower(m[2]), "[].")
	local := isLoopback(host)
	at, _ := strconv.Atoi(m[3]) // 0 if the origin has no port; a number, because 08000 is the same as 8000
	own, _ := strconv.Atoi(port)
	switch {
	case strings.HasPrefix(scheme, "ws") && !connects:
		return fmt.Errorf("%q is for connectDomains only", domain)
	case local && (at == 0 || at == own):
		return fmt.Errorf("%q may be the console itself, which a view must not reach", domain)
	case local && !here:
		return fmt.Errorf("%q is on this machine, but the server is not", domain)
	case !local && scheme != "https" && scheme != "wss":
		return fmt.Errorf("%q is not encrypted", domain)
	}
	return nil
}

// A failure is the reason why a request has no result.
type failure struct {
	Code *int            `json:"code,omitempty"` // an error code of the protocol; nil if the error does not come from the server
	Data json.RawMessage `json:"data,omitempty"`
	Fault
}

// failureOf returns the reason why a request failed.
func (c *connection) failureOf(ctx context.Context, a *attempt, q *pageRequest, err error) *failure {
	if errors.Is(context.Cause(ctx), errCancelled) {
		return &failure{Fault: Fault{Cause: "it was cancelled here"}}
	}
	if refused, is := errors.AsType[*mcp.Error](err); is {
		return &failure{Code: &refused.Code, Data: bounded(refused.Data), Fault: Fault{Cause: refused.Message, Remedy: remedyOf(refused.Code, q.Method)}}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &failure{Fault: Fault{Cause: err.Error(), Remedy: "give it more time (timeout), or find in its log or its standard error the reason for the delay"}}
	}
	switch {
	case errors.Is(err, mcp.ErrClosed):
		return &failure{Fault: Fault{Cause: "the connection was closed meanwhile", Remedy: "connect again"}}
	case errors.Is(err, mcp.ErrLost):
		about := q.Method
		if name, is := jsonrpc.Unquote(jsonrpc.Get(q.Params, "name")); is {
			about = plaintext.Line(fmt.Sprintf("%s %q", q.Method, name), maxDetail)
		}
		fault := c.explain(ctx, a, err)
		fault.Link, fault.Remedy = "request", fmt.Sprintf("the server ended during %s, which is a fault of the server: read its last output, report it to its author, and connect again", about)
		return &failure{Fault: fault}
	case errors.As(err, new(*mcp.StatusError)):
		return &failure{Fault: c.explain(ctx, a, err)}
	}
	return &failure{Fault: Fault{Cause: err.Error()}}
}

// remedyOf returns advice for a request that a server rejected.
func remedyOf(code int, method string) string {
	switch code {
	case mcp.CodeMethodNotFound:
		return "the server does not have this; see its capabilities"
	case mcp.CodeInvalidParams:
		return "check that the parameters fit the schema, and that the named tool, prompt or resource exists"
	case mcp.CodeInternalError:
		return "the server failed at " + method + ": see its log or its standard error, or report it to its author"
	}
	return ""
}
