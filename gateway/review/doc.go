// Package review withholds tools and prompts whose definitions changed since a user approved them,
// and optionally those that were never approved. The definition of a tool is an instruction to a
// model, and may be different tomorrow. The package is middleware around one server. Layers between
// it and the server must not change definitions.
package review
