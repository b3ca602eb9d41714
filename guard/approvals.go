package guard

import "slices"

// An Approval is a yes that a [Flow] remembers, as [Flow.Consent] has it.
type Approval struct {
	Server    string `json:"server"`
	Origin    string `json:"origin,omitempty"` // tells the server from others of its name
	Tool      string `json:"tool,omitempty"`   // empty: all tools of the server that only read
	Reason    Reason `json:"reason"`
	Arguments string `json:"arguments,omitempty"` // the hash of the only ones that it is a yes to
	// Sources are what the person knew to have been read, sorted.
	Sources []Source `json:"sources,omitempty"`
}

// Approvals are the answers that are remembered, the oldest first. Some of them may not
// hold any more.
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

// Withdraw forgets an answer, and reports whether it was remembered.
func (f *Flow) Withdraw(a Approval) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, about := len(f.consents), scope{Server: a.Server, Origin: a.Origin, Tool: a.Tool, Reason: a.Reason, Arguments: a.Arguments}
	f.consents = slices.DeleteFunc(f.consents, func(c consent) bool { return c.scope == about })
	return len(f.consents) < before
}

// Distrust has all that was read of some sources count as untrusted, as the person does not
// trust their server.
func (f *Flow) Distrust(of func(Source) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.sources {
		if of(s.Source) {
			s.Labels |= Untrusted
		}
	}
}
