// Package policies has the commands that control who may call which tool, and show the calls:
// policy, audit, key, user and approve.
package policies
