// Package jsonrpc reads and writes JSON-RPC 2.0 messages. It is independent of MCP.
//
// [Parse] reads every byte once: it validates the whole message, parses the envelope and indexes
// the members of params or result. Params, results and member values are sub-slices of the input,
// so a message that is only passed on is never decoded. The functions that write messages append to
// a buffer of the caller. The package has no mutable state, and all functions are safe for
// concurrent use.
//
// # Accepted input
//
// Input must be JSON according to RFC 8259: valid UTF-8, no unpaired surrogate escapes, no byte
// order mark, and unique names in each object (compared after unescaping). The depth and the number
// of members in an object are limited. Names are case-sensitive. [ParseLoose] accepts more forms
// and reports which of them occurred. Errors in syntax, encoding or depth have the code
// [ParseError]. A repeated name, too many members or a wrong envelope has the code
// [InvalidRequest].
//
// The specification leaves three points open, which the package decides as follows. An id is a
// string or an integer in plain digits (1.0 and 1e3 are rejected). It is stored as text, so
// integers of any size are preserved. A message with a method and also a result or an error is
// rejected as ambiguous. "params":null means that there are no params.
package jsonrpc
