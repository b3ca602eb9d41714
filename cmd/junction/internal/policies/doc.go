// Package policies has the commands that say who may call which tool, and that show who did: policy,
// audit, key, user and approve.
package policies
