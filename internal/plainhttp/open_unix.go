//go:build unix

package plainhttp

import (
	"errors"
	"syscall"
)

// canAsk says that a connection can be asked whether it is open.
const canAsk = true

// hasNothing reports whether there is nothing to read, not even an end.
func hasNothing(descriptor uintptr) bool {
	var one [1]byte
	n, err := syscall.Read(int(descriptor), one[:])
	return n < 0 && (errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EWOULDBLOCK))
}
