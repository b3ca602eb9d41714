// Package tree reads JSON and YAML into values that keep the order of members, and writes
// them as JSON. The servers for APIs read documents and arguments with it.
//
// A value is nil, a bool, a [Number], a string, an []any or an [*Object]. What is read is
// bounded in depth and in the number of values, aliases of YAML included.
package tree
