//go:build !unix

package filesystem

import "io/fs"

// nonBlocking has no effect, because this system has no pipes among its files.
const nonBlocking = 0

// links returns the number of hard links to the file, or 0 if it is unknown.
func links(fs.FileInfo) uint64 { return 0 }
