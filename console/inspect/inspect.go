package inspect

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

const (
	maxConnections = 16               // at the same time
	maxBody        = 4 << 20          // bytes of what a page sends
	idleTime       = 15 * time.Minute // of a connection that no page follows
	maxDescription = 256 << 10        // bytes of what a page says of a server
)

// A Server is what a page wants to connect to: a name of the configuration, or a URL, or a command.
type Server struct {
	Name    string            `json:"server,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // with URL
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"` // with Command, as are Env and Dir
	Env     map[string]string `json:"env,omitempty"`
	Dir     string            `json:"cwd,omitempty"`
	// Revision, if not empty, is the only one that is spoken.
	Revision string `json:"revision,omitempty"`
}

// An Opened is a server that can be connected to.
type Opened struct {
	// Name is the one that a configuration has for it; else it is the transport's own.
	Name string
	// Origin says where the server is defined, for people.
	Origin    string
	Transport mcp.Transport
	// Client are the options of its connection; its callbacks, middleware and Wire are the inspector's.
	Client mcp.ClientOptions
	// Entry is how a configuration says it, without any secret.
	Entry Entry
	// Explain says why connecting failed, or a connection ended, in words for people; stray is the first line of a program's
	// standard output that was no message.
	Explain func(ctx context.Context, err error, stray string) Fault
	// Login, if not nil, has the user log in: it calls visit with the page to open, and returns what came of it, in words.
	Login func(ctx context.Context, scopes []string, visit func(page string)) (string, error)
}

// A Fault is why something does not work, and what mends it.
type Fault struct {
	// Link is where it broke, as junction doctor calls it.
	Link   string `json:"link,omitempty"`
	Cause  string `json:"cause"`
	Remedy string `json:"remedy,omitempty"`
	// Login says that a login mends it.
	Login bool `json:"login,omitempty"`
}

// Hooks see what happens below a connection. They must not wait.
type Hooks struct {
	// HTTP wraps what sends requests to the server, or, with authorization, to those who give tokens for it.
	HTTP func(next http.RoundTripper, authorization bool) http.RoundTripper
	// Stderr hears the lines of a program's standard error, Stdout those of its standard output that are no messages.
	Stderr, Stdout func(line string)
}

// Options say how servers are reached.
type Options struct {
	// Open finds a server. The error says why it cannot be used; it may be a [*FaultError].
	Open func(ctx context.Context, s Server, hooks Hooks) (*Opened, error)
	// Once returns a path of this origin at which h answers one request of a frame; nothing of the console's is to be learnt
	// from it. Without it no views are shown.
	Once func(h http.Handler) (path string)
}

// A FaultError is a Fault that is an error.
type FaultError struct{ Fault }

// Error is the cause.
func (e *FaultError) Error() string { return e.Cause }

// An Inspector holds connections for pages. Its methods are safe for concurrent use.
type Inspector struct {
	options Options
	ctx     context.Context
	end     context.CancelCauseFunc
	running sync.WaitGroup // of the connections

	mu    sync.Mutex
	all   []*connection // in the order in which they began
	ended bool
}

// New returns an Inspector without connections. Close it when done.
func New(o Options) *Inspector {
	i := &Inspector{options: o}
	i.ctx, i.end = context.WithCancelCause(context.Background())
	return i
}

// Close ends all connections, and waits for them.
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

// Mount hands over each route of the API with its pattern, such as "GET /connections/{id}".
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

// begin begins a connection that a page wants.
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

// Begin begins a connection before a page asks for it, and returns its id in the API. The error says what is wrong with s;
// what becomes of the connection is in its events.
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

// list describes all connections.
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

// forget takes a connection that ended off the list.
func (i *Inspector) forget(c *connection) {
	i.mu.Lock()
	i.all = slices.DeleteFunc(i.all, func(other *connection) bool { return other == c })
	i.mu.Unlock()
}

// serving makes a route of what writes its own response.
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

// decode reads what a page sent, of at most limit bytes.
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
