//go:build !linux

package sandbox

// Propose returns an empty Proposal: this system does not support learning.
func (r *Record) Propose(Learned) Proposal { return Proposal{} }
