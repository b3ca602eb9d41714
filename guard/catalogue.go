package guard

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxNames is the maximum number of tool names in a Catalogue.
const maxNames = 200_000

// A Catalogue holds the names of all servers' tools, which only a host or a gateway knows together.
// It detects a server that writes about tools of another one. The zero value is empty, and a nil
// Catalogue stays empty. It is safe for concurrent use.
type Catalogue struct {
	mu      sync.RWMutex
	servers map[string][]toolName          // tools by server
	owners  map[string]map[string]struct{} // servers by tool name in lower case
	short   map[string]map[string]struct{} // names of each server's tools without their prefixes
	missed  map[string]bool                // servers whose names did not all fit
	count   int
}

// A toolName is the name of a tool, as sent and folded for comparisons.
type toolName struct{ name, folded string }

// Set replaces the tools of a server. It ignores names beyond 200,000 of all servers; every
// definition then gets a finding about that.
func (c *Catalogue) Set(server string, tools ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.servers == nil {
		c.servers, c.owners, c.missed = map[string][]toolName{}, map[string]map[string]struct{}{}, map[string]bool{}
		c.short = map[string]map[string]struct{}{}
	}
	for _, tool := range c.servers[server] {
		name := strings.ToLower(tool.name)
		if delete(c.owners[name], server); len(c.owners[name]) == 0 {
			delete(c.owners, name)
		}
	}
	c.count -= len(c.servers[server])
	delete(c.servers, server)
	delete(c.short, server)
	delete(c.missed, server)
	if room := maxNames - c.count; len(tools) > room {
		tools, c.missed[server] = tools[:room], true
	}
	if len(tools) == 0 {
		return
	}
	names := make([]toolName, 0, len(tools))
	for _, name := range tools {
		names = append(names, toolName{name: name, folded: foldName(name)})
	}
	c.servers[server], c.count = names, c.count+len(tools)
	c.short[server] = make(map[string]struct{}, len(tools))
	for _, name := range tools {
		c.short[server][withoutPrefix(name)] = struct{}{}
		name = strings.ToLower(name)
		if c.owners[name] == nil {
			c.owners[name] = map[string]struct{}{}
		}
		c.owners[name][server] = struct{}{}
	}
}

// owner returns another server that has a tool with the name. It returns "" if server itself has
// one. A name without its prefix also counts as the server's own: a server with jira_get_issue may
// write get_issue for short.
func (c *Catalogue) owner(name, server string) string {
	name = strings.ToLower(name)
	owners := c.owners[name]
	if _, own := owners[server]; own || len(owners) == 0 {
		return ""
	}
	if _, own := c.short[server][name]; own {
		return ""
	}
	first := ""
	for owner := range owners {
		if first == "" || owner < first {
			first = owner
		}
	}
	return first
}

// withoutPrefix returns a tool's name after its first part, in lower case, or "" if it has only one
// part.
func withoutPrefix(name string) string {
	if at := strings.IndexAny(name, "_-./:"); at > 0 {
		return strings.ToLower(name[at+1:])
	}
	return ""
}

// addReferences adds a signal if a definition or instructions name a tool of another server. The
// signal weighs more if the same text has an order.
func (c *Catalogue) addReferences(s *scan) {
	if c == nil || !isProse(s.at, s.layer.text) {
		return
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.count == 0 {
		return
	}
	if len(c.missed) > 0 {
		s.report.cutShort(s.at.Field, "too many tools to check all names")
	}
	names := theLanguage().names
	ordered := s.means(0, len(s.words), names["must"]|names["before"]|names["use"]|names["instead"]|names["away"])
	eachIdentifier(s.layer.text, func(start, end int) bool {
		name := s.layer.text[start:end]
		if !isDistinct(name) && !isMarked(s.layer.text, start, end) {
			return true
		}
		owner := c.owner(name, s.at.Server)
		if owner == "" {
			return true
		}
		weight := warnAt + 1
		switch {
		case isExampleList(s.layer.text, start):
			weight = 3
		case ordered:
			weight = blockAt
		}
		s.add("other-server", "writes about a tool of another server, "+Visible(cut(owner, maxWord)), weight, start, end)
		return weight < warnAt
	})
}

// addNames adds a signal for each value in a schema that is the name of another server's tool and
// not prose. A default counts because the model will send it. A value of an enumeration may be one
// action of many, so it counts only if all values are names of tools.
func (c *Catalogue) addNames(w *walker, schema json.RawMessage, field string) {
	if c == nil {
		return
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.count > 0 {
		c.namesIn(w, schema, field)
	}
}

func (c *Catalogue) namesIn(w *walker, raw json.RawMessage, field string) {
	jsonrpc.EachMember(raw, func(name, value []byte) bool {
		member := text(name)
		at := field + "." + cut(member, maxWord)
		switch member {
		case "default", "const":
			c.addName(w, text(value), at, warnAt+1)
		case "enum", "examples":
			all := true
			jsonrpc.EachElement(value, func(value []byte) bool { all = all && c.foreign(text(value), w.server) != ""; return all })
			weight := 3
			if all {
				weight = warnAt + 1
			}
			jsonrpc.EachElement(value, func(value []byte) bool { c.addName(w, text(value), at, weight); return true })
		default:
			c.namesIn(w, value, at)
		}
		return true
	})
	jsonrpc.EachElement(raw, func(value []byte) bool { c.namesIn(w, value, field); return true })
}

func (c *Catalogue) addName(w *walker, name, field string, weight int) {
	if owner := c.foreign(name, w.server); owner != "" {
		w.report.add(signal{rule: "other-server", weight: weight, where: field, excerpt: Visible(cut(name, maxWord)), why: "names a tool of another server, " + Visible(cut(owner, maxWord))})
	}
}

// foreign returns the other server that has a tool with this name, if the name is distinctive.
func (c *Catalogue) foreign(name, server string) string {
	if !isDistinct(name) {
		return ""
	}
	return c.owner(name, server)
}

// isProse reports whether a field is written for users or models. A name in an enumeration or a
// list of required parameters is not a reference, unless it is in a sentence.
func isProse(at Where, text string) bool {
	switch at.Part {
	case InInstructions:
		return true
	case InDefinition:
		field := at.Field[strings.LastIndexByte(at.Field, '.')+1:]
		return field == "" || field == "description" || field == "title" || field == "text" || strings.IndexByte(text, ' ') > 0
	}
	return false
}

// isExampleList reports whether the name at start is part of a list of examples.
func isExampleList(text string, start int) bool {
	const near = 48
	before := strings.ToLower(text[max(0, start-near):start])
	for _, lead := range []string{"e.g.", "such as", "for example", "['", "(like "} {
		if strings.Contains(before, lead) {
			return true
		}
	}
	return false
}

// eachIdentifier calls f with the positions of names in text, until it returns false.
func eachIdentifier(text string, f func(start, end int) bool) {
	for i := 0; i < len(text); {
		if !isNameByte(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && isNameByte(text[i]) {
			i++
		}
		end := i
		for end > start && (text[end-1] == '-' || text[end-1] == '_') {
			end--
		}
		if end-start >= 3 && !f(start, end) {
			return
		}
		if at := strings.Index(text[start:end], "__"); at > 0 && !f(start+at+2, end) {
			return
		}
		if joined := joinedName(text, start, end); joined > end && !f(start, joined) {
			return
		}
	}
}

// joinedName extends the name from start to end over dots, slashes and colons that join it to
// further names, as in crm.find_contact. It returns the new end.
func joinedName(text string, start, end int) int {
	if start > 0 && strings.IndexByte("./:", text[start-1]) >= 0 {
		return end
	}
	for end+1 < len(text) && end-start < maxWord && strings.IndexByte("./:", text[end]) >= 0 && isNameByte(text[end+1]) {
		for end++; end < len(text) && isNameByte(text[end]); end++ {
		}
	}
	return end
}

func isNameByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// isDistinct reports whether a name is unlikely to be an ordinary word. Such a name has parts
// joined by underscores, or a capital after a small first letter.
func isDistinct(name string) bool {
	const short = 6
	if len(name) < short {
		return false
	}
	if at := strings.IndexAny(name, "_./:"); at > 0 {
		return true
	}
	if hyphens := strings.Count(name, "-"); hyphens > 0 {
		return hyphens > 1
	}
	if name[0] < 'a' || name[0] > 'z' {
		return false
	}
	capital := strings.IndexFunc(name, func(r rune) bool { return r >= 'A' && r <= 'Z' })
	return capital > 1 && capital < len(name)-2
}

// isMarked reports whether the text marks a word as the name of a tool. The word is then called
// like a function, or stands next to the word tool and has quotes or a hyphen.
func isMarked(text string, start, end int) bool {
	hyphen := strings.Contains(text[start:end], "-")
	if start > 0 && end < len(text) && strings.IndexByte("\"'`", text[start-1]) >= 0 && text[end] == text[start-1] {
		if hyphen {
			return true
		}
		start, end = start-1, end+1
	} else if !hyphen {
		return false
	}
	after := strings.ToLower(text[end:min(len(text), end+10)])
	before := strings.ToLower(strings.TrimSpace(text[max(0, start-20):start]))
	for _, noun := range []string{"tool", "function"} {
		if strings.HasPrefix(strings.TrimSpace(after), noun) {
			return true
		}
	}
	for _, lead := range []string{"tool", "function", "call", "calling", "invoke", "invoking", "run", "execute"} {
		if strings.HasSuffix(before, lead) {
			return true
		}
	}
	return hyphen && (strings.HasSuffix(before, "use") || strings.HasSuffix(before, "using"))
}
