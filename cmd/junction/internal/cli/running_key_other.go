//go:build !unix

package cli

import "io/fs"

// isPrivate reports true: files below a user's profile are private.
func isPrivate(fs.FileInfo) bool { return true }
