//go:build !linux

package sandbox

// Propose returns an empty Proposal, because accesses cannot be recorded on this system.
func (r *Record) Propose(Learned) Proposal { return Proposal{} }
