// Package jsonrpc reads and writes JSON-RPC 2.0 messages. It is independent of MCP.
//
// [Parse] reads every byte once: it validates the whole message, parses the envelope and indexes
// the members of params or result. Params, results and member values are sub-slices of the input,
// so a message that is only passed on is never decoded. The writing half appends to a buffer that
// the caller owns. The package keeps no state between calls, and all functions are safe for
// concurrent use.
//
// # Accepted input
//
// Input must be JSON by RFC 8259: valid UTF-8, no unpaired surrogate escapes, no byte order mark,
// and unique names in each object (after unescaping). Depth and the number of members in an object
// are limited. Names are case-sensitive. [ParseLoose] accepts more forms and returns those it met.
// Faults of syntax, UTF-8 and depth are [ParseError]; a repeated name, too many members and a wrong
// envelope are [InvalidRequest].
//
// The package settles three points that the specification leaves open. An id is a string or an
// integer in plain digits (1.0 and 1e3 are refused), and is kept as text, so no integer is too
// large. A message with both a method and a result or an error is refused as ambiguous.
// "params":null means that there are no params.
package jsonrpc
