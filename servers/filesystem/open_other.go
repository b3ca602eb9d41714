//go:build !unix

package filesystem

import "io/fs"

// nonBlocking has no meaning here: there are no pipes among files.
const nonBlocking = 0

// links is how many names the file has, 0 if that is not known.
func links(fs.FileInfo) uint64 { return 0 }
