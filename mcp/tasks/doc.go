// Package tasks lets a server respond to long calls of tools with a task (extension
// io.modelcontextprotocol/tasks, SEP-2663). The client requests the state of the task until it is
// done. The tool is an ordinary function. Its requests to the user become requests of the task, and
// its progress becomes the message of the task. Clients without the extension wait for the result
// as usual. Tasks are stored in a [state.Store], and do not end with the client's connection. A
// task whose process died is reported as failed.
package tasks
