//go:build !unix

package filesystem

import "io/fs"

// nonBlocking has no effect here: there are no pipes among files.
const nonBlocking = 0

// links returns the number of names of the file, or 0 if unknown.
func links(fs.FileInfo) uint64 { return 0 }
