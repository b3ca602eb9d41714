package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
)

const methodDiscover = "server/discover"

// defaultPageSize is how many entries a list answers with at once.
const defaultPageSize = 1_000

// maxNameLength is the longest name of a tool or prompt, in bytes (server/tools
// recommends at most 128 characters).
const maxNameLength = 256

// A Server is a [Handler] made of registered features: tools, resources,
// prompts, completions. All its methods are safe for concurrent use, also
// while it serves.
//
// A Server knows no transport and no session. Serve it with one of the packages
// beside this one (stdio, streamable, …), any number of times at once, or hand
// it to [NewClient] in the same process.
type Server struct {
	info     Implementation
	options  ServerOptions
	pageSize int
	stamp    json.RawMessage // the _meta of every result: who answers, in short
	log      *slog.Logger

	tools      registry[tool]
	resources  registry[ResourceHandler]
	templates  registry[template]
	prompts    registry[prompt]
	completers registry[Completer]
	news       *news
}

// ServerOptions are optional; the zero value of each field means its default.
type ServerOptions struct {
	// Info describes the server further; Name and Version are those given to [NewServer].
	Info Implementation
	// Instructions tell a model how to use the server.
	Instructions string
	// PageSize is the number of entries on one page of a list; default 1,000.
	PageSize int
	// ListTTL is how long clients may keep lists and the discovery without asking
	// again (server/utilities/caching); default 0, which is right for a server
	// whose features change, as clients that listen are told anyway.
	ListTTL time.Duration
	// ListScope says who may share those; default private.
	ListScope CacheScope
	// NoLogging leaves the logging capability away, for a server that never logs
	// to its clients.
	NoLogging bool
	// Extensions are the extensions the server offers, by identifier, each with
	// its settings (a JSON object).
	Extensions map[string]json.RawMessage
	// Logger is told what goes wrong inside; default slog.Default().
	Logger *slog.Logger
}

// NewServer returns a server without features. options, at most one, may be left away.
func NewServer(name, version string, options ...ServerOptions) *Server {
	s := &Server{pageSize: defaultPageSize, log: slog.Default(), news: newNews()}
	if len(options) > 0 {
		s.options = options[0]
	}
	s.info = s.options.Info
	s.info.Name, s.info.Version = name, version
	if s.options.PageSize > 0 {
		s.pageSize = s.options.PageSize
	}
	if s.options.Logger != nil {
		s.log = s.options.Logger
	}
	s.stamp = stampOf(Implementation{Name: name, Version: version, Title: s.info.Title})
	return s
}

// stampOf is the _meta that says who answers.
func stampOf(info Implementation) json.RawMessage {
	encoded, _ := json.Marshal(info) // strings only: cannot fail
	return append(append([]byte(`{"`+revision.MetaServerInfo+`":`), encoded...), '}')
}

// Handle answers one request.
func (s *Server) Handle(ctx context.Context, req *Request) (Result, error) {
	if req.Method == methodListen { // nothing of a program's runs in it, and its goroutine stays: it takes the short way
		return Result{Meta: s.stamp}, s.listen(ctx, req)
	}
	return s.answer(ctx, req)
}

// answer answers a request that ends by itself.
func (s *Server) answer(ctx context.Context, req *Request) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = Result{}, s.panicked(req, p)
		}
	}()
	if result, err = s.dispatch(WithRequest(ctx, req), req); err != nil {
		return Result{}, err
	}
	result.Meta = s.stamped(result.Meta)
	return result, nil
}

// panicked is the answer to a request whose handler panicked.
func (s *Server) panicked(req *Request, p any) *Error {
	s.log.Error("mcp: panic in a handler", "method", req.Method, "name", req.Name, "panic", p, "stack", string(debug.Stack()))
	return Errorf(CodeInternalError, "%s %q failed: the server's handler panicked", req.Method, req.Name)
}

// dispatch runs the feature that a method belongs to. A method whose capability
// the server does not declare does not exist.
func (s *Server) dispatch(ctx context.Context, req *Request) (Result, error) {
	switch req.Method {
	case methodToolsCall:
		if s.tools.declared() {
			return s.callTool(ctx, req)
		}
	case methodToolsList:
		if s.tools.declared() {
			return s.cacheable(s.tools.list("tools", s.pageSize, req.Params))
		}
	case methodResourcesRead:
		if s.hasResources() {
			return s.readResource(ctx, req)
		}
	case methodResourcesList:
		if s.hasResources() {
			return s.cacheable(s.resources.list("resources", s.pageSize, req.Params))
		}
	case methodTemplatesList:
		if s.hasResources() {
			return s.cacheable(s.templates.list("resourceTemplates", s.pageSize, req.Params))
		}
	case methodPromptsGet:
		if s.prompts.declared() {
			return s.getPrompt(ctx, req)
		}
	case methodPromptsList:
		if s.prompts.declared() {
			return s.cacheable(s.prompts.list("prompts", s.pageSize, req.Params))
		}
	case methodComplete:
		if s.completers.declared() {
			return s.complete(ctx, req)
		}
	case methodDiscover:
		return s.cacheable(s.discover())
	}
	return Result{}, Errorf(CodeMethodNotFound, "unknown method %q", req.Method)
}

func (s *Server) hasResources() bool { return s.resources.declared() || s.templates.declared() }

// capabilities are what was registered so far.
func (s *Server) capabilities() *ServerCapabilities {
	c := &ServerCapabilities{Extensions: s.options.Extensions}
	if s.tools.declared() {
		c.Tools = &ListCapability{ListChanged: true}
	}
	if s.hasResources() {
		c.Resources = &ResourcesCapability{Subscribe: true, ListChanged: true}
	}
	if s.prompts.declared() {
		c.Prompts = &ListCapability{ListChanged: true}
	}
	if s.completers.declared() {
		c.Completions = &struct{}{}
	}
	if !s.options.NoLogging {
		c.Logging = &struct{}{}
	}
	return c
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
	stamp := stampOf(s.info)
	meta := append(stamp[:len(stamp)-1], `,"`+ChangesKey+`":"`+s.news.position()+`"}`...)
	return Result{JSON: body, Meta: meta}, nil
}

// cacheable adds the hints that the server was given for its lists.
func (s *Server) cacheable(r Result, err error) (Result, error) {
	r.TTL, r.Scope = s.options.ListTTL, s.options.ListScope
	return r, err
}

// stamped says who answers, beside what a feature put into _meta.
func (s *Server) stamped(meta json.RawMessage) json.RawMessage {
	if meta == nil {
		return s.stamp
	}
	if jsonrpc.Get(meta, revision.MetaServerInfo) != nil {
		return meta
	}
	out, any := jsonrpc.AppendEdited(nil, meta)
	if any {
		out = append(out, ',')
	}
	return append(out, s.stamp[1:]...)
}

// checkName says what is wrong with the name of a tool or prompt.
func checkName(name string) error {
	if name == "" {
		return errors.New("the name must not be empty")
	}
	if len(name) > maxNameLength {
		return fmt.Errorf("name %.40q…: at most %d bytes, got %d", name, maxNameLength, len(name))
	}
	for _, r := range name {
		if r < ' ' || r == 0x7f {
			return fmt.Errorf("name %q: control characters are not allowed", name)
		}
	}
	return nil
}
