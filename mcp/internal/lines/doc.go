// Package lines carries messages as lines of JSON over a pair of byte streams
// (basic/transports/stdio; sockets use the same framing). It has a [Reader], a [Writer], and
// [Serve], which answers the messages of a client.
//
// Two properties make it fast. The goroutine that reads a message also handles it while another
// continues to read, so a lone call needs no switch of goroutines. Replies that are ready while
// more input is in the buffer are written in one piece.
package lines
