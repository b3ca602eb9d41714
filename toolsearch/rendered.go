package toolsearch

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

const (
	defaultRendered = 1_200 // tokens of the definitions of one search
	maxRenderDepth  = 32    // schemas inside each other whose texts are shortened
)

// brevity is how long texts may be.
type brevity struct{ description, parameter int }

// Rendered fits the definitions of the hits of a search, the best first, into
// budget tokens, default 1,200. Tools that fit stay as they are. If they
// cost too much together, those that cost more than their share are
// shortened, in steps: long descriptions are cut at the end of a sentence, those of
// parameters too and at last left out, and what a schema has for readers only (title, examples,
// $comment) is left out. What arguments are valid stays the same. If that is
// not enough tools are dropped from the end, but never the first: it may exceed
// the budget. A schema that is not JSON stays as it is. The argument is not changed.
func Rendered(tools []Tool, budget int) []Tool {
	budget = cmp.Or(max(budget, 0), defaultRendered)
	out := append([]Tool(nil), tools...)
	for _, b := range []brevity{{600, 200}, {400, 120}, {250, 80}, {160, 40}, {120, 0}} {
		if cost(out) <= budget {
			return out
		}
		share := budget / len(out)
		for i := range out {
			if tools[i].Tokens() > share {
				out[i] = tools[i].shortened(b)
			}
		}
	}
	for len(out) > 1 && cost(out) > budget {
		out = out[:len(out)-1]
	}
	return out
}

func cost(tools []Tool) int {
	sum := 0
	for i := range tools {
		sum += tools[i].Tokens()
	}
	return sum
}

// shortened returns t with texts of at most the lengths in b.
func (t Tool) shortened(b brevity) Tool {
	t.Description = sentences(t.Description, b.description)
	if len(t.Schema) <= maxSchemaBytes && isObject(t.Schema) && jsonrpc.Valid(t.Schema, jsonrpc.Limits{}) == nil {
		t.Schema = appendSchema(make([]byte, 0, len(t.Schema)), t.Schema, b.parameter, 0)
	}
	return t
}

// sentences returns text cut to max characters, at the end of a sentence if
// that leaves at least half of it.
func sentences(text string, max int) string {
	if utf8.RuneCountInString(text) <= max {
		return text
	}
	end := 0
	for range max - 1 {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	if i := strings.LastIndexAny(text[:end], ".!?\n"); i >= end/2 {
		return strings.TrimSpace(text[:i+1])
	}
	return strings.TrimSpace(text[:end]) + "…"
}

// appendSchema appends a valid schema with descriptions of at most max
// characters, and without what only readers need.
func appendSchema(dst, s []byte, max, depth int) []byte {
	if depth >= maxRenderDepth || !isObject(s) && s[0] != '[' {
		return append(dst, s...)
	}
	if s[0] == '[' {
		list := jsonrpc.NewArray(dst)
		jsonrpc.EachElement(s, func(value []byte) bool {
			if isObject(value) { // no lists in lists
				value = appendSchema(nil, value, max, depth)
			}
			list.Element(value)
			return true
		})
		return list.Bytes()
	}
	return appendMembers(dst, s, func(dst, name, value []byte) []byte {
		keyword := string(name[1 : len(name)-1])
		switch keyword {
		case "title", "examples", "$comment", "$schema":
			return nil
		case "description":
			if max == 0 {
				return nil
			}
			if text, ok := jsonrpc.Unquote(value); ok {
				return jsonrpc.AppendString(dst, sentences(text, max))
			}
		}
		switch schema.PlaceOf(keyword) {
		case schema.Named:
			if !isObject(value) {
				return append(dst, value...)
			}
			return appendMembers(dst, value, func(dst, _, value []byte) []byte { return appendSchema(dst, value, max, depth+1) })
		case schema.One, schema.List:
			return appendSchema(dst, value, max, depth+1)
		}
		return append(dst, value...)
	})
}

// appendMembers appends the object s with the values that f appends; a member
// for which f returns nil is left out.
func appendMembers(dst, s []byte, f func(dst, name, value []byte) []byte) []byte {
	dst = append(dst, '{')
	first := true
	jsonrpc.EachMember(s, func(name, value []byte) bool {
		next := dst
		if !first {
			next = append(next, ',')
		}
		if next = f(append(append(next, name...), ':'), name, value); next != nil {
			dst, first = next, false
		}
		return true
	})
	return append(dst, '}')
}
