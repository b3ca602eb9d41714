// Package reach finds the servers that a command line names, and connects to them. It reads
// configurations and settings, asks for consent, applies locks, describes remedies, and makes the
// servers that ship with junction.
package reach
