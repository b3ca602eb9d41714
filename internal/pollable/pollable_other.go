//go:build !unix

package pollable

import "os"

// File returns f itself: this system has no mode that could be switched. See the
// package for what it does elsewhere.
func File(f *os.File) *os.File { return f }

// Restore does nothing on this system.
func Restore(*os.File) error { return nil }
