package toolsearch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
)

const (
	defaultRendered = 1_200 // tokens of the definitions of one search
	maxRenderDepth  = 32    // schemas inside each other whose texts are shortened
)

// brevity is how long texts may be.
type brevity struct{ description, parameter int }

// Rendered fits the definitions of the hits of a search, the best first, into budget tokens, default 1,200. Tools that
// fit stay as they are. If they cost too much together, those that cost more than their share are shortened, in steps:
// long descriptions are cut at the end of a sentence, those of parameters too and at last left out, and what a schema
// has for readers only (title, examples, $comment) is left out. What arguments are valid stays the same. If that is not
// enough tools are dropped from the end, but never the first: it may exceed the budget. A schema that is not JSON stays
// as it is. The argument is not changed.
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
				t := tools[i]
				t.Description = sentences(t.Description, b.description)
				if len(t.Schema) <= maxSchemaBytes && isObject(t.Schema) && jsonrpc.Valid(t.Schema, jsonrpc.Limits{}) == nil {
					t.Schema = appendSchema(make([]byte, 0, len(t.Schema)), t.Schema, b.parameter, 0)
				}
				out[i] = t
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

// sentences returns text cut to max characters, at the end of a sentence if that leaves at least half of it.
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

// appendSchema appends a valid schema with descriptions of at most max characters, and without what only readers need.
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

// appendMembers appends the object s with the values that f appends; a member for which f returns nil is left out.
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

const (
	defaultOverview = 1_600 // tokens of an Overview; with SearchTool it stays below 2,000
	maxServerName   = 64    // characters of a server's name in an Overview
)

// Server is a server as an Overview shows it.
type Server struct {
	Name  string // as people know it
	About string // what it is for; only its first sentence is shown, cut to the room there is
	Tools int    // how many tools it has
}

// overviewHead says how the tools that are not listed are found.
const overviewHead = `Most tools are not listed here. Find them with search_tools, which knows the tools of these servers (and how many each has). Whatever is asked, search before you say that it cannot be done.`

// SearchTool is the definition of the tool with which a model searches: name search_tools, argument queries, one query
// a step. It is the same text always, so that prompt caches hit; Overview names the servers. Whoever offers it answers
// its calls with SearchAll and Merge.
func SearchTool() Tool {
	return Tool{
		ID:   "search_tools",
		Name: "search_tools",
		Description: "Finds tools by what they do and makes them callable. Write one query for each step of the task: the action and the thing it acts on, in general words, like " +
			`"create calendar event". Leave out names and values of the task at hand. If the answer says that the match is weak, try other words once; then probably no tool fits.`,
		Schema: json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string","maxLength":500},"minItems":1,"maxItems":8,"description":"one query for each step"}},"required":["queries"],"additionalProperties":false}`),
	}
}

// Overview is a text for a model that does not see the definitions of all tools: how to find them, and which servers
// there are, each with the number of its tools and a short line on what it is for. It costs at most budget tokens,
// default 1,600. Where the room is short the lines are cut, then left out, then the numbers; at last only as many names
// are listed as there is room for, and the number of the others. The order is that of the names, so that the same
// servers make the same text. What servers say of themselves is made to fit one line, and nothing in it is invisible.
func Overview(servers []Server, budget int) string {
	budget = cmp.Or(max(budget, 0), defaultOverview)
	servers = slices.Clone(servers)
	slices.SortStableFunc(servers, func(a, b Server) int { return cmp.Compare(a.Name, b.Name) })
	for i := range servers {
		s := &servers[i]
		s.Name = plaintext.Line(s.Name, maxServerName)
		s.About = plaintext.Line(firstSentence(s.About), 100)
	}
	for _, about := range []int{100, 70, 50, 30, 0} {
		if text := overviewLines(servers, about); Tokens(text) <= budget {
			return text
		}
	}
	return overviewNames(servers, budget)
}

// overviewLines has a line for each server, with at most so many characters of what it is about.
func overviewLines(servers []Server, about int) string {
	var b strings.Builder
	b.WriteString(overviewHead)
	for _, s := range servers {
		fmt.Fprintf(&b, "\n- %s (%d)", s.Name, s.Tools)
		if text := plaintext.Line(s.About, about); about > 0 && text != "" {
			b.WriteString(": " + text)
		}
	}
	return b.String()
}

// overviewNames has the names alone, as many as there is room for. Words that
// most servers have in their names are left out.
func overviewNames(servers []Server, budget int) string {
	const more = len(", and 1000000 more")
	var b strings.Builder
	b.WriteString(overviewHead + "\n")
	room := budget*charsPerToken - utf8.RuneCountInString(overviewHead) - 1
	for i, s := range servers {
		name := distinctive(s.Name)
		if i > 0 {
			name = ", " + name
		}
		if room -= utf8.RuneCountInString(name); room < more && i < len(servers)-1 || room < 0 {
			fmt.Fprintf(&b, ", and %d more", len(servers)-i)
			break
		}
		b.WriteString(name)
	}
	return b.String()
}

// distinctive is a server's name without the words that say that it is a server.
func distinctive(name string) string {
	words := slices.DeleteFunc(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '-' || r == '_' }), func(w string) bool {
		w = strings.ToLower(w)
		return w == "mcp" || w == "server"
	})
	if len(words) == 0 {
		return name
	}
	return strings.Join(words, " ")
}

// firstSentence is the beginning of a text, up to the first end of a sentence or line.
func firstSentence(text string) string {
	text = strings.TrimSpace(plaintext.Beginning(text, 1_000))
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSuffix(strings.TrimSpace(text), ".")
}

// Servers returns the servers that have tools in the Index, in the order of their names, for an Overview.
func (x *Index) Servers() []Server { return slices.Clone(x.table().servers) }
