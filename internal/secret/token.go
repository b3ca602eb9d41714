package secret

import "strings"

const (
	// openers stand before a value in what programs write: JSON in a text, settings, commands.
	openers = "\"'`([{<=,:;|&"
	// enders stand behind one.
	enders = " \t\r\n\"'`)]}>,;|&<\\"
	// longToken is how long a token has to be that does not begin a word.
	longToken = 16
)

// hideTokens hides the tokens of a text behind which its words do not begin: in quotes, brackets, or behind a name.
func hideTokens(text string) string {
	var shown strings.Builder
	done := 0
	for i := 1; i < len(text); i++ {
		if strings.IndexByte(openers, text[i-1]) < 0 || !beginsLikeToken(text[i:]) {
			continue
		}
		if end := tokenEnd(text, i); end-i >= longToken {
			shown.WriteString(text[done:i] + Hidden)
			done, i = end, end
		}
	}
	if done == 0 {
		return text
	}
	return shown.String() + text[done:]
}

// tokenEnd is where the token ends that begins at i, with the words that say how it is used.
func tokenEnd(text string, i int) int {
	for more := true; more; {
		more = false
		for _, word := range []string{"authorization:", "bearer ", "basic "} {
			if hasPrefix(text[i:], word) {
				i += len(word)
				i += len(text[i:]) - len(strings.TrimLeft(text[i:], " "))
				more = true
			}
		}
	}
	if end := strings.IndexAny(text[i:], enders); end >= 0 {
		return i + end
	}
	return len(text)
}
