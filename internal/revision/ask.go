package revision

import "regexp"

// maxFault is the maximum length in bytes of an error text that is examined.
const maxFault = 1 << 10

// These expressions match error texts of servers that cannot send requests to their client in the
// era of the request. asking matches the name of such a request, or of the channel to the client.
// missing matches the condition that is not met.
var (
	asking  = regexp.MustCompile(`(?i)elicit|sampling|roots/list|list_?roots|create_?message|server-(initiated|to-client)|back-?channel`)
	missing = regexp.MustCompile(`(?i)session|stateless|handshake|back-?channel|server-(initiated|to-client)|20\d\d-\d\d-\d\d|protocol (version|revision)`)
)

// CannotAsk reports whether an error text means that the server cannot send a request to its client
// in the era of the current request. No error code exists for this case, and a server that supports
// both eras does not announce in which of them it can send requests.
func CannotAsk(text string) bool {
	return len(text) <= maxFault && asking.MatchString(text) && missing.MatchString(text)
}
