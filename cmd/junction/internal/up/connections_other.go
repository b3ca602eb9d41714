//go:build !unix

package up

import "math"

// openFiles returns the largest number of files that the process may open.
func openFiles() int { return math.MaxInt32 }
