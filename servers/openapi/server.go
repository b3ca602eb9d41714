package openapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/httptool"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

// Options selects a document and configures its server. Only From is required.
type Options struct {
	// From is the path or the URL (http, https) of the document, in JSON or YAML. Other files of
	// the document must be in the same folder, or have the same origin.
	From string
	// Name is the name of the server. The default is the title of the document, reduced to letters,
	// digits and '-'.
	Name string
	// Include selects the operations that become tools; default all. Exclude removes some of them.
	Include, Exclude Selection
	// Variables holds values for the variables in the document's server URL. Missing variables have
	// the document's defaults.
	Variables map[string]string
	// Secrets maps names of security schemes to secrets: a token, a key, or USER:PASSWORD. The
	// secret "" is for whichever scheme an operation needs. If the document does not declare that,
	// it is for the only scheme; without schemes, it is a bearer token. "bearer" and "basic" are
	// sent with every request, unless the document has a scheme with that name.
	Secrets map[string]string
	// Requests holds the limits of requests. Its Base overrides the servers in the document, and
	// its Credentials are sent with all requests.
	Requests httptool.Options
}

// NoTool is the log message for an operation that cannot become a tool. The attribute "error" names
// the operation and the reason.
const NoTool = "openapi: an operation is not offered as a tool"

// A Server is a server whose tools are the operations of a document. The caller must close it.
type Server struct {
	*mcp.Server
	// Skipped holds an error for each selected operation that could not become a tool.
	Skipped []error
	// Base is the base URL of the operations.
	Base string

	client *httptool.Client
}

// Open reads a document and returns its server. It omits operations that cannot become tools, and
// reports them in Server.Skipped and in warnings. If all fail, Open returns an error.
func Open(ctx context.Context, o Options) (*Server, error) {
	if o.From == "" {
		return nil, errors.New("openapi: no document: set its path or URL")
	}
	s, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("openapi: %s: %w", redactSource(o.From), err)
	}
	return s, nil
}

// redactSource returns a path, or a URL without query and user, which may contain secrets.
func redactSource(from string) string {
	from, _, _ = strings.Cut(from, "?")
	if scheme, rest, ok := strings.Cut(from, "://"); ok {
		authority, path, _ := strings.Cut(rest, "/")
		return scheme + "://" + authority[strings.LastIndexByte(authority, '@')+1:] + "/" + path
	}
	return from
}

func open(ctx context.Context, o Options) (*Server, error) {
	o.Requests.Logger = cmp.Or(o.Requests.Logger, slog.Default())
	for _, selection := range []Selection{o.Include, o.Exclude} {
		if err := selection.check(); err != nil {
			return nil, err
		}
	}
	d, err := load(ctx, o.From, o.Requests.Transport)
	if err != nil {
		return nil, err
	}
	root := part{d.main, d.main.root.(*tree.Object)} // checkVersion has checked the type
	if root.at("paths").Len() == 0 {
		return nil, errors.New("it has no paths")
	}
	info := root.at("info")
	o.Name = cmp.Or(o.Name, serverName(info.Text("title")))
	secrets, everywhere, err := d.securityOf(root, o.Secrets)
	if err != nil {
		return nil, err
	}
	o.Requests.Credentials = slices.Concat(o.Requests.Credentials, everywhere)
	given := o.Requests
	if given.Base, err = d.rootBase(root, o.Requests.Base, o.Variables); err != nil {
		return nil, err
	}
	given.OutsideOnly = d.outside && o.Requests.Base == ""
	client, err := httptool.NewClient(o.Name, given)
	if err != nil {
		return nil, err
	}
	s := &Server{client: client, Base: given.Base, Server: mcp.NewServerWith(o.Name, version(info), mcp.ServerOptions{
		Title: clip(info.Text("title"), 100), Description: clip(info.Text("description"), maxInputText), NoLogging: true, Logger: o.Requests.Logger,
	})}
	client.Offer(s.Server)
	if err := s.addAll(d, root, secrets, &o); err != nil {
		return nil, err
	}
	return s, nil
}

func version(info part) string {
	if v := textOf(info.Get("version")); v != "" && len(v) <= 100 {
		return v
	}
	return "1.0.0"
}

// serverName derives the name of a server from a title.
func serverName(title string) string {
	name := strings.Trim(strings.ToLower(strings.ReplaceAll(fit(title, false), "_", "-")), "-")
	if name == "" {
		return "openapi"
	}
	return name[:min(len(name), maxToolName)]
}

// addAll registers the tools of all selected operations.
func (s *Server) addAll(d *document, root part, secrets *security, o *Options) error {
	all, faults := d.operationsOf(root)
	s.Skipped = faults
	nameAll(all)
	var picked []*operation
	for _, op := range all {
		if o.Include.all(op) && !o.Exclude.any(op) {
			picked = append(picked, op)
		}
	}
	switch {
	case len(picked) == 0 && len(all) > 0:
		return fmt.Errorf("none of the %d operations is selected; the tags are: %s", len(all), strings.Join(tagsOf(all), ", "))
	case len(picked) > maxOperations:
		return fmt.Errorf("%d operations are selected, more than %d: select by tag or path", len(picked), maxOperations)
	}
	added := 0
	for _, op := range picked {
		err := op.read(d, root, secrets, o)
		if err == nil {
			err = s.add(d, op)
		}
		if err != nil {
			s.Skipped = append(s.Skipped, fmt.Errorf("%s %s: %w", op.method, op.path, err))
			continue
		}
		added++
	}
	for _, err := range s.Skipped {
		o.Requests.Logger.Warn(NoTool, "document", redactSource(o.From), "error", err)
	}
	switch {
	case added == 0 && len(s.Skipped) == 0:
		return errors.New("it has no operation that can be a tool")
	case added == 0:
		return fmt.Errorf("no operation can be a tool: %w", errors.Join(s.Skipped[:min(3, len(s.Skipped))]...))
	}
	return nil
}

// cuts are the values that add passes as cut to [operation.input], in this order.
var cuts = []int{0, 10, 7, 5, 4, 3, 2}

// add registers the tool of an operation with as much of its input schema as fits the limits.
func (s *Server) add(d *document, op *operation) error {
	handle := func(ctx context.Context, arguments json.RawMessage) (*mcp.CallToolResult, error) {
		return op.call(ctx, s.client, arguments)
	}
	var err error
	for i, cut := range cuts {
		schema, ok := op.input(d, cut)
		if !ok && i < len(cuts)-1 {
			continue
		}
		if err = s.SetTool(op.tool(schema), handle); err == nil {
			op.release()
			return nil
		}
	}
	return err
}

// tagsOf returns the first twenty tags of the operations.
func tagsOf(all []*operation) []string {
	var tags []string
	for _, o := range all {
		tags = append(tags, o.tags...)
	}
	slices.Sort(tags)
	if tags = slices.Compact(tags); len(tags) > 20 {
		return append(tags[:20:20], "…")
	}
	return tags
}

// Close closes idle connections and drops the stored responses.
func (s *Server) Close() error { return s.client.Close() }
