package jsonrpc

import (
	"bytes"
	"fmt"
	"strings"
)

// EachText calls f for each string in a valid JSON value, until f returns false. The argument at of
// f is the path of the string; at of EachText is the path of value. more is false if f returned
// false.
func EachText(at string, value []byte, f func(at, text string) bool) (more bool) {
	value = bytes.TrimSpace(value)
	if text, is := Unquote(value); is {
		return f(at, text)
	}
	more = true
	EachMember(value, func(quoted, member []byte) bool {
		name, _ := Unquote(quoted)
		more = EachText(strings.TrimPrefix(at+"."+name, "."), member, f)
		return more
	})
	n := 0
	EachElement(value, func(element []byte) bool {
		more = EachText(fmt.Sprintf("%s[%d]", at, n), element, f)
		n++
		return more
	})
	return more
}
