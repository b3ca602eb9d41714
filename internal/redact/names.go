package redact

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// names is the only list of sensitive names. They are written in lower-case letters without
// separators.
var names = [...]struct {
	part    string   // a value may be a secret if its name contains part
	endings []string // a value is a secret in any form if its name ends in one of these
	typed   bool     // a user's input in a field is a secret if the field's name contains part
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

// oneTime is too short to be searched within names. A name must begin or end with it.
const oneTime = "otp"

func isOneTime[T string | []byte](letters T) bool {
	n := len(letters) - len(oneTime)
	return n >= 0 && (letters[0] == oneTime[0] || letters[n] == oneTime[0]) && (string(letters[n:]) == oneTime || string(letters[:len(oneTime)]) == oneTime)
}

// sensitive, endings and typed contain the columns of names.
var sensitive, endings, typed = func() (parts, ends, ofFields []string) {
	for _, n := range names {
		parts, ends = append(parts, n.part), append(ends, n.endings...)
		if n.typed {
			ofFields = append(ofFields, n.part)
		}
	}
	return parts, ends, ofFields
}()

// Endings returns the endings of names whose values are secrets in any form, in lower-case letters
// without separators. The caller may append to the slice, but must not change its elements.
func Endings() []string { return endings[:len(endings):len(endings)] }

// IsProtocol reports whether a name belongs to a member of the protocol, although it resembles a
// sensitive name.
func IsProtocol(name string) bool { return name == "progressToken" }

var separators = strings.NewReplacer("-", "", "_", "", ".", "") // a Replacer is 5 KB and is therefore made only once

// Named reports whether a flag, variable, header or setting with this name may contain a secret. It
// ignores case, hyphens, underscores and dots.
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

// Typed reports whether a form field with this name is meant for a secret. A user's input in such a
// field must not be visible on the screen.
func Typed(name string) bool {
	letters := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	return letters == "pin" || isOneTime(letters) || containsAny(letters, typed) // only in form fields is a pin a secret; elsewhere it may be the pin of a chip
}

// Certain reports whether a member with this name contains a secret, whatever the form of its
// value. It ignores all characters of the name that are not letters.
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

// Holds reports whether a member contains a secret, because of its name or, if the name is
// ambiguous, because of its name and its value.
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

// letterOf maps a byte of a name to itself, with letters in lower case, or to 0 if the byte is
// ignored. Values from utf8.RuneSelf on mean that the name needs a closer check.
var letterOf = func() (of [256]byte) {
	for c := range of {
		of[c] = byte(c)
	}
	for c := 'A'; c <= 'Z'; c++ {
		of[c] |= 0x20
	}
	of['-'], of['_'], of['.'], of[0] = 0, 0, 0, utf8.RuneSelf // NUL is so rare that it is left to the closer check
	return of
}()

// named is like [Named], but is not sure about names that are long or not ASCII.
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

// endsInToken reports whether a name ends in token and does not belong to a member of the protocol.
func endsInToken(letters []byte) bool {
	return bytes.HasSuffix(letters, []byte("token")) && string(letters) != "progresstoken"
}

// A nameEnd describes the name in the text before a = or :.
type nameEnd struct {
	certain bool // the value is certainly a secret
	quoted  bool // the name is in quotes
}

// lastPairs contains the last two letters of sensitive names, for [endOfName].
var lastPairs = func() (p pairs) {
	for _, ending := range append(Endings(), "token", oneTime, accountKey) {
		p[ending[len(ending)-2]] |= 1 << (ending[len(ending)-1] & 0x1f)
	}
	return p
}()

// accountKey is the name before the value of the only token type that is recognized by a name.
const accountKey = "accountkey"

// endOfName examines the name at the end of a text. The name may have a suffix after an underscore,
// as in password_2. If raw is set, \t in text is an escaped tab.
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
	if end-i < len(oneTime) { // no sensitive name is shorter
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
