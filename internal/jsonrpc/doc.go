// Package jsonrpc reads and writes JSON-RPC 2.0 messages. It knows no MCP.
//
// [Parse] looks at every byte once: it validates the whole message, takes the
// envelope apart and indexes the members of params or result. Params, results
// and member values stay sub-slices of the input, so a message that is only
// passed on is never decoded. The writing half appends to a buffer that the
// caller owns; nothing in this package keeps state between calls, and every
// function may be called from several goroutines at once.
//
// # What is accepted
//
// JSON as RFC 8259 has it, and no more: valid UTF-8, no unpaired surrogate
// escapes, no byte order mark, no name twice in one object (after unescaping),
// bounded depth and bounded members in one object. Names are compared with their case.
// [ParseLoose] reads more, and returns which forms it met.
// Faults of syntax, UTF-8 and depth are [ParseError]; a repeated name, too many
// members and a wrong envelope are [InvalidRequest].
//
// The specification leaves three things open, and this is how they are read
// here. An id is a string or an integer in plain digits (1.0 and 1e3 are
// refused), and is kept as text, so no integer is too large. A message with
// both a method and a result or an error is refused, as nobody can tell what it is.
// "params":null means that there are no params.
package jsonrpc
