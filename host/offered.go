package host

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// askOffered asks what the flow of results alone does not: definitions and instructions
// are text too, and a person who approved them may have overlooked what they ask
// for. So where private text would have a way out of its server, they count as read,
// unless the call says no more than a few words of the person's.
func (r *run) askOffered(call guard.Call, schema json.RawMessage) guard.Decision {
	private := r.c.flow.Sources(guard.Private)
	elsewhere := slices.ContainsFunc(private, func(s guard.Source) bool { return !s.IsOf(call.Server, call.Origin) })
	if !call.Leaves() || !elsewhere || repeats(call.Arguments, schema, r.said) {
		return guard.Decision{Allowed: true}
	}
	for _, source := range private {
		r.c.offered.Read(source, guard.Private, "")
	}
	for _, source := range r.strangers() {
		r.c.offered.Read(source, guard.Untrusted, "")
	}
	call.Arguments = nil // the flow of results asks about what they carry
	return r.c.offered.Ask(call)
}

// agree remembers that a person said yes to a call, as it was decided about when they were
// asked. What a trusted server answers to a call that writes is part of that.
func (r *run) agree(call guard.Call, flowing, offered guard.Decision) {
	r.c.flow.Consent(flowing)
	r.c.offered.Consent(offered)
	own := guard.Source{Server: call.Server, Origin: call.Origin, Tool: call.Tool}
	if !offered.Allowed && call.Trust.Trusted && call.Writes() && !slices.Contains(r.c.flow.Sources(guard.Untrusted), own) {
		answer := new(guard.Flow) // that has read nothing else
		answer.Read(own, guard.LabelsOf(call.Trust, call.Annotations), "")
		call.Chosen, call.Known = false, nil // whatever made an exception of the rest
		r.c.flow.Consent(answer.Ask(call))
	}
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

// strangers are the definitions of servers that are not trusted and whose words the model was
// given before any result.
func (r *run) strangers() []guard.Source {
	const uri = "its definitions"
	var all []guard.Source
	add := func(from guard.Source) {
		if !slices.Contains(all, from) {
			all = append(all, from)
		}
	}
	for _, t := range r.given() {
		if !t.server.trusted() {
			add(guard.Source{Server: t.ref.Server, Origin: t.origin(), URI: uri})
		}
	}
	for _, s := range r.h.servers {
		if text := s.current().instructions; text != "" && !s.trusted() && r.catalogue.has(s) && r.h.approved(s, instructionsOf(s, text)) {
			add(s.source(uri))
		}
	}
	return all
}

// fromBefore is where text comes from of which no record says it.
const fromBefore = "an earlier session"

// unknown is what a conversation has read where its record does not say: the worst
// is assumed.
func unknown(flow *guard.Flow) {
	flow.Read(guard.Source{Server: fromBefore}, guard.Private|guard.Untrusted, "")
}

// Unknown is an entry with which the record of a conversation begins that comes from
// elsewhere: all of it counts as read from a stranger, and as private.
func Unknown() (Entry, error) {
	flow := new(guard.Flow)
	unknown(flow)
	state, err := json.Marshal(flow)
	return Entry{At: time.Now(), Flow: state}, err
}

// unaccounted reports whether a record ends, as after a crash, with results of which
// it does not say where they came from.
func unaccounted(entries []Entry) bool {
	for _, e := range slices.Backward(entries) {
		switch {
		case e.Flow != nil, e.Totals != nil: // at the end of a run, it was written before these if it changed
			return false
		case e.Kept != nil, e.Message != nil && e.Message.Role == model.RoleTool:
			return true
		}
	}
	return false
}
