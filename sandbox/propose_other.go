//go:build !linux

package sandbox

// Propose proposes nothing: no program can be learned from on this system.
func (r *Record) Propose(Learned) Proposal { return Proposal{} }
