package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// The codes that JSON-RPC 2.0 defines (https://www.jsonrpc.org/specification#error_object).
const (
	ParseError     = -32700 // not JSON, not UTF-8, or nested too deeply
	InvalidRequest = -32600 // JSON, but not a message
	MethodNotFound = -32601 // no such method here
	InvalidParams  = -32602 // the method refuses these params
	InternalError  = -32603 // the receiver failed
)

// Error is the error object of a response, and the error of every function
// here. They return *Error rather than error, so that callers have the code at
// hand; compare with nil before storing one in a variable of type error.
type Error struct {
	Code    int             // one of the constants above, or the application's own
	Message string          // a sentence for people
	Data    json.RawMessage // any JSON value; nil if absent
}

// Errorf returns an Error whose message is formatted as by [fmt.Sprintf].
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error returns the message, with the code in parentheses.
func (e *Error) Error() string {
	return e.Message + " (" + strconv.Itoa(e.Code) + ")"
}

// expected says what should stand at offset i of data, and what stands there.
func expected(code int, data []byte, i int, what string) *Error {
	return Errorf(code, "offset %d: expected %s, found %s", i, what, found(data, i))
}

// found names what stands at offset i: one character at most, because the rest may be secret.
func found(data []byte, i int) string {
	if i >= len(data) {
		return "the end of the input"
	}
	c := data[i]
	if c >= utf8.RuneSelf {
		if n := runeLen(data, i); n > 0 {
			return strconv.QuoteRune([]rune(string(data[i : i+n]))[0])
		}
	}
	if c < ' ' || c >= 0x7f {
		return fmt.Sprintf("byte 0x%02x", c)
	}
	return strconv.QuoteRune(rune(c))
}
