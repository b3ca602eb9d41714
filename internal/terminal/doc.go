// Package terminal writes to a user's terminal and asks the user.
//
// All output is cleaned (package plaintext), so no text of a server reaches the terminal with
// control characters. Lines are wrapped and columns aligned by their width in a terminal: wide
// characters take two cells, combining ones none.
package terminal
