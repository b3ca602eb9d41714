//go:build !unix

package plainhttp

// canAsk says that a connection can be asked whether it is open.
const canAsk = false

func hasNothing(uintptr) bool { return false }
