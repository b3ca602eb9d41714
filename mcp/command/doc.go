// Package command connects to MCP servers that are programs. It starts a program and uses its
// standard input and output (basic/transports/stdio).
//
// The program leads its own process group. When the connection is closed, the program's input is
// closed first. Then the whole group is terminated, and finally killed. So a wrapper such as npx
// leaves no process behind. Standard error is kept for errors and, on request, passed on line by
// line.
package command
