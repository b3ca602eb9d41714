//go:build !unix

package plainhttp

// canAsk is set if a connection can be tested for being open.
const canAsk = false

func hasNothing(uintptr) bool { return false }
