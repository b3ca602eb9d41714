package guard

import (
	"slices"
	"strings"
	"sync"
)

// maxNames is how many tool names a Catalogue knows.
const maxNames = 200_000

// A Catalogue knows the names of all servers' tools, which only a host or a
// gateway sees together, so that a server is noticed which writes about the tools
// of another one. The zero value is empty, and a nil Catalogue stays empty. It may be used
// from many goroutines.
type Catalogue struct {
	mu      sync.RWMutex
	servers map[string][]string            // the names of each server's tools
	owners  map[string]map[string]struct{} // the servers of each name, in lower case
	count   int
}

// Set says what tools a server has now, in place of those it had. Names beyond
// 200,000 of all servers together are not remembered.
func (c *Catalogue) Set(server string, tools ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.servers == nil {
		c.servers, c.owners = map[string][]string{}, map[string]map[string]struct{}{}
	}
	for _, name := range c.servers[server] {
		name = strings.ToLower(name)
		if delete(c.owners[name], server); len(c.owners[name]) == 0 {
			delete(c.owners, name)
		}
	}
	c.count -= len(c.servers[server])
	delete(c.servers, server)
	if tools = slices.Clone(tools[:min(len(tools), maxNames-c.count)]); len(tools) == 0 {
		return
	}
	c.servers[server], c.count = tools, c.count+len(tools)
	for _, name := range tools {
		name = strings.ToLower(name)
		if c.owners[name] == nil {
			c.owners[name] = map[string]struct{}{}
		}
		c.owners[name][server] = struct{}{}
	}
}

// owner returns another server that has a tool of the name, if server itself has none.
func (c *Catalogue) owner(name, server string) string {
	owners := c.owners[strings.ToLower(name)]
	if _, own := owners[server]; own || len(owners) == 0 {
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

// addReferences adds a signal if a definition or instructions name a tool of
// another server. With an order in the same text it is more than a remark.
func (c *Catalogue) addReferences(s *scan) {
	if c == nil || !isProse(s.at) {
		return
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.count == 0 {
		return
	}
	ordered := s.has("must", "before", "use", "instead", "first", "away")
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

// isProse reports whether a field is written for people or models: a name in an
// enumeration or a list of required parameters refers to nothing.
func isProse(at Where) bool {
	switch at.Part {
	case InInstructions:
		return true
	case InDefinition:
		field := at.Field[strings.LastIndexByte(at.Field, '.')+1:]
		return field == "" || field == "description" || field == "title" || field == "text"
	}
	return false
}

// isExampleList reports whether a name at start is one of a few examples.
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

// eachIdentifier calls f with the places of names in text, until it returns false.
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
	}
}

func isNameByte(c byte) bool {
	return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// isDistinct reports whether a name is hardly an ordinary word: it has parts
// joined by underscores, or by a capital after a small first letter.
func isDistinct(name string) bool {
	const short = 6
	if len(name) < short {
		return false
	}
	if at := strings.IndexByte(name, '_'); at > 0 {
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

// isMarked reports whether text says that a word is the name of a tool: it
// stands in quotes or backticks, and has a hyphen or the word tool or function beside it.
func isMarked(text string, start, end int) bool {
	if start == 0 || end >= len(text) || strings.IndexByte("\"'`", text[start-1]) < 0 || text[end] != text[start-1] {
		return false
	}
	if strings.Contains(text[start:end], "-") {
		return true
	}
	after := strings.ToLower(text[end+1 : min(len(text), end+11)])
	before := strings.ToLower(text[max(0, start-20) : start-1])
	for _, noun := range []string{"tool", "function"} {
		if strings.HasPrefix(strings.TrimSpace(after), noun) {
			return true
		}
	}
	for _, lead := range []string{"tool", "function", "call", "calling", "invoke", "invoking", "run", "execute"} {
		if strings.HasSuffix(strings.TrimSpace(before), lead) {
			return true
		}
	}
	return false
}
