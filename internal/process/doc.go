// Package process runs a child process that speaks on its standard input and
// output, and ends it together with everything that it started.
//
// Commands are often wrappers (npx, uvx, sh -c) whose real work is a grandchild.
// Every child therefore leads a process group of its own, and the group is ended
// as a whole: standard input is closed, then the group is terminated, then
// killed, with a time of grace before each step. The same happens to what is
// left of a group when its leader exits by itself. A process that leaves the
// group on purpose (setsid) is not followed, and does not hold anything up: pipes
// that it keeps open are closed on this side.
//
// Children get no parent death signal. On Linux that signal is tied to the
// thread that forked, which the Go runtime may end at any time, and it reaches
// only the child itself. When this process dies without closing anything, its
// children read the end of their standard input, at which an MCP server exits.
//
// On Windows there is no group to signal: the child alone is killed after its
// grace. It is started in a console process group of its own, so that an
// interrupt typed at the console does not reach it.
package process
