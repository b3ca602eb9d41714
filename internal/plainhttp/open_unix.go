//go:build unix

package plainhttp

import (
	"errors"
	"syscall"
)

// canAsk is set if the system can check whether an idle connection is open.
const canAsk = true

// hasNothing reports whether a connection has nothing to read, neither data nor its end.
func hasNothing(descriptor uintptr) bool {
	var one [1]byte
	n, err := syscall.Read(int(descriptor), one[:])
	return n < 0 && (errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EWOULDBLOCK))
}
