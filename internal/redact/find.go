package redact

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Shape is the compiled regular expression of a type of [Token].
type Shape struct {
	Kind    string
	Sign    string // text that every token of the kind contains; it is searched first
	Pattern *regexp.Regexp
}

// Shapes returns the shapes of all tokens, compiled at the first call. The caller must not change
// them.
var Shapes = sync.OnceValue(func() (all []Shape) {
	for _, t := range tokens {
		all = append(all, Shape{t.Kind, t.Sign, regexp.MustCompile(t.Pattern)})
	}
	return all
})

// The first and the last line of a private key.
var (
	keyBegin = regexp.MustCompile(`-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----`)
	keyEnd   = regexp.MustCompile(`-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----`)
)

// found receives the position and the kind of a secret in a text. It returns false to end the
// search.
type found func(start, end int, kind string) bool

// A detector finds secrets in a text and calls f for each. If loose is set, it also finds possible
// secrets. It reports whether f returned true for all of them.
type detector func(text string, loose bool, f found) bool

// detectors contains the detectors of all kinds of secrets.
var detectors = [...]detector{eachPrivateKey, eachToken, eachAssigned, eachAuthorization, eachUserInfo}

// Find calls f with the position of each secret in a text, until f returns false. It searches for
// one kind after the other. It rarely mistakes other words for secrets, and it ignores common
// examples of documentation.
func Find(text string, f func(start, end int, kind string) bool) { find(text, false, f) }

func find(text string, loose bool, f found) {
	for _, d := range detectors {
		if !d(text, loose, f) {
			return
		}
	}
}

// Replace returns text with each secret that [Find] finds replaced by the result of the function
// by.
func Replace(text string, by func(secret, kind string) string) string {
	return replace(text, false, by)
}

// Hide returns text in which mark replaces each secret and each possible secret. Possible secrets
// are values after a sensitive name, and words that begin like a token. The text may have been cut.
func Hide(text, mark string) string {
	if scan(text, plain)&suspect == 0 {
		return text
	}
	return hideFound(text, mark)
}

func hideFound(text, mark string) string {
	return replace(text, true, func(string, string) string { return mark })
}

func replace(text string, loose bool, by func(secret, kind string) string) string {
	type place struct {
		start, end int
		kind       string
	}
	var places []place
	find(text, loose, func(start, end int, kind string) bool {
		places = append(places, place{start, end, kind})
		return true
	})
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	var out strings.Builder
	at := 0
	for _, p := range places {
		if p.start < at { // if the secret overlaps one that was replaced, only the part after it remains
			p.start = at
		}
		if p.end <= p.start {
			continue
		}
		out.WriteString(text[at:p.start])
		out.WriteString(by(text[p.start:p.end], p.kind))
		at = p.end
	}
	if at == 0 {
		return text
	}
	return out.String() + text[at:]
}

func eachPrivateKey(text string, _ bool, f found) bool {
	if !strings.Contains(text, "PRIVATE KEY") {
		return true
	}
	for at := 0; ; {
		first := keyBegin.FindStringIndex(text[at:])
		if first == nil {
			return true
		}
		start, end := at+first[0], len(text)
		if last := keyEnd.FindStringIndex(text[at+first[1]:]); last != nil {
			end = at + first[1] + last[1]
		}
		if !f(start, end, "private key") {
			return false
		}
		at = end
	}
}

// eachToken finds tokens of known services. If loose is set, it also finds long words that begin
// like a token.
func eachToken(text string, loose bool, f found) bool {
	const shortest = 15 // minimum length of a token and the characters around it
	more := true
	EachRun(text, shortest, func(start, end int) bool {
		run := text[start:end]
		more = eachShape(run, loose, func(from, to int, kind string) bool { return f(start+from, start+to, kind) })
		if apart := escapedSpace.Replace(run); more && apart != run {
			more = eachShape(apart, loose, func(from, to int, kind string) bool {
				return !beginsLine(run, from) || f(start+from, start+to, kind)
			})
		}
		return more
	})
	return more && (!loose || eachTokenStart(text, f))
}

// escapedSpace replaces escapes of line ends and tabs, as in JSON and program output, by spaces of
// the same length.
var escapedSpace = strings.NewReplacer(`\n`, "  ", `\r`, "  ", `\t`, "  ")

// beginsLine reports whether an escape of white space ends at a position. The letter of the escape
// is then not a part of the following word.
func beginsLine[T string | []byte](text T, at int) bool {
	return at >= 2 && text[at-2] == '\\' && isEscapeOfSpace(text[at-1])
}

func isEscapeOfSpace(c byte) bool { return c == 'n' || c == 'r' || c == 't' }

// EachRun calls f with the position of each run of at least shortest bytes without white space,
// until f returns false.
func EachRun(text string, shortest int, f func(start, end int) bool) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && text[i] > ' ' {
			continue
		}
		if i-start >= shortest && !f(start, i) {
			return
		}
		start = i + 1
	}
}

// eachShape finds tokens in a text without white space.
func eachShape(run string, loose bool, f found) bool {
	for _, s := range Shapes() {
		if !strings.Contains(run, s.Sign) {
			continue
		}
		for at := 0; ; {
			place := s.Pattern.FindStringIndex(run[at:])
			if place == nil {
				break
			}
			start, end := at+place[0], at+place[1]
			if (loose || !isExample(run[start:end])) && !f(start, end, s.Kind) {
				return false
			}
			at = end
		}
	}
	return true
}

const (
	// openers are the characters that can precede a value in program output, such as JSON, settings
	// and commands.
	openers = "\"'`([{<=,:;|&"
	// enders are the characters that can follow a value.
	enders = " \t\r\n\"'`)]}>,;|&<\\"
)

// schemes are the words that can precede a token in a header.
var schemes = [...]string{"authorization:", "bearer ", "basic "}

// eachTokenStart finds long words that begin like a token. It recognizes a scheme only at the
// beginning of a value.
func eachTokenStart(text string, f found) bool {
	const long = 16
	for i := 0; i < len(text); i++ {
		if i > 0 && isWord(text[i-1]) && !beginsLine(text, i) || !beginsLikeToken(text[i:]) {
			continue
		}
		begin := i
		for _, scheme := range schemes { // in the order in which a header contains them
			if hasPrefix(text[i:], scheme) {
				i += len(scheme)
				i += len(text[i:]) - len(strings.TrimLeft(text[i:], " "))
			}
		}
		if i > begin && (begin == 0 || strings.IndexByte(openers, text[begin-1]) < 0) {
			i = begin
			continue
		}
		if end := strings.IndexAny(text[i:], enders); end >= 0 {
			i += end
		} else {
			i = len(text)
		}
		if i-begin >= long && !f(begin, i, "token") {
			return false
		}
		if i == begin {
			continue
		}
		i--
	}
	return true
}

// eachAuthorization finds the values of authorization headers.
func eachAuthorization(text string, loose bool, f found) bool {
	shortest, schemes := 20, []string{"earer ", "asic "}
	if loose {
		shortest, schemes = 8, append(schemes, "EARER ", "ASIC ")
	}
	for _, scheme := range schemes {
		for i := 0; ; {
			next := strings.Index(text[i:], scheme)
			if next < 0 {
				break
			}
			begin := i + next - 1
			if i += next + len(scheme); begin < 0 || text[begin]|0x20 != 'b' || begin > 0 && isWord(text[begin-1]) && !beginsLine(text, begin) {
				continue
			}
			for loose && i < len(text) && text[i] == ' ' {
				i++
			}
			value := text[i:min(len(text), i+500)]
			end := strings.IndexFunc(value, func(r rune) bool { return r >= utf8.RuneSelf || !isCredential(byte(r)) })
			if end >= 0 {
				value = value[:end]
			}
			if len(value) < shortest || !loose && (!isRandom(value) || isExample(value)) || loose && isProse(value) {
				continue
			}
			start := i
			i = wholeValue(text, i+len(value), isCredential)
			if !f(start, i, "authorization header") {
				return false
			}
		}
	}
	return true
}

func isCredential(c byte) bool {
	return isWord(c) || strings.IndexByte("+/-=.~", c) >= 0
}

// isProse reports whether a value is an ordinary word, such as the second one of "basic
// information".
func isProse(value string) bool {
	const longest = 20
	value = strings.TrimRight(value, ".")
	return len(value) < longest && value != "" && strings.Trim(value[1:], "abcdefghijklmnopqrstuvwxyz") == "" && isLetter(value[0])
}

// eachUserInfo finds passwords in URLs. If loose is set, it finds all user information that
// contains a password.
func eachUserInfo(text string, loose bool, f found) bool {
	ends := " \t\r\n/?#\"'<>`"
	if loose {
		ends = " \t\r\n/\"'<>"
	}
	for i := 0; ; {
		next := strings.Index(text[i:], "://")
		if next < 0 {
			return true
		}
		i += next + len("://")
		authority := text[i:min(len(text), i+300)]
		if end := strings.IndexAny(authority, ends); end >= 0 {
			authority = authority[:end]
		}
		at := strings.LastIndexByte(authority, '@')
		if at < 0 {
			continue
		}
		user, password, assigned := strings.Cut(authority[:at], ":")
		start := i + len(user) + 1
		if loose {
			start = i
		} else if len(password) < 3 || isExample(password) || strings.EqualFold(password, "password") || strings.EqualFold(password, "pass") {
			continue
		}
		if assigned && user != "" && password != "" && !f(start, i+at, "password in a URL") {
			return false
		}
	}
}

// endsValue contains the bytes that end the value of a setting.
const endsValue = " \t\r\n\"',;)}]<>"

// wholeValue returns the end of the value that continues at offset at. It is needed where a
// detector has examined only the beginning of the value.
func wholeValue(text string, at int, within func(byte) bool) int {
	for at < len(text) && within(text[at]) {
		at++
	}
	return at
}

// kindAssigned is the kind of the secrets that [eachAssigned] finds.
const kindAssigned = "value of a password, token or key"

// eachAssigned finds values of settings with a sensitive name that look random, such as "api_key =
// …" or "token: …". If loose is set, it finds all values of such settings.
func eachAssigned(text string, loose bool, f found) bool {
	const long = 200
	for i := 0; i < len(text); i++ {
		if text[i] != '=' && text[i] != ':' {
			continue
		}
		if loose {
			if name := endOfName(text[:i], false); name.certain {
				g := given{text: text, at: i + 1, named: name.quoted, found: f}
				if !g.values() {
					return false
				}
				i = g.at - 1
			}
			continue
		}
		if !namesSecret(text[max(0, i-40):i]) {
			continue
		}
		rest := text[i+1 : min(len(text), i+1+long)]
		value := strings.TrimLeft(rest, " \t\"'=")
		start := i + 1 + len(rest) - len(value)
		if end := strings.IndexAny(value, endsValue); end >= 0 {
			value = value[:end]
		}
		if len(value) < 12 || !isRandom(value) || isExample(value) {
			continue
		}
		i = wholeValue(text, start+len(value), func(c byte) bool { return strings.IndexByte(endsValue, c) < 0 })
		if !f(start, i, kindAssigned) {
			return false
		}
	}
	return true
}

// namesSecret reports whether text ends in a sensitive name.
func namesSecret(text string) bool {
	text = strings.TrimRight(text, " \t\"'")
	var letters [40]byte // letters of the name in lower case, right-aligned
	at := len(letters)
	for i := len(text) - 1; i >= 0 && at > 0 && text[i] != '.' && isNameByte(text[i]); i-- {
		if isLetter(text[i]) {
			at--
			letters[at] = text[i] | 0x20
		}
	}
	return isCertain(letters[at:]) || endsInToken(letters[at:])
}

// isExample reports whether a secret is a common example of documentation.
func isExample(s string) bool {
	upper := strings.ToUpper(s)
	for _, mark := range []string{"EXAMPLE", "XXXX", "YOUR", "PLACEHOLDER", "REDACTED", "CHANGEME", "****", "....", "1234567890ABCDEF", "ABCDEFGH", "USER:PASS", "<", "${"} {
		if strings.Contains(upper, mark) {
			return true
		}
	}
	return false
}

// isRandom reports whether the characters of s are distributed as in a generated value: s contains
// digits and letters, and has at least 3 bits of entropy per character.
func isRandom(s string) bool {
	var counts [128]int
	digits, letters := 0, 0
	for i := range len(s) {
		counts[s[i]&0x7f]++
		switch {
		case s[i] >= '0' && s[i] <= '9':
			digits++
		case isLetter(s[i]):
			letters++
		}
	}
	if digits < 2 || letters < 2 {
		return false
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits >= 3
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isWord reports whether a byte is a part of a word, like \w in a regular expression.
func isWord(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '_' }

// isNameByte reports whether a byte can be a part of a setting's name.
func isNameByte(c byte) bool { return nameBytes[c] }

var nameBytes = func() (is [256]bool) {
	for c := range is {
		is[c] = isWord(byte(c)) || c == '-' || c == '.'
	}
	return is
}()
