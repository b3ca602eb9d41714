//go:build !unix

package cli

import "io/fs"

// isPrivate reports true, because files in a user's profile are private on this system.
func isPrivate(fs.FileInfo) bool { return true }
