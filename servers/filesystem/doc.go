// Package filesystem is a server for folders of this machine. It lists, reads and searches files.
// With permission it also writes, edits, moves and deletes them.
//
// # Access
//
// The server reaches only files below the folders in [Options.Roots]. Every access uses [os.Root],
// so the operating system resolves no path to the outside. That includes paths with "..", absolute
// paths, symbolic links, and a folder that is replaced by a link during the access. Links that stay
// inside a root are followed. Only regular files are opened; pipes, sockets and devices are
// refused.
//
// A hard link to a file outside looks like the file itself, so do not serve a folder in which an
// untrusted user can make hard links. Reading follows hard links. Writing replaces the file by a
// new one, so the content under other names of the old file stays.
//
// Without [Options.Write] the tools that change files do not exist.
//
// # Limits
//
// A file is read up to [Options.MaxRead] at a time. Lists, searches and diffs end at a fixed size
// with a note, and a search ends after ten seconds.
package filesystem
