// Package process runs a child process that communicates on its standard input and output, and ends
// it together with all its descendants.
//
// Commands are often wrappers (npx, uvx, sh -c) whose real work is done by a grandchild. Every
// child therefore leads a process group of its own, which is ended as a whole. First standard input
// is closed, then the group is terminated, then killed, with a grace period before each step. The
// same happens to the rest of a group when its leader exits by itself. A process that leaves the
// group on purpose (setsid) is not followed and delays nothing: this side closes pipes that it
// keeps open.
//
// Children get no parent death signal. On Linux that signal is tied to the thread that forked,
// which the Go runtime may end at any time, and it reaches only the child itself. When this process
// dies without closing anything, its children read the end of their standard input, at which an MCP
// server exits.
//
// On Windows there is no group to signal: only the child is killed after its grace period. It is
// started in a console process group of its own, so that an interrupt typed at the console does not
// reach it.
package process
