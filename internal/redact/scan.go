package redact

import "unicode/utf8"

// Results of scan: properties of a text.
const (
	suspect = 1 << iota // the text may contain a secret and needs a closer check
	wide                // the text is not only ASCII
	odd                 // the text must be written differently in JSON
)

// A reading tells scan how to interpret a text.
type reading int

const (
	plain    reading = iota
	raw              // the content of a JSON string, between the quotation marks
	rawNamed         // like raw, but names in quotation marks are checked elsewhere
)

// scan examines each byte of a text once and returns its properties. [Text] returns a text
// unchanged if it is not suspect, that is, if no word in it begins like a token and it contains no
// URL and no private key. A raw text is odd if its escapes are not those that
// [jsonrpc.AppendString] writes.
//
// Nearly all texts contain nothing to hide, and scan runs for every text in every displayed
// message, so it must be fast.
func scan[T string | []byte](text T, of reading) (found int) {
	isRaw := of != plain
	begins, at, slashes := true, false, false
	word := 0 // start of the current word, or -1 if it is unknown where the word begins or ends
	for i := 0; i < len(text); i++ {
		c := text[i]
		if begins && i+1 < len(text) && tokenPairs.has(c, text[i+1]) && isNearToken(text[i:]) {
			return found | suspect
		}
		begins = false
		for {
			for classes[c] == letter {
				if i++; i == len(text) {
					return found | suspectIf(at && slashes)
				}
				c = text[i]
			}
			if classes[c] != opener {
				break
			}
			if i++; i == len(text) {
				return found | suspectIf(at && slashes)
			}
			c = text[i]
			if i+1 < len(text) && tokenPairs.has(c, text[i+1]) && isNearToken(text[i:]) {
				return found | suspect
			}
		}
		switch classes[c] {
		case space:
			begins, word = true, i+1
		case control:
			begins, word = true, -1
			found |= odd
		case high: // possibly the last byte of a space
			begins, word = true, -1
			found |= wide
		case equals:
			if begins = true; endOfName(text[:i], isRaw).certain {
				return found | suspect
			}
		case colon:
			begins = true
			if (of != rawNamed || i == 0 || text[i-1] != '"') && endOfName(text[:i], isRaw).certain || hasPrefix(text[i:], signBehindColon) {
				return found | suspect
			}
			if i+2 < len(text) && text[i+1] == '/' && text[i+2] == '/' {
				end := plainURL(text, word, i)
				if end == 0 {
					return found | suspect
				}
				i = end - 1
			}
		case atSign:
			at, begins = true, true
		case slash:
			begins = true
			slashes = slashes || i > 0 && (text[i-1] == '/' || text[i-1] == '\\')
		case keyWord:
			if hasPrefix(text[i:], privateKey) {
				return found | suspect
			}
		case backslash:
			if begins = true; !isRaw {
				if beginsTokenBehind(text, i) {
					return found | suspect
				}
				break
			}
			if i++; i == len(text) {
				return found | odd
			}
			if text[i] == '\\' && beginsTokenBehind(text, i) {
				return found | suspect
			}
			switch text[i] {
			case '"', '\\', 'b', 'f', 'n', 'r', 't':
			default:
				return found | suspect | odd
			}
			word = -1
		}
	}
	return found | suspectIf(at && slashes)
}

// beginsTokenBehind reports whether the backslash at i begins an escape of white space that is
// followed by a word that needs a closer check.
func beginsTokenBehind[T string | []byte](text T, i int) bool {
	return i+3 < len(text) && isEscapeOfSpace(text[i+1]) && tokenPairs.has(text[i+2], text[i+3]) && isNearToken(text[i+2:])
}

func suspectIf(is bool) int {
	if is {
		return suspect
	}
	return 0
}

// keeps reports whether the content of a JSON string can be shown unchanged.
func (l *Limits) keeps(body []byte) bool {
	if len(body) > l.Text {
		return false
	}
	found := scan(body, raw)
	return found == 0 || found == wide && utf8.Valid(body)
}

// The classes into which scan divides bytes.
const (
	letter = iota
	opener // a token can begin after it
	space
	control
	high
	colon
	atSign
	slash
	backslash
	keyWord
	equals
)

var classes = func() (of [256]uint8) {
	for c := range of {
		switch {
		case c < ' ', c == '"': // does not occur within JSON strings
			of[c] = control
		case c >= utf8.RuneSelf:
			of[c] = high
		case !isWord(byte(c)):
			of[c] = opener
		}
	}
	of['='] = equals
	of[' '], of[':'], of['@'], of['/'], of['\\'], of[privateKey[0]] = space, colon, atSign, slash, backslash, keyWord
	return of
}()

// pairs contains the first two letters of words, ignoring case. It avoids most comparisons with
// these words.
type pairs [256]uint32

func pairsOf(lists ...[]string) (p pairs) {
	for _, words := range lists {
		for _, word := range words {
			p[word[0]|0x20] |= 1 << (word[1] & 0x1f)
		}
	}
	return p
}

func (p *pairs) has(first, second byte) bool { return p[first|0x20]>>(second&0x1f)&1 == 1 }

var (
	tokenPairs     = pairsOf(starts, prefixes, nearly)
	sensitivePairs = pairsOf(sensitive)
)

// byLetter contains words by their first letter, ignoring case.
type byLetter [32][]string

func lettersOf(lists ...[]string) (of byLetter) {
	for _, words := range lists {
		for _, word := range words {
			of[word[0]&0x1f] = append(of[word[0]&0x1f], word)
		}
	}
	return of
}

// tokenStarts contains the beginnings of tokens. nearStarts contains the beginnings of all words
// that need a closer check.
var (
	tokenStarts = lettersOf(starts, prefixes)
	nearStarts  = lettersOf(starts, prefixes, nearly)
)

// beginsLikeToken reports whether a text begins like a token.
func beginsLikeToken[T string | []byte](text T) bool { return beginsLike(text, &tokenStarts) }

// isNearToken reports whether a text begins with a word that needs a closer check.
func isNearToken[T string | []byte](text T) bool { return beginsLike(text, &nearStarts) }

func beginsLike[T string | []byte](text T, words *byLetter) bool {
	for _, word := range words[text[0]&0x1f] {
		if hasPrefix(text, word) {
			return true
		}
	}
	return false
}

// beginsNearToken reports whether a word that needs a closer check begins at i. i must not be 0.
func beginsNearToken[T string | []byte](text T, i int) bool {
	return i+1 < len(text) && tokenPairs.has(text[i], text[i+1]) && !isWord(text[i-1]) && isNearToken(text[i:])
}

// plainURL returns the end of a URL, or 0 if the URL is not plain. begin and colon are the start
// and the end of its scheme. A plain URL consists of a host, a port and short names, which [URL]
// leaves unchanged, and is followed by a space or the end of the text.
func plainURL[T string | []byte](text T, begin, colon int) (end int) {
	const long = 20 // minimum length of a name that may be a key
	if begin < 0 || begin >= colon || !hasPrefix(text[colon:], "://") {
		return 0
	}
	for i := begin; i < colon; i++ {
		if text[i] < 'a' || text[i] > 'z' {
			return 0
		}
	}
	i := colon + len("://")
	host := i
	for i < len(text) && isPlain(text[i]) && text[i] != '_' {
		if beginsNearToken(text, i) {
			return 0
		}
		i++
	}
	if i == host {
		return 0
	}
	if i < len(text) && text[i] == ':' {
		port := i + 1
		for i = port; i < len(text) && '0' <= text[i] && text[i] <= '9'; {
			i++
		}
		if i == port {
			return 0
		}
	}
	for i < len(text) && text[i] == '/' {
		name := i + 1
		for i = name; i < len(text) && isPlain(text[i]); i++ {
			if beginsNearToken(text, i) {
				return 0
			}
		}
		if i-name >= long {
			return 0
		}
	}
	if i < len(text) && text[i] != ' ' {
		return 0
	}
	return i
}

func isPlain(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '.' || c == '-' || c == '_'
}

// hasPrefix reports whether text begins with prefix. It ignores the case of ASCII letters.
func hasPrefix[T string | []byte](text T, prefix string) bool {
	if len(text) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		a, b := text[i], prefix[i]
		if a != b && (a^b != 0x20 || a|0x20 < 'a' || a|0x20 > 'z') {
			return false
		}
	}
	return true
}
