// Package tree reads JSON and YAML into values that keep the order of members, and writes them as
// JSON. Servers for APIs use it for documents and arguments.
//
// A value is nil, a bool, a [Number], a string, an []any or an [*Object]. The depth and the number
// of values of an input, including expanded YAML aliases, are limited.
package tree
