//go:build unix && !darwin

package pollable

import "os"

// canWait reports whether the system's poller can wait for what info describes.
func canWait(os.FileInfo) bool { return true }
