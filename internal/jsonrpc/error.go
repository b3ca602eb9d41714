package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Codes that JSON-RPC 2.0 defines (https://www.jsonrpc.org/specification#error_object).
const (
	ParseError     = -32700 // not JSON, not UTF-8, or nested too deeply
	InvalidRequest = -32600 // JSON, but not a message
	MethodNotFound = -32601 // unknown method
	InvalidParams  = -32602 // params that the method rejects
	InternalError  = -32603 // failure in the receiver
)

// Error is the error object of a response, and the error type of every function in this package.
// The functions return *Error instead of error, so that callers have the code. A nil *Error must
// not be stored in a variable of type error.
type Error struct {
	Code    int             // one of the constants above, or a code that the application defines
	Message string          // sentence for users
	Data    json.RawMessage // any JSON value; nil if absent
}

// Errorf returns an Error whose message is formatted by [fmt.Sprintf].
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Error returns the message, with the code in parentheses.
func (e *Error) Error() string {
	return e.Message + " (" + strconv.Itoa(e.Code) + ")"
}

// expected returns the error for unexpected input at offset i of data. what describes the expected
// input.
func expected(code int, data []byte, i int, what string) *Error {
	return Errorf(code, "offset %d: expected %s, found %s", i, what, found(data, i))
}

// found describes the input at offset i. It shows at most one character, as the input may be
// secret.
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
