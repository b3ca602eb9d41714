// Package tasks lets a server answer calls of tools that take long with a task, which the client asks about until it is
// done (extension io.modelcontextprotocol/tasks, SEP-2663). The tool stays an ordinary function: what it asks the
// user becomes a request of the task, what it reports as progress the task's message. Clients that do not know the
// extension wait for the result as for any other. Tasks are kept in a [state.Store], and survive the client; one
// whose process died is reported as failed.
package tasks
