// Package terminal writes to a user's terminal and asks the user questions.
//
// It cleans all output (package plaintext), so control characters in texts of servers never reach
// the terminal. It wraps lines and aligns columns according to the width of characters in a
// terminal: wide characters need two cells, and combining characters need none.
package terminal
