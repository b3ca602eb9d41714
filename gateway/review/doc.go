// Package review withholds tools and prompts whose definitions changed since a user approved them.
// Optionally it also withholds those that were never approved. The definition of a tool is an
// instruction to a model, and a server can change it at any time. The package is middleware around
// one server. Middleware between this package and the server must not change definitions.
package review
