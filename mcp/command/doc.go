// Package command reaches MCP servers that are programs: it starts one and
// speaks with it over its standard input and output (basic/transports/stdio).
//
// The program leads a process group of its own, which is ended as a whole when
// the connection is closed: its input is closed, then the group is terminated,
// then killed. So a wrapper such as npx leaves nothing behind. What it writes to
// standard error is kept for errors, and handed out line by line if asked for.
package command
