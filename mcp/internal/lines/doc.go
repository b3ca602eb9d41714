// Package lines carries messages as lines of JSON over a pair of byte streams
// (basic/transports/stdio; sockets use the same framing): a [Reader] and a
// [Writer], and [Serve], which answers what comes in.
//
// Two things make it fast: the goroutine that reads a message also handles it,
// while another reads on, so that a lone call changes no goroutine; and replies
// that are ready while more input lies in the buffer are written in one piece.
package lines
