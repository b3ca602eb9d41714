package secret

import "unicode/utf8"

// What scan finds in a text.
const (
	suspect = 1 << iota // it may hold a secret, so that it takes a closer look
	wide                // it has more than ASCII
	odd                 // as JSON it is to be written in another way
)

// scan looks once at each byte of a text. What it does not find suspect, [Text] leaves as it is: no word of it begins like
// a token, and it has no URL and no private key. Of raw text, which is what stands between the quotes of JSON, the escapes
// are those that [jsonrpc.AppendString] writes too, or it is odd.
//
// Nearly all texts have nothing to hide, and every text of every message that is watched is looked at.
func scan[T string | []byte](text T, raw bool) (found int) {
	begins, at, slashes := true, false, false
	word := 0 // where it begins, and -1 where it is not sure what a word is
	for i := 0; i < len(text); i++ {
		c := text[i]
		if begins && i+1 < len(text) && tokenPairs.has(c, text[i+1]) && beginsLikeToken(text[i:]) {
			return found | suspect
		}
		begins = false
		for classes[c] == letter {
			if i++; i == len(text) {
				return found | suspectIf(at && slashes)
			}
			c = text[i]
		}
		switch classes[c] {
		case space:
			begins, word = true, i+1
		case control:
			begins, word = true, -1
			found |= odd
		case high: // the last byte of a space, perhaps
			begins, word = true, -1
			found |= wide
		case opener:
			begins = true
		case colon:
			begins = true
			if i+2 < len(text) && text[i+1] == '/' && text[i+2] == '/' {
				end := plainURL(text, word, i)
				if end == 0 {
					return found | suspect
				}
				i = end - 1
			}
		case atSign:
			at = true
		case slash:
			slashes = slashes || i > 0 && (text[i-1] == '/' || text[i-1] == '\\')
		case keyWord:
			if hasPrefix(text[i:], privateKey) {
				return found | suspect
			}
		case backslash:
			if !raw {
				break
			}
			if i++; i == len(text) {
				return found | odd
			}
			switch text[i] {
			case '"', '\\', 'b', 'f', 'n', 'r', 't':
			default:
				return found | suspect | odd
			}
			begins, word = true, -1
		}
	}
	return found | suspectIf(at && slashes)
}

func suspectIf(is bool) int {
	if is {
		return suspect
	}
	return 0
}

// keeps reports whether what stands between the quotes of a string of JSON is to be shown as it is.
func (l *Limits) keeps(body []byte) bool {
	if len(body) > l.Text {
		return false
	}
	found := scan(body, true)
	return found == 0 || found == wide && utf8.Valid(body)
}

// The classes of bytes for scan.
const (
	letter = iota
	space
	control
	high
	colon
	atSign
	slash
	backslash
	keyWord
	opener
)

var classes = func() (of [256]uint8) {
	for c := range of {
		switch {
		case c < ' ', c == '"': // stand in no string of JSON
			of[c] = control
		case c >= utf8.RuneSelf:
			of[c] = high
		}
	}
	for _, c := range []byte(openers) {
		of[c] = opener
	}
	of['"'] = control
	of[' '], of[':'], of['@'], of['/'], of['\\'], of[privateKey[0]] = space, colon, atSign, slash, backslash, keyWord
	return of
}()

// pairs are the first two letters of words, so that few others are compared with them. Case does not matter.
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
	tokenPairs     = pairsOf(starts[:], prefixes[:])
	sensitivePairs = pairsOf(sensitive[:])
)

// beginsLikeToken reports whether a text begins as a token does, or nearly so.
func beginsLikeToken[T string | []byte](text T) bool {
	for _, start := range starts {
		if start[0] == text[0]|0x20 && hasPrefix(text, start) {
			return true
		}
	}
	for _, prefix := range prefixes {
		if prefix[0]|0x20 == text[0]|0x20 && hasPrefix(text, prefix) {
			return true
		}
	}
	return false
}

// plainURL returns where the URL ends whose scheme is the whole word from begin to the colon, if it has but a host, a port
// and short names, all of which [URL] leaves as they are, and no other text touches it; else 0.
func plainURL[T string | []byte](text T, begin, colon int) (end int) {
	const long = 20 // bytes of a name that may be a key
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
		for i = name; i < len(text) && isPlain(text[i]); {
			i++
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

// hasPrefix does not tell small letters of ASCII from capital ones.
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

// letterOf is what a byte of a name counts as, 0 where it does not count. From utf8.RuneSelf on that is not known.
var letterOf = func() (of [256]byte) {
	for c := range of {
		of[c] = byte(c)
	}
	for c := 'A'; c <= 'Z'; c++ {
		of[c] |= 0x20
	}
	of['-'], of['_'], of['.'], of[0] = 0, 0, 0, utf8.RuneSelf // the last one is not worth a closer look here
	return of
}()

// named is [Named]; it is not sure of names that are long, or more than ASCII.
func named[T string | []byte](name T) (is, sure bool) {
	var letters [64]byte
	if len(name) > len(letters) {
		return false, false
	}
	n, some := 0, false
	for i := range len(name) {
		c := letterOf[name[i]]
		if c >= utf8.RuneSelf {
			return false, false
		}
		if c == 0 {
			continue
		}
		letters[n] = c
		some = some || n > 0 && sensitivePairs.has(letters[n-1], c)
		n++
	}
	if !some {
		return false, true
	}
	for i := 0; i+1 < n; i++ {
		if !sensitivePairs.has(letters[i], letters[i+1]) {
			continue
		}
		for _, word := range sensitive {
			if word[0] == letters[i] && word[1] == letters[i+1] && len(word) <= n-i && string(letters[i:i+len(word)]) == word {
				return true, true
			}
		}
	}
	return false, true
}
