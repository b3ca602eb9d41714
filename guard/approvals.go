package guard

import (
	"slices"
)

// An Approval is an approval that a [Flow] remembers; see [Flow.Consent].
type Approval struct {
	Server    string `json:"server"`
	Origin    string `json:"origin,omitempty"` // distinguishes servers with the same name
	Tool      string `json:"tool,omitempty"`   // empty for all tools of the server that only read
	Reason    Reason `json:"reason"`
	Arguments string `json:"arguments,omitempty"` // hash of the arguments, if the approval is limited to them
	// Sources lists, sorted, the sources that the user knew the conversation had read.
	Sources []Source `json:"sources,omitempty"`
}

// Approvals returns the remembered approvals, the oldest first. Some may no longer apply.
func (f *Flow) Approvals() []Approval {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Approval
	for _, c := range f.consents {
		a := Approval{Server: c.Server, Origin: c.Origin, Tool: c.Tool, Reason: c.Reason, Arguments: c.Arguments}
		for _, s := range c.Sources {
			a.Sources = append(a.Sources, s.Source)
		}
		slices.SortFunc(a.Sources, Source.compare)
		all = append(all, a)
	}
	return all
}

// Withdraw removes an approval, and reports whether it was remembered.
func (f *Flow) Withdraw(a Approval) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, about := len(f.consents), scope{Server: a.Server, Origin: a.Origin, Tool: a.Tool, Reason: a.Reason, Arguments: a.Arguments}
	f.consents = slices.DeleteFunc(f.consents, func(c consent) bool { return c.scope == about })
	return len(f.consents) < before
}

// Distrust marks everything read from some sources as untrusted, because the user does not trust
// their server.
func (f *Flow) Distrust(of func(Source) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sources {
		if of(s.Source) {
			s.Labels |= Untrusted
		}
	}
}
