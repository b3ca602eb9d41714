// Package filesystem is a server for folders on this machine. It lists, reads and searches files.
// With permission it also writes, edits, moves and deletes them.
//
// # Access
//
// The server reaches only files below the folders in [Options.Roots]. Every access uses [os.Root],
// so the operating system never resolves a path to a file outside. This holds for paths with "..",
// absolute paths, symbolic links, and a folder that is replaced by a link during the access. Links
// that stay inside a root are followed. Only regular files are opened; pipes, sockets and devices
// are refused.
//
// A hard link to a file outside cannot be distinguished from a file inside, so do not serve a
// folder in which an untrusted user can make hard links. Reading follows hard links. Writing
// replaces the file by a new one, so the content under the file's other names stays.
//
// Without [Options.Write] the tools that change files do not exist.
//
// # Limits
//
// At most [Options.MaxRead] bytes of a file are read at a time. Lists, searches and diffs end with
// a note at a fixed size, and a search ends after ten seconds.
package filesystem
