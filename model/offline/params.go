package offline

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// What is read of a schema that somebody else wrote.
const (
	maxParams = 64 // parameters of one tool
	maxRefs   = 8  // references in a row
)

// A param is one parameter of a tool, as far as a value can be found for it.
type param struct {
	name        string
	words       []string // of the name, in lower case
	description string
	required    bool
	types       []string // JSON types; none means any
	choices     []string // the only values; nil if there are others
	format      string
	items       *param // of a list
}

// paramsOf reads the parameters of a schema in its order, those that are
// required first. A schema that is no JSON object has none.
func paramsOf(schema json.RawMessage) []*param {
	members, fault := jsonrpc.Index(schema, jsonrpc.Limits{})
	if fault != nil {
		return nil
	}
	var required []string
	jsonrpc.EachElement(members.Get("required"), func(value []byte) bool {
		name, _ := jsonrpc.Unquote(value)
		required = append(required, name)
		return len(required) < maxParams
	})
	var params []*param
	jsonrpc.EachMember(members.Get("properties"), func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		p := readParam(schema, value)
		p.name, p.words = name, split(name)
		p.required = slices.Contains(required, name) && jsonrpc.Get(value, "default") == nil
		params = append(params, p)
		return len(params) < maxParams
	})
	slices.SortStableFunc(params, func(a, b *param) int { return rank(a) - rank(b) })
	return params
}

func rank(p *param) int {
	if p.required {
		return 0
	}
	return 1
}

func readParam(root, raw json.RawMessage) *param {
	p := &param{description: text(raw, "description")}
	raw = resolved(root, raw)
	if p.description == "" {
		p.description = text(raw, "description")
	}
	p.format = text(raw, "format")
	p.read(root, raw)
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		jsonrpc.EachElement(jsonrpc.Get(raw, keyword), func(value []byte) bool {
			p.read(root, resolved(root, value))
			return len(p.choices) < maxParams
		})
	}
	return p
}

// read adds what one schema says to what its alternatives said.
func (p *param) read(root, raw json.RawMessage) {
	add := func(value []byte) bool {
		if name, ok := jsonrpc.Unquote(value); ok && name != "null" && !slices.Contains(p.types, name) {
			p.types = append(p.types, name)
		}
		return true
	}
	if kind := jsonrpc.Get(raw, "type"); kind != nil {
		add(kind)
		jsonrpc.EachElement(kind, add)
	}
	choose := func(value []byte) bool {
		choice, isText := jsonrpc.Unquote(value)
		if !isText {
			choice = string(value)
		}
		p.choices = append(p.choices, choice)
		return len(p.choices) < maxParams
	}
	if only := jsonrpc.Get(raw, "const"); only != nil {
		choose(only)
	}
	jsonrpc.EachElement(jsonrpc.Get(raw, "enum"), choose)
	if items := jsonrpc.Get(raw, "items"); items != nil && p.items == nil {
		p.items = &param{}
		p.items.read(root, resolved(root, items))
	}
}

// resolved follows references inside the schema.
func resolved(root, raw json.RawMessage) json.RawMessage {
	for range maxRefs {
		pointer, found := strings.CutPrefix(text(raw, "$ref"), "#/")
		if !found {
			return raw
		}
		raw = root
		for name := range strings.SplitSeq(pointer, "/") {
			raw = jsonrpc.Get(raw, strings.NewReplacer("~1", "/", "~0", "~").Replace(name))
		}
	}
	return nil
}

func text(raw json.RawMessage, name string) string {
	s, _ := jsonrpc.Unquote(jsonrpc.Get(raw, name))
	return s
}

func (p *param) is(kinds ...string) bool {
	return slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(p.types, kind) })
}

func (p *param) numeric() bool { return p.is("number", "integer") }

// textual reports whether any text will do. Where nothing is said, it will.
func (p *param) textual() bool {
	return (p.is("string") || len(p.types) == 0) && p.choices == nil
}

func (p *param) list() bool { return p.is("array") && !p.is("string") }

// named reports whether one of the words is in the name.
func (p *param) named(words ...string) bool {
	return slices.ContainsFunc(p.words, func(w string) bool { return slices.Contains(words, w) })
}

// free reports whether the text is a person's own, of more than one word.
func (p *param) free() bool {
	return p.named("message", "text", "content", "contents", "body", "query", "prompt", "note", "comment", "question")
}

// takes reports whether a value of this kind is what the parameter is for, by
// its format or its name.
func (p *param) takes(k kind) bool {
	if list := p.list() && p.items != nil && (p.items.is("string") || len(p.items.types) == 0); !list && !p.textual() {
		return false
	}
	switch k {
	case url:
		return strings.HasPrefix(p.format, "ur") || p.format == "iri" ||
			p.named("url", "urls", "uri", "uris", "link", "links", "href", "website", "endpoint")
	case email:
		return p.format == "email" || p.named("email", "emails", "mail", "recipient", "recipients")
	case date:
		return strings.HasPrefix(p.format, "date") || p.named("date", "day", "since", "until", "before", "after", "deadline", "start", "end")
	case path:
		words := split(p.description)
		return p.named("path", "paths", "file", "files", "folder", "directory", "dir", "filename") ||
			slices.ContainsFunc(words, func(w string) bool {
				return slices.Contains([]string{"path", "paths", "file", "folder", "directory"}, w)
			})
	}
	return false
}

// kindName is the parameter's type for people.
func (p *param) kindName() string {
	switch {
	case len(p.choices) > 0:
		return strings.Join(p.choices[:min(len(p.choices), 8)], " or ")
	case len(p.types) == 0:
		return "any value"
	case p.list() && p.items != nil && len(p.items.types) == 1:
		return "list of " + p.items.types[0] + "s"
	}
	return strings.Join(p.types, " or ")
}

// split takes a text or an identifier apart into words in lower case.
func split(s string) []string {
	var words []string
	start, last := -1, ' '
	for i, r := range s {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if start >= 0 && (!letter || unicode.IsUpper(r) && unicode.IsLower(last)) {
			words = append(words, strings.ToLower(s[start:i]))
			start = -1
		}
		if letter && start < 0 {
			start = i
		}
		last = r
	}
	if start >= 0 {
		words = append(words, strings.ToLower(s[start:]))
	}
	return words
}
