package consent

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// askOffered asks what the flow of results alone does not: definitions and instructions
// are text too, and a person who approved them may have overlooked what they ask
// for. So where private text would have a way out of its server, they count as read,
// unless the call says no more than a few words of the person's.
func (d *Decider) askOffered(c *Call, call guard.Call) guard.Decision {
	private, elsewhere := d.private(call)
	if !call.Leaves() || !elsewhere || repeats(call.Arguments, c.Schema, c.Said) {
		return guard.Decision{Allowed: true}
	}
	for _, source := range private {
		d.offered.Read(source, guard.Private, "")
	}
	for _, source := range c.Definitions() {
		d.offered.Read(source, guard.Untrusted, "")
	}
	call.Arguments = nil // the flow of results asks about what they carry
	return d.offered.Ask(call)
}

// private are the private sources that a call could carry away, and whether there are any of others than its server.
func (d *Decider) private(call guard.Call) (all []guard.Source, elsewhere bool) {
	all = slices.DeleteFunc(d.flow.Sources(guard.Private), call.Sees)
	return all, slices.ContainsFunc(all, func(s guard.Source) bool { return !s.IsOf(call.Server, call.Origin) })
}

// What a call may hold that says no more than what the person did: so few words that
// which they are, and how they are put, can carry hardly anything.
const (
	maxRepeatedMembers = 4
	maxRepeatedWords   = 8
)

// repeats reports whether arguments are only a few words of what the person said, as the
// person wrote them, under names that the schema declares. What a server wrote counts for
// nothing: its words are no more known to be harmless than what it asks for.
func repeats(arguments []byte, schema json.RawMessage, said string) bool {
	if len(arguments) == 0 {
		return true
	}
	properties, known, words, members := jsonrpc.Get(schema, "properties"), wordsOf(said), 0, 0
	allowed := func(text string) bool {
		all := wordsOf(text)
		words += len(all)
		separators := len(text) - len(strings.Join(all, ""))
		return separators <= len(all) && !slices.ContainsFunc(all, func(word string) bool { return !slices.Contains(known, word) })
	}
	if arguments[0] != '{' { // the address of a resource
		return allowed(string(arguments)) && words <= maxRepeatedWords
	}
	fits := true
	jsonrpc.EachMember(arguments, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		text, isText := jsonrpc.Unquote(value)
		if !isText {
			text = string(value)
		}
		members++
		fits = jsonrpc.Get(properties, name) != nil && (text == "true" || text == "false" || allowed(text))
		return fits
	})
	return fits && members <= maxRepeatedMembers && words <= maxRepeatedWords
}

// wordsOf are the words and numbers of a text.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
