package host

import (
	"slices"
	"strings"
	"unicode"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/model"
)

// askOffered asks what the flow of results alone does not: definitions and instructions
// are text too, and a person who approved them may have overlooked what they ask
// for. So where private text would have a way out of its server, they count as read,
// unless the call holds no other words than the person's and the tool's own.
func (r *run) askOffered(call guard.Call, own string) guard.Decision {
	private := r.c.flow.Sources(guard.Private)
	elsewhere := slices.ContainsFunc(private, func(s guard.Source) bool { return s.Server != call.Server })
	if !call.Leaves() || !elsewhere || saysNothingNew(string(call.Arguments), own, r.said) {
		return guard.Decision{Allowed: true}
	}
	for _, source := range private {
		r.c.offered.Read(source, guard.Private, "")
	}
	for _, server := range r.strangers() {
		r.c.offered.Read(guard.Source{Server: server, URI: "its definitions"}, guard.Untrusted, "")
	}
	return r.c.offered.Ask(call)
}

// agree remembers that a person said yes to a call. What a trusted server answers to
// a call that writes is part of that.
func (r *run) agree(call guard.Call, flowing, offered guard.Decision) {
	r.c.flow.Consent(flowing)
	r.c.offered.Consent(offered)
	if !offered.Allowed && call.Trust.Trusted && call.Writes() {
		r.c.flow.Read(guard.Source{Server: call.Server, Tool: call.Tool}, guard.LabelsOf(call.Trust, call.Annotations), "")
		r.c.flow.Consent(r.c.flow.Ask(call))
	}
}

// saysNothingNew reports whether all words of a text stand in others.
func saysNothingNew(text string, others ...string) bool {
	known := map[string]bool{"true": true, "false": true, "null": true}
	for _, other := range others {
		for _, word := range wordsOf(other) {
			known[word] = true
		}
	}
	return !slices.ContainsFunc(wordsOf(text), func(word string) bool { return !known[word] })
}

// wordsOf are the words and numbers of a text, in small letters.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// strangers are the servers that are not trusted and whose words the model was given
// before any result.
func (r *run) strangers() []string {
	var names []string
	for _, t := range r.given() {
		if !t.server.Trusted {
			names = append(names, t.ref.Server)
		}
	}
	for _, s := range r.h.servers {
		if text := s.current().instructions; text != "" && !s.Trusted && r.h.approved(s, instructionsOf(s, text)) {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unknown is what a conversation has read where its record does not say: the worst
// is assumed.
func unknown(flow *guard.Flow) {
	flow.Read(guard.Source{Server: "an earlier session"}, guard.Private|guard.Untrusted, "")
}

// unaccounted reports whether a record ends, as after a crash, with results of which
// it does not say where they came from.
func unaccounted(entries []Entry) bool {
	for _, e := range slices.Backward(entries) {
		switch {
		case e.Flow != nil:
			return false
		case e.Kept != nil, e.Message != nil && e.Message.Role == model.RoleTool:
			return true
		}
	}
	return false
}
