//go:build unix

package plainhttp

import (
	"errors"
	"syscall"
)

// canAsk is set if a connection can be tested for being open.
const canAsk = true

// hasNothing reports whether there is nothing to read, not even an end.
func hasNothing(descriptor uintptr) bool {
	var one [1]byte
	n, err := syscall.Read(int(descriptor), one[:])
	return n < 0 && (errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EWOULDBLOCK))
}
