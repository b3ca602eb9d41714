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
	defaultRendered = 1_200 // tokens of the definitions for one search
	maxRenderDepth  = 32    // depth of nested schemas whose texts are shortened
)

// brevity holds the maximum numbers of characters of a tool's description and of a parameter's.
type brevity struct{ description, parameter int }

// Rendered fits the definitions of a search's hits into budget tokens; the default is 1,200. The
// tools must be ordered by rank, the best first. They stay unchanged if they fit. Otherwise
// Rendered shortens the tools that exceed their share, in steps. It cuts long descriptions at the
// end of a sentence; it also cuts the descriptions of parameters, and finally removes them. It
// removes parts of a schema that do not affect which arguments are valid (title, examples,
// $comment). If the tools still do not fit, it drops tools from the end. It never drops the first
// tool, which may exceed the budget. An invalid schema stays unchanged. Rendered returns copies and
// does not change tools.
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

// sentences returns text cut to max characters. It cuts at the end of a sentence if that leaves at
// least half of them.
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

// appendSchema appends a valid schema with descriptions of at most max characters, and without the
// parts that do not affect validation.
func appendSchema(dst, s []byte, max, depth int) []byte {
	if depth >= maxRenderDepth || !isObject(s) && s[0] != '[' {
		return append(dst, s...)
	}
	if s[0] == '[' {
		list := jsonrpc.NewArray(dst)
		jsonrpc.EachElement(s, func(value []byte) bool {
			if isObject(value) { // nested lists are ignored
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

// appendMembers appends the object s. The function f appends the value of each member; if f returns
// nil, the member is omitted.
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

// Server is a server in an Overview.
type Server struct {
	Name  string // configured name
	About string // purpose; only its first sentence is shown, shortened if needed
	Tools int    // number of its tools
}

// overviewHead tells the model how to find unlisted tools.
const overviewHead = `Most tools are not listed here. Find them with search_tools, which knows the tools of these servers (and how many each has). Whatever is asked, search before you say that it cannot be done.`

// SearchTool returns the definition of the tool search_tools, with which a model searches. Its
// argument queries contains one query for each step of a task. The definition never changes, so
// that prompt caches hit; Overview names the servers. A program that offers the tool handles its
// calls with SearchAll and Merge.
func SearchTool() Tool {
	return Tool{
		ID:   "search_tools",
		Name: "search_tools",
		Description: "Finds tools by what they do and makes them callable. Write one query for each step of the task: the action and the thing it acts on, in general words, like " +
			`"create calendar event". Leave out names and values of the task at hand. If the answer says that the match is weak, try other words once; then probably no tool fits.`,
		Schema: json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string","maxLength":500},"minItems":1,"maxItems":8,"description":"one query for each step"}},"required":["queries"],"additionalProperties":false}`),
	}
}

// Overview returns a text for a model that does not see the definitions of all tools. The text
// tells how to find tools, and lists the servers, each with the number of its tools and a short
// line about its purpose. It has at most budget tokens; the default is 1,600. If it would be
// longer, Overview cuts the lines about the purpose, then omits them, then omits the numbers.
// Finally it lists as many names as fit, and the number of other servers. Servers are sorted by
// name, so that the same servers have the same text. Texts of servers are reduced to one line
// without invisible characters.
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

// overviewLines returns a line for each server, with at most about characters of its purpose.
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

// overviewNames returns a text with as many names of servers as fit. It omits words that most names
// contain.
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

// distinctive returns a server's name without the words "mcp" and "server".
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

// firstSentence returns the beginning of a text, up to the first end of a sentence or a line.
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

// Servers returns all servers in the Index that have tools, sorted by name, for Overview.
func (x *Index) Servers() []Server { return slices.Clone(x.table().servers) }
