package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/changes"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
)

const methodDiscover = "server/discover"

// defaultPageSize is how many entries a list answers with at once.
const defaultPageSize = 1_000

// A Server is a [Handler] made of registered features: tools, resources,
// prompts, completions. All its methods are safe for concurrent use, also
// while it serves.
//
// A Server knows no transport and no session. Serve it with one of the packages
// in addition to this one (stdio, streamable, …), any number of times at once, or hand
// it to [NewClient] in the same process.
type Server struct {
	info    Implementation
	options ServerOptions
	stamp   json.RawMessage // the _meta of every result: which server responds
	log     *slog.Logger

	tools      registry[tool]
	resources  registry[ResourceHandler]
	templates  registry[template]
	prompts    registry[prompt]
	completers registry[Completer]
	methods    registry[HandlerFunc]
	features   []feature // of these, those most asked for first

	extending  sync.Mutex
	extensions map[string]json.RawMessage // declared in addition to those of the options

	changes     *changes.Feed
	subscribers subscribers
}

// ServerOptions are optional; the zero value of each field means its default.
type ServerOptions struct {
	// Title, Description, WebsiteURL and Icons describe the server to people.
	Title, Description, WebsiteURL string
	Icons                          []Icon
	// Instructions tell a model how to use the server.
	Instructions string
	// PageSize is the number of entries on one page of a list; default 1,000.
	PageSize int
	// ListTTL is how long clients may keep lists and the discovery without asking
	// again (server/utilities/caching); default 0, which is right for a server
	// whose features change, as clients that listen are notified anyway.
	ListTTL time.Duration
	// ListScope says who may share those; default private.
	ListScope CacheScope
	// NoLogging omits the logging capability, for a server that never logs to its
	// clients.
	NoLogging bool
	// Capabilities are declared in addition to those of the registered features:
	// extensions and experimental ones, each with its settings (a JSON object),
	// and what a server offers that starts empty. Clients look at the capabilities
	// when they connect, so a server whose first tool may come later declares
	// &ListCapability{} for Tools. The flags inside are always set: a Server
	// notifies clients of every change.
	Capabilities ServerCapabilities
	// OnSubscribe is called when the first client subscribes to the resource uri,
	// so that the server can begin to watch it. ctx is done when the last client
	// has left. An error refuses the subscription; the next client calls it again.
	// It is called concurrently for different URIs, and not for further clients of
	// a URI, so it cannot decide who may subscribe: middleware can. What changed
	// while nobody was subscribed is for OnSubscribe to find out: it calls
	// [Server.ResourceUpdated], which reaches clients that come back. By default
	// every subscription is accepted.
	OnSubscribe func(ctx context.Context, uri string) error
	// TypeSchemas are schemas of types that tools and prompts use, and that have no
	// method MCPSchema, such as those of other modules.
	TypeSchemas TypeSchemas
	// Logger receives what goes wrong inside; default slog.Default().
	Logger *slog.Logger
}

// NewServer returns a server without features. It panics if name is empty.
func NewServer(name, version string) *Server {
	return NewServerWith(name, version, ServerOptions{})
}

// NewServerWith is [NewServer] with options.
func NewServerWith(name, version string, o ServerOptions) *Server {
	if name == "" {
		panic("mcp: a server needs a name: clients show it")
	}
	s := &Server{
		info: Implementation{
			Name: name, Version: version, Title: o.Title,
			Description: o.Description, WebsiteURL: o.WebsiteURL, Icons: o.Icons,
		},
		options: o,
		stamp:   stampOf(Implementation{Name: name, Version: version, Title: o.Title}),
		log:     slog.Default(),
		changes: changes.NewFeed(),
	}
	s.features = []feature{
		{revision.MethodNamed(methodToolsCall), &s.tools, s.callTool},
		{revision.MethodNamed(methodToolsList), &s.tools, nil},
		{revision.MethodNamed(methodResourcesRead), &s.resources, s.readResource},
		{revision.MethodNamed(methodResourcesList), &s.resources, nil},
		{revision.MethodNamed(methodTemplatesList), &s.templates, nil},
		{revision.MethodNamed(methodPromptsGet), &s.prompts, s.getPrompt},
		{revision.MethodNamed(methodPromptsList), &s.prompts, nil},
		{revision.MethodNamed(methodComplete), &s.completers, s.complete},
	}
	if o.PageSize <= 0 {
		o.PageSize = defaultPageSize
	}
	for _, f := range s.features {
		if f.answer == nil {
			f.open(f.Method, o.PageSize, func() { s.changes.Add(changes.Change{Method: revision.ListChanged(f.Capability)}) })
		}
	}
	if o.Logger != nil {
		s.log = o.Logger
	}
	return s
}

// stampOf is the _meta that names the server.
func stampOf(info Implementation) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	_ = schema.EncodeMember(&w, revision.MetaServerInfo, info) // strings only: cannot fail
	return w.Bytes()
}

// Handle answers one request. A panic of a feature becomes an error.
func (s *Server) Handle(ctx context.Context, req *Request) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = Result{}, s.panicked(req, p)
		}
	}()
	if result, err = s.dispatch(WithRequest(ctx, req), req); err != nil {
		return Result{}, s.ended(ctx, req, err)
	}
	result.Meta = s.stamped(result.Meta)
	return result, nil
}

// ended says of a bare error of the context what it ended. The error still is
// context.Canceled or context.DeadlineExceeded.
func (s *Server) ended(ctx context.Context, req *Request, err error) error {
	if bare := ctx.Err(); bare != nil && err == bare {
		return fmt.Errorf("server %q: %s %q: %w", s.info.Name, req.Method, req.Name, err)
	}
	return err
}

// panicked is the response to a request whose handler panicked.
func (s *Server) panicked(req *Request, p any) *Error {
	s.log.Error("mcp: panic in a handler", "method", req.Method, "name", req.Name, "panic", p, "stack", string(debug.Stack()))
	return Errorf(CodeInternalError, "%s %q failed: the server's handler panicked", req.Method, req.Name)
}

// dispatch runs the feature that a method belongs to. A method whose capability
// the server does not declare does not exist.
func (s *Server) dispatch(ctx context.Context, req *Request) (Result, error) {
	for i := range s.features {
		f := &s.features[i]
		switch {
		case f.Name != req.Method || !f.declared() && !s.has(f.Capability):
		case f.answer != nil:
			return f.answer(ctx, req)
		default:
			return s.cacheable(f.list(req.Params))
		}
	}
	switch req.Method {
	case methodDiscover:
		return s.cacheable(s.discover())
	case methodListen:
		return Result{}, s.listen(ctx, req)
	}
	if e := s.methods.read().byName[req.Method]; e != nil {
		return e.feature(ctx, req)
	}
	return Result{}, Errorf(CodeMethodNotFound, "unknown method %q", req.Method)
}

// A feature is a method that reads a registry.
type feature struct {
	*revision.Method
	entries
	answer HandlerFunc // nil where the method lists the entries
}

// entries is a registry.
type entries interface {
	open(lists *revision.Method, size int, changed func())
	declared() bool
	list(params json.RawMessage) (Result, error)
}

// has reports whether the server declares a capability.
func (s *Server) has(capability string) bool {
	for i := range s.features {
		if f := &s.features[i]; f.Capability == capability && f.declared() {
			return true
		}
	}
	return s.options.Capabilities.List(capability) != nil
}

// capabilities are those of the options and of what was registered so far.
func (s *Server) capabilities() *ServerCapabilities {
	c := s.options.Capabilities
	for _, f := range s.features {
		if s.has(f.Capability) {
			c.Declare(f.Capability)
		}
	}
	if !s.options.NoLogging {
		c.Logging = &struct{}{}
	}
	s.extending.Lock()
	defer s.extending.Unlock()
	if len(s.extensions) > 0 {
		all := maps.Clone(s.extensions)
		maps.Copy(all, c.Extensions)
		c.Extensions = all
	}
	return &c
}

// Declare declares an extension, such as "com.example/reindex", with its settings, one JSON object; nil means {}.
// Clients see it when they connect. Settings in [ServerOptions.Capabilities] come first, and those declared last
// before others. It is for packages that add a feature to a Server.
func (s *Server) Declare(extension string, settings json.RawMessage) {
	if settings == nil {
		settings = json.RawMessage(`{}`)
	}
	s.extending.Lock()
	defer s.extending.Unlock()
	if s.extensions == nil {
		s.extensions = map[string]json.RawMessage{}
	}
	s.extensions[extension] = settings
}

// DiscoverResult is what a server says of itself (server/discover).
type DiscoverResult struct {
	SupportedVersions []string           `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	Instructions      string             `json:"instructions,omitempty"`
}

func (s *Server) discover() (Result, error) {
	body, err := schema.Encode(nil, DiscoverResult{
		SupportedVersions: revision.Modern(),
		Capabilities:      *s.capabilities(),
		Instructions:      s.options.Instructions,
	})
	if err != nil {
		return Result{}, err
	}
	w := jsonrpc.NewObject(nil)
	w.Members(stampOf(s.info))
	w.String(ChangesKey, s.changes.Mark())
	return Result{JSON: body, Meta: w.Bytes()}, nil
}

// cacheable adds the hints that the server was given for its lists.
func (s *Server) cacheable(r Result, err error) (Result, error) {
	r.TTL, r.Scope = s.options.ListTTL, s.options.ListScope
	return r, err
}

// stamped says which server responds, in addition to what a feature put into _meta.
func (s *Server) stamped(meta json.RawMessage) json.RawMessage {
	if meta == nil {
		return s.stamp
	}
	if jsonrpc.Get(meta, revision.MetaServerInfo) != nil {
		return meta
	}
	w := jsonrpc.NewObject(nil)
	w.Members(meta)
	w.Members(s.stamp)
	return w.Bytes()
}
