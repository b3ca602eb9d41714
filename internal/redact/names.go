package redact

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// names is the only list of names of secrets, in lower-case letters only.
var names = [...]struct {
	part    string   // a name that contains it may be that of a secret
	endings []string // a value whose name ends in one of these is a secret in any form
	typed   bool     // input of users into a field whose name contains the part is a secret
}{
	{"token", []string{"accesstoken", "refreshtoken", "idtoken", "authtoken", "sessiontoken", "bearertoken", "apitoken"}, true},
	{"secret", []string{"secret"}, true},
	{"passw", []string{"password", "passwd"}, true},
	{"passphrase", []string{"passphrase"}, true},
	{"passcode", []string{"passcode"}, true},
	{"pincode", []string{"pincode"}, true},
	{"cvv", []string{"cvv"}, true},
	{"pwd", []string{"pwd"}, true},
	{"apikey", []string{"apikey"}, true},
	{"privatekey", []string{"privatekey"}, true},
	{"key", []string{"accesskey", "secretkey", "signingkey", "encryptionkey"}, false},
	{"auth", []string{"authorization", "auth"}, false},
	{"credential", []string{"credential", "credentials"}, false},
	{"cookie", []string{"cookie", "cookies"}, false},
	{"bearer", []string{"bearer"}, false},
	{"header", nil, false},
	{"private", nil, false},
	{"signature", []string{"signature"}, false},
	{"connectionstring", []string{"connectionstring"}, false},
	{"dsn", []string{"dsn"}, false},
}

// oneTime is too short to match inside names: they must begin or end with it.
const oneTime = "otp"

func isOneTime[T string | []byte](letters T) bool {
	n := len(letters) - len(oneTime)
	return n >= 0 && (letters[0] == oneTime[0] || letters[n] == oneTime[0]) && (string(letters[n:]) == oneTime || string(letters[:len(oneTime)]) == oneTime)
}

// sensitive, endings and typed are the columns of names.
var sensitive, endings, typed = func() (parts, ends, ofFields []string) {
	for _, n := range names {
		parts, ends = append(parts, n.part), append(ends, n.endings...)
		if n.typed {
			ofFields = append(ofFields, n.part)
		}
	}
	return parts, ends, ofFields
}()

// Endings returns the endings of names, in lower-case letters only, whose values are secrets in any
// form. The slice belongs to the caller.
func Endings() []string { return endings[:len(endings):len(endings)] }

// IsProtocol reports whether a name that resembles that of a secret belongs to a member of the
// protocol.
func IsProtocol(name string) bool { return name == "progressToken" }

var separators = strings.NewReplacer("-", "", "_", "", ".", "") // a new one would take 5 KB each time

// Named reports whether a flag, variable, header or setting with this name may hold a secret. Case,
// hyphens, underscores and dots do not matter.
func Named(name string) bool {
	if is, sure := named(name); sure {
		return is
	}
	letters := strings.ToLower(name)
	if strings.ContainsAny(letters, "-_.") {
		letters = separators.Replace(letters)
	}
	return isOneTime(letters) || containsAny(letters, sensitive)
}

func containsAny(letters string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(letters, part) {
			return true
		}
	}
	return false
}

// Typed reports whether users type a secret into a field with this name. It must not be shown on a
// screen.
func Typed(name string) bool {
	letters := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	return letters == "pin" || isOneTime(letters) || containsAny(letters, typed) // elsewhere a pin may be that of a chip
}

// Certain reports whether a member with this name holds a secret, in any form. Only the letters of
// the name matter.
func Certain(name string) bool {
	const longest = 64
	if len(name) > longest {
		return false
	}
	letters := make([]byte, 0, longest)
	for _, r := range strings.ToLower(name) {
		if 'a' <= r && r <= 'z' {
			letters = append(letters, byte(r))
		}
	}
	return isCertain(letters)
}

func isCertain(letters []byte) bool {
	if isOneTime(letters) {
		return true
	}
	for _, ending := range endings {
		if len(letters) >= len(ending) && string(letters[len(letters)-len(ending):]) == ending {
			return true
		}
	}
	return false
}

// Holds reports whether a member holds a secret: by its name or, for ambiguous names, also by its
// value.
func Holds(name, value string) bool {
	const shortest = 8
	switch {
	case value == "" || IsProtocol(name):
		return false
	case Certain(name):
		return true
	}
	return Named(name) && len(value) >= shortest && strings.ContainsAny(value, "0123456789") && !strings.ContainsAny(value, " \t\r\n")
}

// letterOf maps a byte of a name to its letter, or to 0 if it does not count. From utf8.RuneSelf on
// this is unknown.
var letterOf = func() (of [256]byte) {
	for c := range of {
		of[c] = byte(c)
	}
	for c := 'A'; c <= 'Z'; c++ {
		of[c] |= 0x20
	}
	of['-'], of['_'], of['.'], of[0] = 0, 0, 0, utf8.RuneSelf // NUL is not worth a closer look here
	return of
}()

// named is [Named]. It is not sure of names that are long or not ASCII.
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
	if isOneTime(letters[:n]) {
		return true, true
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

// endsInToken reports whether a name ends in token and is not a member of the protocol.
func endsInToken(letters []byte) bool {
	return bytes.HasSuffix(letters, []byte("token")) && string(letters) != "progresstoken"
}

// A nameEnd describes the name in the text before = or :.
type nameEnd struct {
	certain bool // the value is a secret
	quoted  bool // the name is in quotes
}

// lastPairs holds the last two letters of the names for [endOfName].
var lastPairs = func() (p pairs) {
	for _, ending := range append(Endings(), "token", oneTime, accountKey) {
		p[ending[len(ending)-2]] |= 1 << (ending[len(ending)-1] & 0x1f)
	}
	return p
}()

// accountKey is the name before the only token that the table identifies by a name.
const accountKey = "accountkey"

// endOfName reads the name at the end of a text. The name may continue after an underscore, as in
// password_2. In raw text \t is a tab.
func endOfName[T string | []byte](text T, raw bool) (n nameEnd) {
	i := len(text)
	for ; i > 0; i-- {
		c := text[i-1]
		if raw && c == 't' && i > 1 && text[i-2] == '\\' {
			continue
		}
		if c != ' ' && c != '\t' && c != '"' && c != '\'' && c != '\\' {
			break
		}
		n.quoted = n.quoted || c == '"' || c == '\''
	}
	const longest, longestSuffix = 64, 21
	end, under := i, false
	first := max(0, end-longest)
	for i > first && isNameByte(text[i-1]) {
		i--
		under = under || text[i] == '_' && end-i <= longestSuffix
	}
	if end-i < len(oneTime) { // no name is shorter
		return n
	}
	if last := end - 2; !under && last >= i && isLetter(text[last]) && isLetter(text[last+1]) && !lastPairs.has(text[last], text[last+1]) {
		return n
	}
	var letters [longest]byte
	count := 0
	for at := i; at < end; at++ {
		c := text[at]
		if c == '_' && end-at <= longestSuffix && at+1 < end && isCertain(letters[:count]) {
			n.certain = true
			return n
		}
		if isLetter(c) {
			letters[count] = c | 0x20
			count++
		}
	}
	name := letters[:count]
	n.certain = isCertain(name) || endsInToken(name) || bytes.HasSuffix(name, []byte(accountKey))
	return n
}
