// Package tui is the terminal interface of a host. Users type questions, read answers while they
// are written, see every call of a tool, and decide what the host asks.
//
// A program makes a [UI] first, because it is the host's [host.Person] and gets its events. Then it
// makes the host, and calls [UI.Run] with a [Session], which gives the screen access to host and
// conversation. [Attach] makes one.
//
// Finished text stays in the terminal's own scrollback. Only the moving parts are redrawn below it:
// the end of an answer, running calls, the waiting question, the input and the status line. The
// interface works from 40 columns on, without colours, and line by line on a terminal without
// cursor control (TERM=dumb).
//
// Text from a server or a model is always cleaned before it reaches the terminal: it becomes lines
// of package ink, which cleans them when it paints.
package tui
