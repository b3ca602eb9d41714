// Package plaintext makes untrusted text safe to print on a terminal, and makes hidden characters
// visible.
//
// Text of a server (descriptions, log lines, tool results) may contain escape sequences that move
// the cursor or set the clipboard. It may also contain characters that reverse the direction of
// text, or characters that a model reads but a user cannot see. [Clean] replaces each of these
// characters by a visible escape. [Line] does the same, and limits the result to one line of a
// maximum length.
//
// The result is meant for display. It cannot be converted back: a backslash in the original looks
// like the backslash of an escape.
package plaintext
