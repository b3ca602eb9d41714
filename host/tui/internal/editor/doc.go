// Package editor holds text of several lines while a user types it, and lays it out for a terminal.
//
// The cursor moves by grapheme clusters. Invisible characters are laid out as visible escapes
// (package plaintext), and control characters are removed.
package editor
