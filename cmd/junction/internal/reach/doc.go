// Package reach finds the servers that a command line names and connects them: files and their
// settings, consent, locks, remedies, lists, shipped servers.
package reach
