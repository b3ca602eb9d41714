// Package editor holds text of several lines while a user types it, and lays it
// out for a terminal.
//
// It moves by characters as a reader counts them. What would be invisible is laid
// out as a visible escape (package plaintext); control characters do not get in.
package editor
