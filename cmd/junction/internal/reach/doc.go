// Package reach finds the servers that a command line names, with package launch: flags, texts for the terminal, suggestions and remedies. It
// has the servers that ship with junction, and shows what a process sends to junction traffic.
package reach
