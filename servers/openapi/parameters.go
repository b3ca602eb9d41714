package openapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/servers/httptool"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

const maxParameters = 300 // parameters of one operation

// A parameter is a parameter of an operation.
type parameter struct {
	in, name, argument string
	description        string
	required           bool
	schema             part   // has a member "schema"; dropped after the tool is made
	media              string // media type, if the value is encoded as one; empty means a style
	style              string
	explode            bool
	reserved           bool // allowReserved
	slashes            bool // a value in a path may have several segments
}

// unsettable lists headers that OpenAPI excludes from parameters (3.1, Parameter Object), or that
// would change the request itself.
var unsettable = []string{
	"Accept", "Content-Type", "Authorization", "Proxy-Authorization", "Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Te", "Trailer",
	"Keep-Alive", "Cookie", "Expect", "Accept-Encoding",
}

// parametersOf returns the parameters of an operation and of its path. Those of the operation
// override those of the path. Credentials are omitted, because callers do not set them.
func (d *document) parametersOf(item, operation part, secrets []httptool.Credential) ([]*parameter, error) {
	var all []*parameter
	for _, from := range []part{item, operation} {
		for _, e := range from.List("parameters") {
			o, ok := e.(*tree.Object)
			if !ok {
				continue
			}
			target, _, err := d.follow(part{from.file, o})
			if err != nil {
				return nil, fmt.Errorf("a parameter: %w", err)
			}
			p, err := readParameter(target)
			if err != nil {
				return nil, err
			}
			if p == nil || isCredential(p, secrets) {
				continue
			}
			same := slices.IndexFunc(all, func(q *parameter) bool { return q.in == p.in && q.name == p.name })
			if same >= 0 {
				all[same] = p
				continue
			}
			if all = append(all, p); len(all) > maxParameters {
				return nil, fmt.Errorf("it has more than %d parameters", maxParameters)
			}
		}
	}
	return all, nil
}

// readParameter reads a parameter. It returns nil for an unsettable header.
func readParameter(from part) (*parameter, error) {
	p := &parameter{in: from.Text("in"), name: from.Text("name"), description: from.Text("description"), required: from.True("required"), schema: from}
	defaults := map[string]string{"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
	if p.name == "" || defaults[p.in] == "" {
		return nil, fmt.Errorf("parameter %q in %q: expected a name, and path, query, header or cookie", p.name, p.in)
	}
	if p.in == "header" {
		if slices.Contains(unsettable, http.CanonicalHeaderKey(p.name)) {
			return nil, nil
		}
		if (httptool.Credential{In: httptool.Header, Name: p.name, Value: "-"}).Check() != nil {
			return nil, fmt.Errorf("parameter %q is not a valid name of a header", p.name)
		}
	}
	p.style = cmp.Or(from.Text("style"), defaults[p.in])
	styles := map[string][]string{
		"path": {"simple", "label", "matrix"}, "query": {"form", "spaceDelimited", "pipeDelimited", "deepObject"}, "header": {"simple"}, "cookie": {"form"},
	}
	if !slices.Contains(styles[p.in], p.style) {
		return nil, fmt.Errorf("parameter %q: a style %q is not one of %s", p.name, p.style, strings.Join(styles[p.in], ", "))
	}
	p.explode = p.style == "form"
	if from.Has("explode") {
		p.explode = from.True("explode")
	}
	p.reserved = from.True("allowReserved")
	p.slashes = p.in == "path" && (p.reserved || from.True("x-multi-segment"))
	p.required = p.required || p.in == "path"
	if content := from.Object.Object("content"); content.Len() > 0 {
		p.media = content.Names()[0]
		p.schema = from.at("content").at(p.media)
	}
	return p, nil
}

// isCredential reports whether a parameter is set by a credential.
func isCredential(p *parameter, secrets []httptool.Credential) bool {
	return slices.ContainsFunc(secrets, func(c httptool.Credential) bool {
		switch c.In {
		case httptool.Header:
			return p.in == "header" && strings.EqualFold(p.name, c.Name)
		case httptool.Query, httptool.Cookie:
			return p.in == string(c.In) && p.name == c.Name
		}
		return false
	})
}

// values sets the path, the query, the headers and the cookies of a request from the arguments.
func (o *operation) values(given *tree.Object, r *httptool.Request) error {
	segments, query, cookies := map[string]string{}, []string{}, []string{}
	for _, p := range o.parameters {
		if !given.Has(p.argument) || given.Get(p.argument) == nil && !p.required {
			continue
		}
		value := given.Get(p.argument)
		if p.media != "" {
			value = p.asMedia(value)
		}
		err := error(nil)
		switch p.in {
		case "path":
			segments[p.name], err = p.inPath(value)
		case "query":
			var pairs []string
			pairs, err = p.inQuery(value)
			query = append(query, pairs...)
		case "header":
			var text string
			text, err = p.inHeader(value)
			r.Header.Set(p.name, text)
		case "cookie":
			var pairs []string
			pairs, err = p.inQuery(value)
			cookies = append(cookies, pairs...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.argument, err)
		}
	}
	if err := o.checkNames(query); err != nil {
		return err
	}
	if len(cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(cookies, "; "))
	}
	template, _, _ := strings.Cut(o.path, "#") // some documents use a fragment or a query to distinguish operations
	template, fixed, _ := strings.Cut(template, "?")
	path, err := fillPath(template, segments)
	if err != nil {
		return err
	}
	if fixed != "" {
		query = append([]string{fixed}, query...)
	}
	if r.URL, err = httptool.ParseEscaped("", path); err != nil {
		return err
	}
	r.URL.RawQuery = strings.Join(query, "&")
	return nil
}

// asMedia encodes a value as JSON. If the media type is not JSON, it returns strings unchanged.
func (p *parameter) asMedia(value any) any {
	if text, ok := value.(string); ok && !strings.Contains(p.media, "json") {
		return text
	}
	return string(tree.Append(nil, value))
}

// checkNames returns an error if a member of an argument would act as a credential in the query.
func (o *operation) checkNames(query []string) error {
	for _, pair := range query {
		name, _, _ := strings.Cut(pair, "=")
		for _, reserved := range o.secretNames {
			if name == escape(reserved) {
				return fmt.Errorf("%s: the call does not have it", reserved)
			}
		}
	}
	return nil
}

// fillPath returns the path with the arguments filled in. No argument can change the structure of
// the path.
func fillPath(template string, values map[string]string) (string, error) {
	var out []string
	for segment := range strings.SplitSeq(strings.TrimPrefix(template, "/"), "/") {
		filled := replaceNames(segment, values)
		if strings.Contains(segment, "{") {
			for part := range strings.SplitSeq(filled, "/") {
				if err := httptool.CheckSegment(part); err != nil {
					return "", fmt.Errorf("path %s: %w", template, err)
				}
			}
		}
		if strings.ContainsAny(filled, "{}") {
			return "", fmt.Errorf("path %s: no argument for %s", template, segment)
		}
		out = append(out, filled)
	}
	return "/" + strings.Join(out, "/"), nil
}

// replaceNames replaces each {name} by its value in one pass, so that braces in values have no
// effect.
func replaceNames(text string, values map[string]string) string {
	var out strings.Builder
	for {
		start := strings.IndexByte(text, '{')
		end := strings.IndexByte(text, '}')
		if start < 0 || end < start {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(text[:start])
		if value, ok := values[text[start+1:end]]; ok {
			out.WriteString(value)
		} else {
			out.WriteString(text[start : end+1])
		}
		text = text[end+1:]
	}
}
