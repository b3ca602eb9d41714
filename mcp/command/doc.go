// Package command connects to MCP servers that are programs. It starts a program and uses its
// standard input and output (basic/transports/stdio).
//
// The program leads a process group of its own, which is ended as a whole when the connection is
// closed. First its input is closed, then the group is terminated, then killed. A wrapper such as
// npx therefore leaves no process behind. Standard error is kept for errors and, on request, passed
// on line by line.
package command
