package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/internal/schema"
)

// SchemaURL is the URL of the server.json schema that [Server.Check] implements.
const SchemaURL = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

const (
	// maxTitle is the largest length of a title or description in characters.
	maxTitle = 100
	// MaxPublished is the largest size of the publisher's data in _meta in bytes.
	MaxPublished = 4 << 10
)

// A Fault is a violation of a rule about server.json.
type Fault struct {
	Where string // path of the member, such as packages[0].version
	What  string // expected and actual value
}

// String returns the fault as one line.
func (f Fault) String() string { return f.Where + ": " + f.What }

// A check collects faults.
type check struct{ faults []Fault }

func (c *check) fail(where, format string, args ...any) {
	c.faults = append(c.faults, Fault{where, fmt.Sprintf(format, args...)})
}

type patterns struct{ namespace, own, version, dotted, github, gitlab, folder, braces, port, hash, image *regexp.Regexp }

var rules = sync.OnceValue(func() *patterns {
	return &patterns{
		namespace: regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])$`),
		own:       regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])$`),
		version:   regexp.MustCompile(`^\s*[~^<>=]|\|\||\s-\s`),
		dotted:    regexp.MustCompile(`^\s*(v?\d+|[xX*])(\.(\d+|[xX*])){1,2}(-[0-9A-Za-z.-]+)?\s*$`),
		github:    regexp.MustCompile(`^https?://(www\.)?github\.com/[\w.-]+/[\w.-]+/?$`),
		gitlab:    regexp.MustCompile(`^https?://(www\.)?gitlab\.com(/[\w.-]+){2,}/?$`),
		folder:    regexp.MustCompile(`^[a-zA-Z0-9._-]+(/[a-zA-Z0-9._-]+)*$`),
		braces:    regexp.MustCompile(`\{([^}]+)\}`),
		port:      regexp.MustCompile(`:\{[^}]+\}`),
		hash:      regexp.MustCompile(`^[a-f0-9]{64}$`),
		image:     regexp.MustCompile(`^[^\s:@]+(:\d+/[^\s:@]+)?(:[^\s:@/]+)?(@sha256:[a-f0-9]{64})?$`),
	}
})

// Check returns the violations of the schema of server.json and of the official registry's rules.
// It checks only the text. Only the registry knows whether names and packages belong to the
// publisher.
func (s *Server) Check() []Fault {
	c := &check{}
	namespace, own, slash := strings.Cut(s.Name, "/")
	if len(s.Name) > maxName || !slash || !rules().namespace.MatchString(namespace) || !rules().own.MatchString(own) {
		c.fail("name", "expected a domain in reverse and a name of two letters or more, such as io.github.owner/server, in up to %d characters, got %q", maxName, s.Name)
	}
	if n := utf8.RuneCountInString(s.Description); strings.TrimSpace(s.Description) == "" || n > maxTitle {
		c.fail("description", "expected 1 to %d characters, got %d", maxTitle, n)
	}
	if n := utf8.RuneCountInString(s.Title); n > maxTitle || n > 0 && strings.TrimSpace(s.Title) == "" {
		c.fail("title", "expected up to %d characters, and not only spaces, got %d", maxTitle, n)
	}
	c.version("version", s.Version, true)
	if r := s.Repository; r != nil {
		switch {
		case r.Source == "github" && !rules().github.MatchString(r.URL), r.Source == "gitlab" && (!rules().gitlab.MatchString(r.URL) || strings.Contains(r.URL+"/", "/-/")):
			c.fail("repository.url", "expected the URL of a repository at %s, such as https://%s.com/owner/name, got %q", r.Source, r.Source, r.URL)
		case r.Source != "github" && r.Source != "gitlab":
			c.fail("repository.source", "expected github or gitlab, got %q", r.Source)
		}
		if r.Subfolder != "" && (!rules().folder.MatchString(r.Subfolder) || slices.ContainsFunc(strings.Split(r.Subfolder, "/"), func(part string) bool { return part == "." || part == ".." })) {
			c.fail("repository.subfolder", "expected a path below the repository such as cmd/server, got %q", r.Subfolder)
		}
	}
	if u, err := url.Parse(s.WebsiteURL); s.WebsiteURL != "" && (err != nil || u.Scheme != "https" || u.Host == "" || strings.ContainsAny(s.WebsiteURL, "\"'<> \t\n\r")) {
		c.fail("websiteUrl", "expected an https URL, got %q", s.WebsiteURL)
	}
	for i := range s.Packages {
		c.pack(fmt.Sprintf("packages[%d]", i), &s.Packages[i])
	}
	for i := range s.Remotes {
		c.remote(fmt.Sprintf("remotes[%d]", i), &s.Remotes[i])
	}
	if len(s.Packages)+len(s.Remotes) == 0 && s.WebsiteURL == "" {
		c.fail("packages", "expected a package or a remote: without one the server cannot be used, unless a websiteUrl explains it")
	}
	current, _ := modernize(s.Raw, "") // cannot fail, because Parse read it
	c.icons(jsonrpc.Get(current, "icons"))
	c.members("", current, schemaOf())
	if n := len(jsonrpc.Get(jsonrpc.Get(current, "_meta"), published)); n > MaxPublished {
		c.fail("_meta", "expected up to %d bytes in %s, got %d", MaxPublished, published, n)
	}
	return c.faults
}

// version checks that a version is a single version and not a range.
func (c *check) version(where, version string, needed bool) {
	switch {
	case version == "" && !needed:
	case version == "" || len(version) > maxVersion:
		c.fail(where, "expected a version in up to %d characters, got %q", maxVersion, version)
	case version == "latest" || rules().version.MatchString(version), rules().dotted.MatchString(version) && strings.ContainsAny(version, "xX*"):
		c.fail(where, "expected one version, got the range %q (the registry treats any x as a wildcard, even in 1.0.0-next)", version)
	}
}

// pack checks a package.
func (c *check) pack(at string, p *Package) {
	if p.Identifier == "" || strings.ContainsFunc(p.Identifier, func(r rune) bool { return r <= ' ' }) {
		c.fail(at+".identifier", "expected a name without spaces, got %q", p.Identifier)
	}
	if p.FileSHA256 != "" && !rules().hash.MatchString(p.FileSHA256) {
		c.fail(at+".fileSha256", "expected 64 hexadecimal digits in small letters, got %q", p.FileSHA256)
	}
	switch kind := runner.Of(p.RegistryType); {
	case kind.Prefixes == nil:
		c.fail(at+".registryType", "expected %s, got %q", runner.Or(runner.Listed(), " or "), p.RegistryType)
	case kind.IsContainer:
		if p.Version != "" {
			c.fail(at+".version", "expected none: an image has its tag or digest in identifier, such as ghcr.io/owner/server:1.0.0")
		}
		if !rules().image.MatchString(p.Identifier) {
			c.fail(at+".identifier", "expected an image with its tag or digest, such as ghcr.io/owner/server:1.0.0, got %q", p.Identifier)
		}
	case kind.Suffix != "":
		c.version(at+".version", p.Version, false)
		if p.FileSHA256 == "" {
			c.fail(at+".fileSha256", "expected the SHA-256 of the file")
		}
		if u, err := url.Parse(p.Identifier); err != nil || u.Scheme != "https" || u.Host == "" || !strings.Contains(strings.ToLower(p.Identifier), "mcp") {
			c.fail(at+".identifier", `expected the https URL of the file, with "mcp" in it, got %q`, p.Identifier)
		}
	default:
		c.version(at+".version", p.Version, true)
	}
	var names []string
	for i, v := range p.EnvironmentVariables {
		names = append(names, v.Name)
		c.input(fmt.Sprintf("%s.environmentVariables[%d]", at, i), &v.Input)
		if v.Name == "" {
			c.fail(fmt.Sprintf("%s.environmentVariables[%d].name", at, i), "expected the name of a variable")
		}
	}
	names = append(append(names, c.arguments(at+".runtimeArguments", p.RuntimeArguments)...), c.arguments(at+".packageArguments", p.PackageArguments)...)
	switch t := &p.Transport; t.Type {
	case "stdio":
		if t.URL != "" {
			c.fail(at+".transport.url", "expected none with stdio, got %q", t.URL)
		}
	default:
		c.transport(at+".transport", t, names)
	}
}

// arguments checks arguments, and returns the names that a URL may contain in braces.
func (c *check) arguments(at string, all []Argument) (names []string) {
	for i := range all {
		a, where := &all[i], fmt.Sprintf("%s[%d]", at, i)
		names = append(names, a.Name, a.ValueHint)
		c.input(where, &a.Input)
		switch a.Type {
		case "named":
			if a.Name == "" || strings.ContainsAny(a.Name, "<> $") {
				c.fail(where+".name", "expected the name alone, with its dashes, such as --port, got %q", a.Name)
				continue
			}
			for _, text := range []string{a.Value, a.Default} {
				if strings.HasPrefix(text, a.Name) {
					c.fail(where, "expected a value or default that does not begin with the argument's name %s, got %q", a.Name, text)
				}
			}
		case "positional":
			if a.Value == "" && a.ValueHint == "" && !a.Blank {
				c.fail(where, "expected a value, or a valueHint that describes it")
			}
		default:
			c.fail(where+".type", "expected named or positional, got %q", a.Type)
		}
	}
	return names
}

func (c *check) input(at string, in *Input) {
	if !slices.Contains([]string{"", "string", "number", "boolean", "filepath"}, in.Format) {
		c.fail(at+".format", "expected string, number, boolean or filepath, got %q", in.Format)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Variables)) {
		v := in.Variables[name]
		c.input(at+".variables."+name, &v)
	}
}

// remote checks a remote.
func (c *check) remote(at string, r *Remote) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		v := r.Variables[name]
		names = append(names, name)
		c.input(at+".variables."+name, &v)
	}
	c.transport(at, r, names)
	u, err := url.Parse(rules().braces.ReplaceAllString(r.URL, "x"))
	if err != nil { // transport reports the error
		return
	}
	if u.Scheme != "https" || outside.IsHere(u.Hostname()) || strings.HasSuffix(u.Hostname(), ".localhost") {
		c.fail(at+".url", "expected an https URL that others can reach, got %q", r.URL)
	}
}

// transport checks the type, headers and address of a transport. names are the names that the
// address may contain in braces.
func (c *check) transport(at string, r *Remote, names []string) {
	if r.Type != "streamable-http" && r.Type != "sse" {
		c.fail(at+".type", "expected streamable-http or sse, got %q", r.Type)
	}
	for i, h := range r.Headers {
		c.input(fmt.Sprintf("%s.headers[%d]", at, i), &h.Input)
		if h.Name == "" {
			c.fail(fmt.Sprintf("%s.headers[%d].name", at, i), "expected the name of a header")
		}
	}
	for _, found := range rules().braces.FindAllStringSubmatch(r.URL, -1) {
		if !slices.Contains(names, found[1]) {
			c.fail(at+".url", "{%s} is neither a variable nor an argument", found[1])
		}
	}
	host := rules().port.ReplaceAllString(r.URL, ":1")
	u, err := url.Parse(rules().braces.ReplaceAllString(host, "x"))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(r.URL, " \t\n\r") {
		c.fail(at+".url", "expected an http or https URL, got %q", r.URL)
	}
}

// published is the key of the publisher's data in _meta. It is the only key that a registry
// accepts.
const published = "io.modelcontextprotocol.registry/publisher-provided"

// An object lists the members that the schema allows, and the schemas of members that are objects
// or lists of objects.
type object struct {
	members []string
	objects map[string]*object
	any     *object // schema of each member if the object is a map; otherwise nil
}

// schemaOf returns the schema of a server.json.
var schemaOf = sync.OnceValue(func() *object {
	input := []string{"description", "isRequired", "format", "value", "isSecret", "default", "placeholder", "choices"}
	variables := &object{any: &object{members: input}}
	with := func(more ...string) *object {
		return &object{members: append(append(more, input...), "variables"), objects: map[string]*object{"variables": variables}}
	}
	transport := &object{members: []string{"type", "url", "headers", "variables"}, objects: map[string]*object{"headers": with("name"), "variables": variables}}
	argument := with("type", "name", "isRepeated", "valueHint")
	return &object{
		members: []string{"$schema", "name", "title", "description", "version", "repository", "websiteUrl", "icons", "packages", "remotes", "_meta"},
		objects: map[string]*object{
			"repository": {members: []string{"url", "source", "id", "subfolder"}},
			"icons":      {members: []string{"src", "mimeType", "sizes", "theme"}},
			"_meta":      {members: []string{published}},
			"remotes":    transport,
			"packages": {
				members: []string{"registryType", "registryBaseUrl", "identifier", "version", "fileSha256", "runtimeHint", "transport", "runtimeArguments", "packageArguments", "environmentVariables"},
				objects: map[string]*object{"transport": transport, "runtimeArguments": argument, "packageArguments": argument, "environmentVariables": with("name")},
			},
		},
	}
})

// members reports members that the schema does not list, because a registry refuses them.
func (c *check) members(at string, value json.RawMessage, o *object) {
	if len(value) > 0 && value[0] == '[' {
		n := 0
		jsonrpc.EachElement(value, func(element []byte) bool {
			c.members(fmt.Sprintf("%s[%d]", at, n), element, o)
			n++
			return true
		})
		return
	}
	jsonrpc.EachMember(value, func(quoted, member []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		where := strings.TrimPrefix(at+"."+name, ".")
		switch {
		case o.any != nil:
			c.members(where, member, o.any)
		case !slices.Contains(o.members, name):
			c.fail(where, "unknown member: the schema has no member with that name here")
		case o.objects[name] != nil:
			c.members(where, member, o.objects[name])
		}
		return true
	})
}

// maxIcon is the largest length of an icon's address in characters.
const maxIcon = 255

var iconSize = lazy.Regexp(`^(\d+x\d+|any)$`)

// icons checks the icons of a server.
func (c *check) icons(list json.RawMessage) {
	if len(list) == 0 {
		return
	}
	var icons []json.RawMessage
	if err := schema.DecodeLoose(list, &icons); err != nil {
		c.fail("icons", "expected a list of icons")
		return
	}
	for i, text := range icons {
		at := fmt.Sprintf("icons[%d]", i)
		var icon struct {
			Src      string   `json:"src"`
			MimeType string   `json:"mimeType"`
			Sizes    []string `json:"sizes"`
			Theme    string   `json:"theme"`
		}
		if err := schema.DecodeLoose(text, &icon); err != nil {
			c.fail(at, "expected src, mimeType and theme as text, and sizes as a list of texts")
			continue
		}
		if u, err := url.Parse(icon.Src); err != nil || u.Scheme != "https" || u.Host == "" || len(icon.Src) > maxIcon {
			c.fail(at+".src", "expected an https URL in up to %d characters, got %q", maxIcon, icon.Src)
		}
		if all := []string{"image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"}; jsonrpc.Get(text, "mimeType") != nil && !slices.Contains(all, icon.MimeType) {
			c.fail(at+".mimeType", "expected one of %s, got %q", strings.Join(all, ", "), icon.MimeType)
		}
		if jsonrpc.Get(text, "theme") != nil && icon.Theme != "light" && icon.Theme != "dark" {
			c.fail(at+".theme", "expected light or dark, got %q", icon.Theme)
		}
		for j, size := range icon.Sizes {
			if !iconSize().MatchString(size) {
				c.fail(fmt.Sprintf("%s.sizes[%d]", at, j), `expected WIDTHxHEIGHT, such as 48x48, or any, got %q`, size)
			}
		}
	}
}
