// Package filesystem is a server for folders of this machine: it lists, reads
// and searches files, and, where it is allowed to, writes, edits, moves and
// deletes them.
//
// # What it can reach
//
// Only what lies below the folders in [Options.Roots]. Every access goes
// through [os.Root], so the operating system itself resolves no path to the
// outside: not with "..", not with an absolute path, not with a symbolic link,
// and not when a folder is replaced by a link meanwhile. Links that stay inside
// a root are followed. Only regular files are opened; pipes, sockets and devices
// are refused.
//
// A hard link to a file outside looks like the file itself, so do not
// serve a folder in which somebody you do not trust may make hard links.
// Reading follows one; writing never does: it puts a new file in the place of
// the old one, and leaves what other names refer to as it was.
//
// Without [Options.Write] the tools that change something do not exist.
//
// # Limits
//
// A file is read up to [Options.MaxRead] at a time. Lists, searches and diffs
// end at a fixed size and say so, and a search ends after ten seconds.
package filesystem
