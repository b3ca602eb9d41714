package reach

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/clock"
	"github.com/junction-mcp/junction/servers/everything"
	"github.com/junction-mcp/junction/servers/fetch"
	"github.com/junction-mcp/junction/servers/filesystem"
	"github.com/junction-mcp/junction/servers/graphql"
	"github.com/junction-mcp/junction/servers/httptool"
	graph "github.com/junction-mcp/junction/servers/memory"
	"github.com/junction-mcp/junction/servers/openapi"
	database "github.com/junction-mcp/junction/servers/sql"
	"github.com/spf13/pflag"
)

// A Shipping holds the options of the servers that ship with junction.
type Shipping struct {
	Roots []string // for filesystem; the default is the current folder
	write bool     // for filesystem and sql
	file  string   // for memory; the default is memory.db in Junction's folder
	fetch fetch.Options
	API   APIShipping

	dsnEnv, dsnFile string // for sql: variable or file with the data source name
}

// Flags defines the flags for o in a flag set.
func (o *Shipping) Flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.Roots, "root", nil, "let filesystem reach into `DIR` (repeatable); default: the current folder")
	flags.BoolVar(&o.write, "write", false, "let filesystem change files, and sql its database")
	flags.StringVar(&o.file, "file", "", "let memory keep its graph in `FILE` (default: memory.db in junction's folder of your configuration)")
	flags.BoolVar(&o.fetch.AllowPrivate, "private", false, "let fetch read from addresses of private networks and of this machine")
	flags.BoolVar(&o.fetch.IgnoreRobots, "ignore-robots", false, "let fetch read pages that robots.txt excludes")
	o.API.flags(flags)
	flags.StringVar(&o.dsnEnv, "dsn-env", "", "let sql read the URL of its database from the environment variable `NAME`")
	flags.StringVar(&o.dsnFile, "dsn-file", "", "let sql read the URL of its database from `FILE`")
}

// CheckFlags returns an error if the user gave a flag that belongs to another server.
func (o *Shipping) CheckFlags(flags *pflag.FlagSet, name string) (err error) {
	servers := map[string][]string{
		"root": {"filesystem"}, "write": {"filesystem", "sql"}, "file": {"memory"}, "private": {"fetch"}, "ignore-robots": {"fetch"}, "dsn-env": {"sql"}, "dsn-file": {"sql"},
		"from": {"openapi", "graphql"}, "operation": {"openapi", "graphql"}, "exclude": {"openapi", "graphql"}, "auth-env": {"openapi", "graphql", "http"},
		"base": {"openapi", "http"}, "tag": {"openapi"}, "path": {"openapi"}, "method": {"openapi"}, "url": {"graphql"}, "depth": {"graphql"}, "tool": {"http"},
	}
	flags.Visit(func(f *pflag.Flag) {
		if of := servers[f.Name]; len(of) > 0 && !slices.Contains(of, name) {
			err = cli.Usagef("--%s is for %s", f.Name, strings.Join(of, " and "))
		}
	})
	return err
}

// Shipped returns a new server that ships with junction. Its resources are closed when the command
// ends.
func Shipped(ctx context.Context, a *cli.App, name string, o Shipping) (mcp.Handler, error) {
	switch name {
	case "everything":
		return everything.New(), nil
	case "filesystem":
		if len(o.Roots) == 0 {
			o.Roots = []string{"."}
		}
		o.Roots = a.Paths(o.Roots)
		return filesystem.New(filesystem.Options{Roots: o.Roots, Write: o.write, Logger: a.Logger()})
	case "memory":
		var err error
		if o.file == "" {
			if o.file, err = a.State("memory.db"); err != nil {
				return nil, err
			}
		}
		m, err := graph.Open(ctx, a.Path(o.file))
		if err != nil {
			return nil, err
		}
		a.Launch.AtEnd(m)
		return m, nil
	case "fetch":
		return fetch.New(o.fetch), nil
	case "openapi":
		return openAPI(ctx, a, &o.API)
	case "graphql":
		return graphQL(ctx, a, &o.API)
	case "http":
		return httpTools(a, &o.API)
	case "sql":
		dsn, err := o.dsn(a.Place)
		if err != nil {
			return nil, err
		}
		d, err := database.Open(ctx, database.Options{DSN: dsn, Write: o.write})
		if err != nil {
			return nil, err
		}
		a.Launch.AtEnd(d)
		return d, nil
	case "time":
		zone, err := clock.Local(a.Getenv("TZ"))
		if err != nil {
			return nil, err
		}
		return clock.New(clock.Options{Zone: zone}), nil
	}
	if near := nearest.Name(name, cli.ShippedNames()); near != "" {
		return nil, cli.Usagef("no server called %q ships with junction; did you mean %q?", name, near)
	}
	return nil, &cli.UsageError{Err: fmt.Errorf("no server called %q ships with junction (there are: %s)", name, strings.Join(cli.ShippedNames(), ", "))}
}

// maxDSNFile is the largest size in bytes of a file with a data source name.
const maxDSNFile = 16 << 10

// dsn returns the data source name from a variable or a file. It has a password, so it cannot be in
// a flag, which all users of the machine can read.
func (o Shipping) dsn(p place.Place) (string, error) {
	switch {
	case (o.dsnEnv == "") == (o.dsnFile == ""):
		return "", cli.Usagef("sql: junction serve needs --dsn-env NAME or --dsn-file FILE for the database; other commands need an entry with the command junction serve sql")
	case o.dsnEnv != "":
		dsn := p.Getenv(o.dsnEnv)
		if dsn == "" {
			return "", cli.Usagef("sql: the variable %s of --dsn-env is not set; in a configuration, set it in \"env\" of the entry", o.dsnEnv)
		}
		return dsn, nil
	}
	text, err := filename.ReadAtMost(p.Path(o.dsnFile), maxDSNFile)
	if err != nil {
		return "", cli.Usagef("sql: --dsn-file: %w", err)
	}
	dsn := strings.TrimSpace(string(text))
	if dsn == "" || strings.ContainsAny(dsn, "\r\n") {
		return "", cli.Usagef("sql: --dsn-file %s: expected a DSN on one line", o.dsnFile)
	}
	return dsn, nil
}

// An APIShipping holds the options of the servers openapi, graphql and http.
type APIShipping struct {
	From, Base, URL           string
	Tags, paths, names, verbs []string
	Exclude                   []string // as KIND=PATTERN
	Auth                      []string // as [WHERE=]VARIABLE
	depth                     int
	tools                     []string // for http: templates as JSON, or names of files with templates
}

// flags defines the flags for o in a flag set.
func (o *APIShipping) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.From, "from", "", "let openapi read its document from a `FILE` or URL; let graphql read its types from a file with an introspection result")
	flags.StringVar(&o.Base, "base", "", "let openapi and http send requests to this base `URL`, in place of the document's server")
	flags.StringArrayVar(&o.tools, "tool", nil, "let http have a tool that sends the request of this `TEMPLATE`: JSON, or a file with it (repeatable)")
	flags.StringVar(&o.URL, "url", "", "let graphql use the API at this `URL`")
	flags.StringArrayVar(&o.Tags, "tag", nil, "offer operations with this `TAG` (repeatable)")
	flags.StringArrayVar(&o.paths, "path", nil, "offer operations with paths that match `PATTERN`: * is one segment, ** any number (repeatable)")
	flags.StringArrayVar(&o.names, "operation", nil, "offer operations whose name matches `PATTERN` (repeatable)")
	flags.StringArrayVar(&o.verbs, "method", nil, "offer operations of this `METHOD`, such as GET (repeatable)")
	flags.StringArrayVar(&o.Exclude, "exclude", nil, "offer no operations that match `KIND=PATTERN`; KIND is tag, path, operation or method (repeatable)")
	flags.StringArrayVar(&o.Auth, "auth-env", nil, "send the secret in the variable `[WHERE=]NAME` of the environment (repeatable)")
	flags.IntVar(&o.depth, "depth", 0, "let graphql request `LEVELS` of nested fields if a call does not choose fields (default 2)")
}

// openAPI returns the server for an OpenAPI document.
func openAPI(ctx context.Context, a *cli.App, o *APIShipping) (mcp.Handler, error) {
	if o.From == "" {
		return nil, cli.Usagef("openapi needs a document: junction serve openapi --from FILE|URL")
	}
	from := o.From
	if !strings.Contains(from, "://") {
		from = a.Path(from)
	}
	options := openapi.Options{
		From: from, Include: openapi.Selection{Tags: o.Tags, Paths: o.paths, Operations: o.names, Methods: o.verbs}, Secrets: map[string]string{},
		Requests: httptool.Options{Base: o.Base, Logger: a.Logger()},
	}
	for _, text := range o.Exclude {
		kind, pattern, _ := strings.Cut(text, "=")
		to := map[string]*[]string{"tag": &options.Exclude.Tags, "path": &options.Exclude.Paths, "operation": &options.Exclude.Operations, "method": &options.Exclude.Methods}[kind]
		if to == nil || pattern == "" {
			return nil, cli.Usagef("--exclude %s: expected tag=, path=, operation= or method= and a pattern", text)
		}
		*to = append(*to, pattern)
	}
	for _, text := range o.Auth {
		where, secret, err := secretOf(a.Place, text)
		if err != nil {
			return nil, err
		}
		if c, ok := credentialIn(where, secret); ok && c.Name != "" { // a name of a scheme has no colon
			options.Requests.Credentials = append(options.Requests.Credentials, c)
		} else {
			options.Secrets[where] = secret
		}
	}
	s, err := openapi.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	a.Launch.AtEnd(s)
	if len(s.Skipped) > 0 && a.Person != nil {
		a.Screen.Printf("%d operations are not offered as tools; --verbose shows the reasons.\n", len(s.Skipped))
	}
	return s, nil
}

// graphQL returns the server for a GraphQL API.
func graphQL(ctx context.Context, a *cli.App, o *APIShipping) (mcp.Handler, error) {
	if o.URL == "" {
		return nil, cli.Usagef("graphql needs an API: junction serve graphql --url URL")
	}
	options := graphql.Options{URL: o.URL, Schema: a.Path(o.From), Include: o.names, Depth: o.depth, Requests: httptool.Options{Logger: a.Logger()}}
	for _, text := range o.Exclude {
		pattern, ok := strings.CutPrefix(text, "operation=")
		if !ok {
			return nil, cli.Usagef("--exclude %s: for graphql, expected operation= and a pattern", text)
		}
		options.Exclude = append(options.Exclude, pattern)
	}
	var err error
	if options.Requests.Credentials, err = o.credentials(a.Place); err != nil {
		return nil, err
	}
	s, err := graphql.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	a.Launch.AtEnd(s)
	return s, nil
}

// credentials returns the credentials of --auth-env for an API without a document. The default
// place is a bearer token.
func (o *APIShipping) credentials(p place.Place) (all []httptool.Credential, err error) {
	for _, text := range o.Auth {
		where, secret, err := secretOf(p, text)
		if err != nil {
			return nil, err
		}
		c, ok := credentialIn(cmp.Or(where, string(httptool.Bearer)), secret)
		if !ok {
			return nil, cli.Usagef("--auth-env %s: expected bearer, basic, header:NAME, query:NAME or cookie:NAME before the =", text)
		}
		all = append(all, c)
	}
	return all, nil
}

// secretOf parses [WHERE=]VARIABLE. It returns the place for the secret, and the secret in the
// variable.
func secretOf(p place.Place, text string) (where, secret string, err error) {
	variable := text
	if i := strings.LastIndexByte(text, '='); i >= 0 {
		where, variable = text[:i], text[i+1:]
	}
	if secret = strings.TrimSpace(p.Getenv(variable)); secret == "" {
		return "", "", cli.Usagef("--auth-env: the variable %s is not set", variable)
	}
	return where, secret, nil
}

// credentialIn returns a credential for the place that where names. ok is false if where is
// unknown.
func credentialIn(where, secret string) (c httptool.Credential, ok bool) {
	at, name, named := strings.Cut(where, ":")
	c = httptool.Credential{In: httptool.Place(at), Name: name, Value: secret}
	if named {
		return c, slices.Contains([]httptool.Place{httptool.Header, httptool.Query, httptool.Cookie}, c.In)
	}
	return c, c.In == httptool.Bearer || c.In == httptool.Basic
}

// maxHTTPTools is the largest number of tools of all --tool flags.
const maxHTTPTools = 100

// A requestTemplate is a [httptool.Template] in JSON.
type requestTemplate struct {
	Name         string               `json:"name"`
	Title        string               `json:"title"`
	Description  string               `json:"description"`
	Method       string               `json:"method"`
	URL          string               `json:"url"`
	Header       map[string]string    `json:"header"`
	Body         json.RawMessage      `json:"body"`
	Text         string               `json:"text"`
	InputSchema  json.RawMessage      `json:"inputSchema"`
	OutputSchema json.RawMessage      `json:"outputSchema"`
	Annotations  *mcp.ToolAnnotations `json:"annotations"`
}

// httpTools returns the server for request templates.
func httpTools(a *cli.App, o *APIShipping) (mcp.Handler, error) {
	options := httptool.Options{Base: o.Base, Logger: a.Logger()}
	var err error
	if options.Credentials, err = o.credentials(a.Place); err != nil {
		return nil, err
	}
	var templates []httptool.Template
	for _, text := range o.tools {
		some, err := readTemplates(a.Place, text)
		if err != nil {
			return nil, err
		}
		templates = append(templates, some...)
	}
	if n := len(templates); n == 0 || n > maxHTTPTools {
		return nil, cli.Usagef("http takes 1 to %d tools, got %d: junction serve http --tool '{\"name\": \"forecast\", \"url\": \"https://example.com/{city}\"}'", maxHTTPTools, n)
	}
	s, err := httptool.New("http", options, templates...)
	if err != nil {
		return nil, fmt.Errorf("--tool: %w", err)
	}
	a.Launch.AtEnd(s)
	return s, nil
}

// readTemplates parses one template or an array of them. text is the JSON, or the name of a file
// with it.
func readTemplates(p place.Place, text string) (all []httptool.Template, err error) {
	from := "--tool"
	data := []byte(text)
	if trimmed := strings.TrimSpace(text); trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		from = "--tool " + text
		if data, err = filename.ReadAtMost(p.Path(text), launch.MaxKeyFile); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("expected a template in JSON, or a file with one: %w", err)
			}
			return nil, fmt.Errorf("--tool: %w", err)
		}
	}
	var templates []requestTemplate
	if data = []byte(strings.TrimSpace(string(data))); len(data) > 0 && data[0] == '[' {
		err = schema.Decode(data, &templates)
	} else {
		templates = make([]requestTemplate, 1)
		err = schema.Decode(data, &templates[0])
	}
	if err != nil {
		return nil, cli.Usagef("%s: %w", from, err)
	}
	for _, t := range templates {
		if t.Name == "" || t.URL == "" {
			return nil, cli.Usagef("%s: expected a template with name and url", from)
		}
		tool := mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations}
		all = append(all, httptool.Template{Tool: tool, Method: strings.ToUpper(t.Method), URL: t.URL, Header: t.Header, Body: t.Body, Text: t.Text})
	}
	return all, nil
}
