package host

import (
	"slices"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/model"
)

// swayed asks what the flow of results alone does not: definitions and instructions
// are text too, and a person who approved them may have overlooked what they ask
// for. So where private text would have a way out of its server, they count as read.
func (r *run) swayed(call guard.Call) guard.Decision {
	leaves := !call.Trust.Trusted || call.Annotations.OpenWorld == nil || *call.Annotations.OpenWorld
	private := r.c.flow.Sources(guard.Private)
	if !leaves || !slices.ContainsFunc(private, func(s guard.Source) bool { return s.Server != call.Server }) {
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
