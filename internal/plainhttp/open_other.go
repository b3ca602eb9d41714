//go:build !unix

package plainhttp

// canAsk is set if the system can check whether an idle connection is open.
const canAsk = false

func hasNothing(uintptr) bool { return false }
