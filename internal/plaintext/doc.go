// Package plaintext makes text that came from somewhere else safe to print on a
// terminal and honest to read.
//
// What a server sends (descriptions, log lines, tool results) may hold escape
// sequences that move the cursor or set the clipboard, characters that reverse
// the order of what is read, and characters that nobody sees but a model reads.
// [Clean] writes every one of them out as a visible escape, so that nothing is
// hidden and nothing is executed; [Line] does the same for one line of bounded
// length.
//
// The result is for eyes. It cannot be turned back: a backslash in the original
// looks like one that was written here.
package plaintext
