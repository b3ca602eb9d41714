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

// defaultPageSize is the number of entries on one page of a list.
const defaultPageSize = 1_000

// A Server is a [Handler] made of registered features: tools, resources, prompts and completions.
// All its methods are safe for concurrent use, also while it serves.
//
// A Server does not depend on transports or sessions. Serve it with one of the transport packages
// (stdio, streamable, …), or with several at the same time. In the same process, pass it to
// [NewClient].
type Server struct {
	info    Implementation
	options ServerOptions
	codecs  *schema.Codecs
	stamp   json.RawMessage // _meta of every result, which names the server
	log     *slog.Logger

	tools      registry
	resources  registry
	templates  registry
	prompts    registry
	completers registry
	methods    registry
	features   []feature // features in these registries, the most frequently used first

	extending  sync.Mutex
	extensions map[string]json.RawMessage // declared in addition to the extensions in the options

	changes     *changes.Feed
	subscribers subscribers
}

// ServerOptions holds the settings of a Server. The zero value of each field is its default.
type ServerOptions struct {
	// Title, Description, WebsiteURL and Icons describe the server to users.
	Title, Description, WebsiteURL string
	Icons                          []Icon
	// Instructions tell a model how to use the server.
	Instructions string
	// PageSize is the number of entries on one page of a list; the default is 1,000.
	PageSize int
	// ListTTL is how long clients may cache lists and the result of server/discover
	// (server/utilities/caching). The default is 0, which suits a server whose features change.
	// Clients that listen get notifications of changes in any case.
	ListTTL time.Duration
	// ListScope decides which clients may share a cached list. The default is [CachePrivate].
	ListScope CacheScope
	// NoLogging omits the logging capability, for a server that never logs to its clients.
	NoLogging bool
	// Capabilities are declared in addition to the capabilities of the registered features. They
	// may be extensions and experimental ones, each with its settings (a JSON object), and lists
	// that start empty. Clients read the capabilities when they connect. So a server that may
	// register its first tool later should set Tools to &ListCapability{}. The fields of a
	// capability need not be set, as a Server declares all notifications of changes.
	Capabilities ServerCapabilities
	// OnSubscribe, if not nil, is called when the first client subscribes to the resource uri, so
	// that the server can start to watch the resource. The context is done when the last client has
	// unsubscribed. An error refuses the subscription; the next client causes another call. Calls
	// for different URIs are concurrent. Further clients of the same URI cause no call. So use
	// middleware to decide which clients may subscribe. OnSubscribe should detect changes from
	// before the subscription, and call [Server.ResourceUpdated] for them, which reaches clients
	// that connect again. By default, every subscription is accepted.
	OnSubscribe func(ctx context.Context, uri string) error
	// TypeSchemas contains schemas for types that tools and prompts use and that have no method
	// MCPSchema, such as types of other modules.
	TypeSchemas TypeSchemas
	// TypeCodecs contains types whose values the server encodes and decodes in a form of its own,
	// with their schemas. They take precedence over TypeSchemas, and over methods of the types.
	TypeCodecs []TypeCodec
	// Logger receives records of internal errors. The default is slog.Default().
	Logger *slog.Logger
}

// NewServer returns a Server without features. It panics if name is empty.
func NewServer(name, version string) *Server {
	return NewServerWith(name, version, ServerOptions{})
}

// NewServerWith is like [NewServer], with options.
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
	s.codecs, s.options.TypeSchemas = joinCodecs(o.TypeCodecs, o.TypeSchemas)
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

// Batch runs f, and publishes the registrations and removals that f makes when it returns. Clients see
// them together, with one notification for each list that changed. Until then, requests and methods
// such as [Server.Tool] use the features from before. Changes of other goroutines wait as well.
func (s *Server) Batch(f func()) {
	all := []*registry{&s.tools, &s.resources, &s.templates, &s.prompts, &s.completers, &s.methods}
	for _, r := range all {
		r.hold()
	}
	defer func() {
		for _, r := range all {
			r.release()
		}
	}()
	f()
}

// stampOf returns the _meta that contains the name of the server.
func stampOf(info Implementation) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	_ = schema.EncodeMember(&w, revision.MetaServerInfo, info) // strings only: cannot fail
	return w.Bytes()
}

// Handle handles one request. It implements [Handler]. A panic of a feature becomes an error.
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

// ended adds the server and the request to an error that is just the error of ctx. The result still
// wraps context.Canceled or context.DeadlineExceeded.
func (s *Server) ended(ctx context.Context, req *Request, err error) error {
	if bare := ctx.Err(); bare != nil && err == bare {
		return fmt.Errorf("server %q: %s %q: %w", s.info.Name, req.Method, req.Name, err)
	}
	return err
}

// panicked returns the error for a request whose handler panicked.
func (s *Server) panicked(req *Request, p any) *Error {
	s.log.Error("mcp: panic in a handler", "method", req.Method, "name", req.Name, "panic", p, "stack", string(debug.Stack()))
	return Errorf(CodeInternalError, "%s %q failed: the server's handler panicked", req.Method, req.Name)
}

// dispatch runs the feature for a method. If the server does not declare the capability of the
// method, the method does not exist.
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
	if handle, ok := find[HandlerFunc](&s.methods, req.Method); ok {
		return handle(ctx, req)
	}
	return Result{}, Errorf(CodeMethodNotFound, "unknown method %q", req.Method)
}

// A feature is a method that uses a registry.
type feature struct {
	*revision.Method
	entries
	answer HandlerFunc // nil if the method lists the entries
}

// entries is the part of a registry that does not depend on the type of its features.
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

// capabilities returns the capabilities in the options, and the capabilities of all features
// registered so far.
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

// Declare declares an extension, such as "com.example/reindex", with its settings. The settings are
// one JSON object; nil means {}. Clients get them when they connect. Settings in
// [ServerOptions.Capabilities] take precedence, and a later call replaces an earlier one. Declare
// is meant for packages that add a feature to a Server.
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

// A DiscoverResult is a server's description of its features (server/discover).
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

// cacheable adds the server's caching hints to a result.
func (s *Server) cacheable(r Result, err error) (Result, error) {
	r.TTL, r.Scope = s.options.ListTTL, s.options.ListScope
	return r, err
}

// stamped adds the server's name to the _meta of a feature.
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
