// Package tasks lets a server respond to long calls of tools with a task (extension
// io.modelcontextprotocol/tasks, SEP-2663). The client requests the task's state until it is done.
// The tool stays an ordinary function: its requests to the user become requests of the task, and
// its progress becomes the task's message. Clients without the extension wait for the result as
// usual. Tasks are kept in a [state.Store] and survive the client. A task whose process died is
// reported as failed.
package tasks
