// Package show formats the definitions and results of servers as text and tables for the user. The
// text may contain any characters that a server sent. Print it only through a terminal.Screen,
// which cleans it.
package show
