package jsonrpc

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Odd is a set of forms that [ParseLoose] accepts and [Parse] rejects.
type Odd uint16

// The forms that [ParseLoose] accepts.
const (
	OddMark      Odd = 1 << iota // a byte order mark at the start
	OddSurrogate                 // an escaped surrogate without its partner: replaced by U+FFFD
	OddBytes                     // bytes in a string that are not valid UTF-8: each replaced by U+FFFD
	OddControl                   // control characters in a string: escaped
	OddNaN                       // NaN or Infinity: replaced by null
	OddNull                      // null as a member of the envelope: treated as absent
	OddVersion                   // a number as the version of JSON-RPC
	OddNumber                    // an integer with a fraction or an exponent as an id or a code
	OddParams                    // an empty array as params: treated as absent
	OddError                     // an error that is not an object with a code and a message
	OddID                        // an id in another form than in the request; set by code that knows the request

	OddAny Odd = 1<<iota - 1
)

// ParseLoose is like [Parse] for messages of other programs. If Parse rejects data, ParseLoose also
// accepts the forms in allowed. The field Odd of the message contains the forms that occurred.
// Repeated names and ids that are not integers are errors, as in Parse. An id such as 3.0 is kept
// in a request, so that the response has the same id; in a response it becomes 3.
func ParseLoose(data []byte, l Limits, allowed Odd) (Message, *Error) {
	msg, fault := Parse(data, l)
	if fault == nil {
		return msg, nil
	}
	var odd Odd
	if fault.Code == ParseError {
		data, odd = MendText(data)
	}
	s := newScanner(data, l)
	var top, inner Members
	if s.document(&top, &inner) != nil || data[SkipSpace(data, 0)] != '{' {
		return msg, fault
	}
	top.src, inner.src = data, data
	env := newEnvelope(&top)
	env.loosen()
	again := Message{Members: inner}
	if env.check() != nil || env.fill(&again) != nil {
		return msg, fault
	}
	if again.Odd = odd | env.odd; again.Odd&^allowed != 0 {
		return msg, fault
	}
	return again, nil
}

// loosen interprets members in forms that strict parsing rejects, and records these forms in odd.
func (env *envelope) loosen() {
	env.loose = true
	for _, v := range []*span{&env.id, &env.method, &env.params, &env.result, &env.err} {
		if !v.absent() && string(env.raw(*v)) == "null" {
			*v = span{}
			env.odd |= OddNull
		}
	}
	if !env.jsonrpc.absent() && isDigit(env.data[env.jsonrpc.start]) && Decimal(string(env.raw(env.jsonrpc))) == "2" {
		env.odd |= OddVersion
	}
	if !env.id.absent() {
		if raw := ID(env.raw(env.id)); len(raw) <= maxID && raw.Plain() != raw {
			env.odd |= OddNumber
		}
	}
	if params := env.raw(env.params); len(params) > 0 && params[0] == '[' && SkipSpace(params, 1) == len(params)-1 {
		env.params = span{}
		env.odd |= OddParams
	}
}

// readError reads an error of any form. Its text becomes the message.
func (env *envelope) readError() *Error {
	code, message, data := env.errorMembers()
	e := &Error{Code: InternalError, Data: data}
	e.Message, _ = Unquote(message)
	if text, quoted := Unquote(code); quoted {
		code = []byte(text)
	}
	plain := string(code)
	if len(code) > 0 && (code[0] == '-' || isDigit(code[0])) {
		plain = string(ID(code).Plain())
	}
	switch n, err := strconv.Atoi(plain); {
	case err == nil:
		e.Code = n
	case len(plain) > 0 && plain != "null":
		e.Message = strings.TrimSuffix(plain+": "+e.Message, ": ")
	}
	if env.odd |= OddError; plain != string(code) && len(message) > 0 && message[0] == '"' {
		env.odd = env.odd&^OddError | OddNumber
	}
	if e.Message != "" {
		return e
	}
	for _, raw := range [][]byte{message, data, env.raw(env.err)} { // the first that is not empty
		if text, quoted := Unquote(raw); quoted {
			e.Message = text
		} else if len(raw) > 0 && string(raw) != "null" {
			e.Message = string(raw)
		}
		if e.Message != "" {
			break
		}
	}
	return e
}

// Plain returns an id such as 3.0, an integer with a fraction or an exponent, in plain digits. It
// returns other ids unchanged.
func (id ID) Plain() ID {
	if id == "" || id[0] != '-' && !isDigit(id[0]) || !strings.ContainsAny(string(id), ".eE") || Valid([]byte(id), Limits{}) != nil {
		return id // the literals true and false contain an e too
	}
	digits, zeros, _ := strings.Cut(Decimal(string(id)), "e")
	n := 0
	if zeros != "" {
		var err error
		if n, err = strconv.Atoi(zeros); err != nil {
			return id
		}
	}
	if n < 0 || n > plainDigits || len(digits)+n > plainDigits {
		return id
	}
	return ID(digits + strings.Repeat("0", n))
}

// plainDigits is the maximum number of digits of an id that Plain converts. It is sufficient for
// every int64.
const plainDigits = 19

// MendText returns a copy of JSON text in which invalid parts of strings are replaced or escaped,
// and values such as NaN are replaced by null. It also returns the forms that it replaced. Other
// errors remain. If a backslash may be a part of a character in another encoding, the ends of
// strings are uncertain. MendText then returns the text unchanged, and 0.
func MendText(data []byte) ([]byte, Odd) {
	var odd Odd
	i := 0
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		i, odd = 3, OddMark
	}
	out := make([]byte, 0, len(data)+64)
	ambiguous, inString := false, false
	for i < len(data) {
		n := 1
		switch c := data[i]; {
		case !inString && (c == 'N' || c == 'I' || c == '-'):
			if n = notNumberLen(data[i:]); n > 0 {
				out, odd = append(out, "null"...), odd|OddNaN
				i += n
				continue
			}
			n = 1
		case c == '"':
			inString = !inString
		case !inString:
		case c == '\\':
			ambiguous = ambiguous || i > 0 && data[i-1] >= utf8.RuneSelf && endsAfterSlashes(data[i:])
			var half bool
			if n, half = escapeEnd(data[i:]); half {
				out, odd = append(out, `\ufffd`...), odd|OddSurrogate
				i += n
				continue
			}
		case c < ' ':
			out, odd = appendEscape(out, c), odd|OddControl
			i++
			continue
		case c >= utf8.RuneSelf:
			if n = runesLen(data, i); n == 0 {
				out, odd = append(out, "\uFFFD"...), odd|OddBytes
				i++
				continue
			}
		}
		out = append(out, data[i:i+n]...)
		i += n
	}
	if ambiguous && odd&OddBytes != 0 || odd == 0 {
		return data, 0
	}
	return out, odd
}

// endsAfterSlashes reports whether a quote follows the backslashes at the beginning of data. The
// number of backslashes decides whether this quote ends the string. But the first backslash may be
// the second byte of a character in Shift JIS or GBK.
func endsAfterSlashes(data []byte) bool {
	rest := bytes.TrimLeft(data, `\`)
	return len(rest) > 0 && rest[0] == '"'
}

// escapeEnd returns the length of the escape at the beginning of data. half is set if the escape is
// a surrogate without its partner. [Parse] rejects other invalid escapes.
func escapeEnd(data []byte) (n int, half bool) {
	if n, fault := escapeLen(data, 0); fault == "" {
		return n, false
	}
	if len(data) > 1 && data[1] == 'u' {
		if r, ok := hex4(data, 2); ok && utf16.IsSurrogate(r) {
			return 6, true
		}
	}
	return min(2, len(data)), false
}

// notNumberLen returns the length of NaN, Infinity or -Infinity at the beginning of data, or 0.
func notNumberLen(data []byte) int {
	for _, name := range []string{"NaN", "Infinity", "-Infinity"} {
		if n := len(name); bytes.HasPrefix(data, []byte(name)) && (n == len(data) || endsScalar(data[n])) {
			return n
		}
	}
	return 0
}
