// Package policies has the commands that control which users may call which tools, and that show
// the calls: policy, audit, key, user and approve.
package policies
