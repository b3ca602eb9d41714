// Package person implements [host.Person] for a plain terminal, line by line. Without a terminal
// every answer is no.
package person
