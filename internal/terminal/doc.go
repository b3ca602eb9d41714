// Package terminal writes to a person's terminal and asks the person questions.
//
// What it writes is cleaned on the way (package plaintext), so no text of a
// server reaches the terminal with control characters, whoever prints it. Lines
// are wrapped and columns aligned by what a terminal shows: wide characters take
// two cells, combining ones none.
package terminal
