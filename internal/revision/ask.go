package revision

import "regexp"

// maxFault limits the examined length of an error, in bytes.
const maxFault = 1 << 10

// Texts of servers that cannot ask their client in the era of the request. asking matches the name
// of their request, or of the way to the client. missing matches the missing condition.
var (
	asking  = regexp.MustCompile(`(?i)elicit|sampling|roots/list|list_?roots|create_?message|server-(initiated|to-client)|back-?channel`)
	missing = regexp.MustCompile(`(?i)session|stateless|handshake|back-?channel|server-(initiated|to-client)|20\d\d-\d\d-\d\d|protocol (version|revision)`)
)

// CannotAsk reports whether the text of an error means that the server cannot ask its client in the
// era of the request. There is no code for that. A server of both eras does not announce in which
// of them it asks.
func CannotAsk(text string) bool {
	return len(text) <= maxFault && asking.MatchString(text) && missing.MatchString(text)
}
