// Package lines carries messages as lines of JSON over a pair of byte streams
// (basic/transports/stdio; sockets use the same framing): a [Reader] and a
// [Writer], and [Serve], which answers what comes in.
//
// What it is fast by: whoever reads a message handles it, and another goroutine
// reads on; and what is written while more input lies ready goes out in one
// piece. Neither delays a lone message.
package lines
