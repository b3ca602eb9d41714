package toolsearch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/plaintext"
)

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

// SearchTool is the definition of the tool with which a model searches: name
// search_tools, argument queries, one query a step. It is the same text
// always, so that prompt caches hit; Overview names the servers. Whoever offers it answers its calls with
// SearchAll and Merge.
func SearchTool() Tool {
	return Tool{
		ID:   "search_tools",
		Name: "search_tools",
		Description: "Finds tools by what they do and makes them callable. Write one query for each step of the task: the action and the thing it acts on, in general words, like " +
			`"create calendar event". Leave out names and values of the task at hand. If the answer says that the match is weak, try other words once; then probably no tool fits.`,
		Schema: json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string","maxLength":500},"minItems":1,"maxItems":8,"description":"one query for each step"}},"required":["queries"],"additionalProperties":false}`),
	}
}

// Overview is a text for a model that does not see the definitions of all tools: how
// to find them, and which servers there are, each with the number of its tools
// and a short line on what it is for. It costs at most budget tokens, default
// 1,600. Where the room is short the lines are cut, then left out, then the
// numbers; at last only as many names are listed as there is room for, and
// the number of the others. The order is that of the names, so that the same servers make
// the same text. What servers say of themselves is made to fit one line, and
// nothing in it is invisible.
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

// Servers returns the servers that have tools in the Index, in the order of
// their names, for an Overview.
func (x *Index) Servers() []Server { return slices.Clone(x.table().servers) }
