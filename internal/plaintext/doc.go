// Package plaintext makes foreign text safe to print on a terminal and free of hidden content.
//
// Text of a server (descriptions, log lines, tool results) may contain escape sequences that move
// the cursor or set the clipboard. It may contain characters that reverse the direction of text,
// and characters that are invisible to users but not to a model. [Clean] replaces each of them by a
// visible escape, so that nothing is hidden and nothing is executed. [Line] does the same for one
// line of bounded length.
//
// The result is for display. It cannot be reversed: a backslash in the original looks like one of
// an escape.
package plaintext
