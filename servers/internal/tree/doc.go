// Package tree reads JSON and YAML into values that keep the order of members, and writes them as
// JSON. The servers for APIs read documents and arguments with it.
//
// A value is nil, a bool, a [Number], a string, an []any or an [*Object]. The depth and the number
// of values of an input are limited, including aliases of YAML.
package tree
