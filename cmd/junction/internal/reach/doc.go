// Package reach finds the servers that a command line names. It adds flags, texts for the terminal,
// suggestions and remedies to package launch. It also has the servers that ship with junction, and
// sends the messages of a process to junction traffic.
package reach
