// Package process runs a child process that communicates over its standard input and output. It
// ends the child together with its descendants.
//
// Commands are often wrappers (npx, uvx, sh -c) that start another process for the actual work. The
// package therefore starts every child in a process group of its own, and ends the whole group. It
// first closes the child's standard input, then terminates the group, and then kills it, with a
// grace period before each of the last two steps. If the child exits by itself, the package ends
// the remaining processes of the group in the same way. A process that left the group intentionally
// (setsid) is not ended. It delays nothing, as the package closes its own ends of the pipes that
// this process keeps open.
//
// Children have no parent death signal. On Linux this signal depends on the thread that started the
// child, which the Go runtime may end at any time, and only the child itself receives it. If this
// process dies, its children read the end of their standard input, at which an MCP server exits.
//
// Windows has no signals for groups, so only the child is killed after its grace period. It runs in
// a console process group of its own, so that it does not receive an interrupt that is typed at the
// console.
package process
