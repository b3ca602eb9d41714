// Package review withholds tools and prompts whose definitions changed since somebody approved them, and
// where that is wanted those that nobody approved yet: what a server says of a tool is an order to a model,
// and may be another one tomorrow. It is middleware around one server, in front of which nothing may change
// definitions.
package review
