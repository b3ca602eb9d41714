// Package lines sends and receives messages as lines of JSON over a pair of byte streams
// (basic/transports/stdio; sockets use the same framing). It has a [Reader], a [Writer], and
// [Serve], which handles the messages of a client.
//
// Two properties make it fast. The goroutine that reads a message also handles it while another
// goroutine continues to read. So a single call needs no switch of goroutines. Replies that are
// ready while the buffer has more input are written together.
package lines
