package reach

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/graphql"
	"github.com/junction-mcp/junction/servers/httptool"
	"github.com/junction-mcp/junction/servers/openapi"
	"github.com/spf13/pflag"
)

// An APIShipping holds the options of the servers openapi, graphql and http.
type APIShipping struct {
	From, Base, URL           string
	Tags, paths, names, verbs []string
	Exclude                   []string // KIND=PATTERN
	Auth                      []string // [WHERE=]VARIABLE
	depth                     int
	tools                     []string // of http: templates in JSON, or names of files with them
}

// flags defines the flags in a set.
func (o *APIShipping) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.From, "from", "", "let openapi read the document in a `FILE` or at a URL; graphql its types, from a file with the answer to introspection")
	flags.StringVar(&o.Base, "base", "", "let openapi and http send requests below this `URL`, in place of the document's server")
	flags.StringArrayVar(&o.tools, "tool", nil, "let http have a tool that sends the request of this `TEMPLATE`: JSON, or a file with it (repeatable)")
	flags.StringVar(&o.URL, "url", "", "let graphql use the API at this `URL`")
	flags.StringArrayVar(&o.Tags, "tag", nil, "offer operations with this `TAG` (repeatable)")
	flags.StringArrayVar(&o.paths, "path", nil, "offer operations of paths that match `PATTERN`: * is one segment, ** any number (repeatable)")
	flags.StringArrayVar(&o.names, "operation", nil, "offer operations whose name matches `PATTERN` (repeatable)")
	flags.StringArrayVar(&o.verbs, "method", nil, "offer operations of this `METHOD`, such as GET (repeatable)")
	flags.StringArrayVar(&o.Exclude, "exclude", nil, "offer none that match `KIND=PATTERN`, where KIND is tag, path, operation or method (repeatable)")
	flags.StringArrayVar(&o.Auth, "auth-env", nil, "send the secret in the variable `[WHERE=]NAME` of the environment (repeatable)")
	flags.IntVar(&o.depth, "depth", 0, "let graphql ask for so many `LEVELS` of a result where a call does not say which fields (default 2)")
}

// openAPI returns the server of an OpenAPI document.
func openAPI(ctx context.Context, a *cli.App, o *APIShipping) (mcp.Handler, error) {
	if o.From == "" {
		return nil, cli.Usagef("openapi needs a document: junction serve openapi --from FILE|URL")
	}
	options := openapi.Options{
		From: openAPIAt(a.Place, o.From), Include: openapi.Selection{Tags: o.Tags, Paths: o.paths, Operations: o.names, Methods: o.verbs}, Secrets: map[string]string{},
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
		if c, ok := credentialIn(where, secret); ok && c.Name != "" { // names of schemes have no colon
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
		a.Screen.Printf("%d operations are no tools; --verbose says why.\n", len(s.Skipped))
	}
	return s, nil
}

// openAPIAt returns the URL or the path of a document.
func openAPIAt(p place.Place, from string) string {
	if strings.Contains(from, "://") {
		return from
	}
	return p.Path(from)
}

// graphQL returns the server of a GraphQL API.
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

// credentials returns the credentials of --auth-env for a server without a document. The default is
// a bearer token.
func (o *APIShipping) credentials(p place.Place) (all []httptool.Credential, err error) {
	for _, text := range o.Auth {
		where, secret, err := secretOf(p, text)
		if err != nil {
			return nil, err
		}
		c, ok := credentialIn(cmp.Or(where, string(httptool.Bearer)), secret)
		if !ok {
			return nil, cli.Usagef("--auth-env %s: expected bearer, basic, header:NAME, query:NAME or cookie:NAME in front of =", text)
		}
		all = append(all, c)
	}
	return all, nil
}

// secretOf parses [WHERE=]VARIABLE, and returns where the secret goes and the value of the
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

// credentialIn returns a credential at the place that where names. ok is false for an unknown
// place.
func credentialIn(where, secret string) (c httptool.Credential, ok bool) {
	at, name, named := strings.Cut(where, ":")
	c = httptool.Credential{In: httptool.Place(at), Name: name, Value: secret}
	if named {
		return c, slices.Contains([]httptool.Place{httptool.Header, httptool.Query, httptool.Cookie}, c.In)
	}
	return c, c.In == httptool.Bearer || c.In == httptool.Basic
}
