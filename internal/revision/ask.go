package revision

import "regexp"

// maxFault is how many bytes of an error are looked at.
const maxFault = 1 << 10

// How servers say that they cannot ask their client in the era of the request: the first names what they would ask, or
// the way to the client, and the second what is missing for it.
var (
	asking  = regexp.MustCompile(`(?i)elicit|sampling|roots/list|list_?roots|create_?message|server-(initiated|to-client)|back-?channel`)
	missing = regexp.MustCompile(`(?i)session|stateless|handshake|back-?channel|server-(initiated|to-client)|20\d\d-\d\d-\d\d|protocol (version|revision)`)
)

// CannotAsk reports whether the text of an error says that the server cannot ask its client in the era in which it got the
// request. No code stands for that, and a server that knows both eras does not say beforehand in which of them it asks.
func CannotAsk(text string) bool {
	return len(text) <= maxFault && asking.MatchString(text) && missing.MatchString(text)
}
