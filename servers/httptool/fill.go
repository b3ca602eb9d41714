package httptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

// pieces is a text split at its arguments.
type pieces []piece

// A piece is a literal text or, if argument is set, the argument with that name.
type piece struct{ text, argument string }

// lone returns the argument that is the only piece, or "".
func (p pieces) lone() string {
	if len(p) == 1 {
		return p[0].argument
	}
	return ""
}

// parsePieces splits a text at each {name}.
func parsePieces(text string) (pieces, error) {
	var all pieces
	var plain strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case (c == '{' || c == '}') && i+1 < len(text) && text[i+1] == c:
			plain.WriteByte(c)
			i++
		case c == '{':
			end := strings.IndexAny(text[i+1:], "{}")
			if end <= 0 || text[i+1+end] != '}' {
				return nil, fmt.Errorf("%q: expected {name}; for a literal brace, write it twice", text)
			}
			if plain.Len() > 0 {
				all = append(all, piece{text: plain.String()})
				plain.Reset()
			}
			all = append(all, piece{argument: text[i+1 : i+1+end]})
			i += end + 1
		case c == '}':
			return nil, fmt.Errorf("%q: } without {; for a literal brace, write it twice", text)
		default:
			plain.WriteByte(c)
		}
	}
	if plain.Len() > 0 || len(all) == 0 {
		all = append(all, piece{text: plain.String()})
	}
	return all, nil
}

// parseBody replaces each string in a body by its pieces.
func parseBody(value any) (any, error) {
	switch v := value.(type) {
	case string:
		return parsePieces(v)
	case []any:
		for i := range v {
			var err error
			if v[i], err = parseBody(v[i]); err != nil {
				return nil, err
			}
		}
	case *tree.Object:
		for _, name := range v.Names() {
			p, err := parseBody(v.Get(name))
			if err != nil {
				return nil, err
			}
			v.Set(name, p)
		}
	}
	return value, nil
}

// arguments returns the names of all arguments, without duplicates.
func (f *filling) arguments() (names []string) {
	add := func(p pieces) {
		for _, one := range p {
			if one.argument != "" && !slices.Contains(names, one.argument) {
				names = append(names, one.argument)
			}
		}
	}
	for _, p := range f.path {
		add(p)
	}
	for _, p := range append(slices.Clone(f.query), f.header...) {
		add(p.value)
	}
	var walk func(value any)
	walk = func(value any) {
		switch v := value.(type) {
		case pieces:
			add(v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case *tree.Object:
			for _, name := range v.Names() {
				walk(v.Get(name))
			}
		}
	}
	walk(f.body)
	add(f.text)
	return names
}

// call sends the request of a call.
func (f *filling) call(ctx context.Context, client *Client, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	value, err := tree.ParseJSON(arguments)
	if err != nil {
		return nil, err
	}
	given, _ := value.(*tree.Object)
	request, err := f.request(given)
	if err != nil {
		return nil, err
	}
	answer, err := client.Send(ctx, request)
	if err != nil {
		return nil, err
	}
	return client.Result(answer, Shape{Object: f.tool.OutputSchema != nil}), nil
}

func (f *filling) request(given *tree.Object) (*Request, error) {
	path, err := f.fillPath(given)
	if err != nil {
		return nil, err
	}
	r := &Request{Method: f.method, URL: path, Header: http.Header{}}
	if err := f.fillPairs(given, r); err != nil {
		return nil, err
	}
	switch {
	case f.hasBody:
		body, _, err := fillBody(f.body, given)
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		r.Body = tree.Append(nil, body)
		if r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", "application/json")
		}
	case f.template.Text != "":
		text, err := fillText(f.text, given, nil)
		if err != nil {
			return nil, fmt.Errorf("text: %w", err)
		}
		r.Body = []byte(text)
		if r.Header.Get("Content-Type") == "" {
			r.Header.Set("Content-Type", "text/plain; charset=utf-8")
		}
	}
	return r, nil
}

// fillPath returns the URL with filled-in arguments. An argument stays within its segment.
func (f *filling) fillPath(given *tree.Object) (*url.URL, error) {
	segments := make([]string, len(f.path))
	for i, p := range f.path {
		text, err := fillText(p, given, url.PathEscape)
		if err != nil {
			return nil, err
		}
		if len(p) > 1 || p.lone() != "" {
			if err := CheckSegment(text); err != nil {
				return nil, fmt.Errorf("%s: %w", p.named(), err)
			}
		}
		segments[i] = text
	}
	return ParseEscaped(f.origin, "/"+strings.Join(segments, "/"))
}

// named returns the names of a text's arguments, for an error.
func (p pieces) named() string {
	var names []string
	for _, one := range p {
		if one.argument != "" {
			names = append(names, one.argument)
		}
	}
	return strings.Join(names, ", ")
}

// CheckSegment returns an error for an escaped path segment that would change the structure of the
// path: an empty one, "." or "..".
func CheckSegment(escaped string) error {
	switch plain, err := url.PathUnescape(escaped); {
	case err != nil:
		return err
	case plain == "":
		return errors.New("it is empty, which a path cannot have")
	case plain == "." || plain == "..":
		return fmt.Errorf("%q means another path", plain)
	}
	return nil
}

// ParseEscaped returns the URL with an origin, which may be empty, and an escaped path.
func ParseEscaped(origin, escaped string) (*url.URL, error) {
	u := &url.URL{}
	if origin != "" {
		var err error
		if u, err = url.Parse(origin); err != nil {
			return nil, err
		}
	}
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, err
	}
	u.Path, u.RawPath = path, escaped
	return u, nil
}

// fillPairs sets the query and the headers of a request.
func (f *filling) fillPairs(given *tree.Object, r *Request) error {
	var query []string
	for _, p := range f.query {
		values, err := p.values(given)
		if err != nil {
			return err
		}
		for _, v := range values {
			query = append(query, url.QueryEscape(p.name)+"="+url.QueryEscape(v))
		}
	}
	r.URL.RawQuery = strings.Join(query, "&")
	for _, p := range f.header {
		values, err := p.values(given)
		if err != nil {
			return err
		}
		for _, v := range values {
			if !isLine(v) {
				return fmt.Errorf("%s: a header cannot have a line end or another control character", p.value.named())
			}
			r.Header.Add(p.name, v)
		}
	}
	return nil
}

// values returns the values of a pair. There are none if its only argument is missing, and several
// if that argument is a list.
func (p pair) values(given *tree.Object) ([]string, error) {
	name := p.value.lone()
	if name == "" {
		text, err := fillText(p.value, given, nil)
		return []string{text}, err
	}
	list, ok := given.Get(name).([]any)
	if !ok {
		if given.Get(name) == nil {
			return nil, nil
		}
		list = []any{given.Get(name)}
	}
	values := make([]string, len(list))
	for i, e := range list {
		if values[i], ok = tree.Plain(e); !ok {
			return nil, fmt.Errorf("%s: an object or a list is not possible here", name)
		}
	}
	return values, nil
}

// fillText returns a text with filled-in arguments. It escapes each argument unless escape is nil.
func fillText(p pieces, given *tree.Object, escape func(string) string) (string, error) {
	var out strings.Builder
	for _, one := range p {
		text := one.text
		if one.argument != "" {
			var ok bool
			if text, ok = tree.Plain(given.Get(one.argument)); !ok {
				return "", fmt.Errorf("%s: an object or a list is not possible here", one.argument)
			}
			if escape != nil {
				text = escape(text)
			}
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// fillBody fills in the arguments in a value of a body. there is false if the value is a missing
// argument.
func fillBody(value any, given *tree.Object) (filled any, there bool, err error) {
	switch v := value.(type) {
	case pieces:
		if name := v.lone(); name != "" {
			return given.Get(name), given.Get(name) != nil, nil
		}
		text, err := fillText(v, given, nil)
		return text, true, err
	case []any:
		list := []any{}
		for _, e := range v {
			one, there, err := fillBody(e, given)
			if err != nil {
				return nil, false, err
			}
			if there {
				list = append(list, one)
			}
		}
		return list, true, nil
	case *tree.Object:
		o := tree.NewObject()
		for _, name := range v.Names() {
			one, there, err := fillBody(v.Get(name), given)
			if err != nil {
				return nil, false, err
			}
			if there {
				o.Set(name, one)
			}
		}
		return o, true, nil
	}
	return value, true, nil
}
