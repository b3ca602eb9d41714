// Package approval writes the texts of approval questions, so that every user interface words them
// alike. They describe the claims of a server about a tool, and summarize in one line the
// definitions of a server.
//
// The texts contain strings from servers. Callers clean them before display.
package approval
