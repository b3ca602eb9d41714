package jsonrpc

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
)

// A Writer appends one JSON object or array to a buffer. It writes commas,
// quotes and braces, so that no other code joins fragments of JSON. Names and
// strings are escaped; raw values must be valid JSON. A Writer is used by one
// goroutine.
//
//	w := jsonrpc.NewObject(dst)
//	w.String("name", tool)
//	w.Raw("arguments", arguments)
//	return w.Bytes()
type Writer struct {
	buf   []byte
	more  bool   // a member or element precedes the next one
	depth uint8  // number of open objects and arrays
	array uint64 // bit i is set for an array at depth i
}

// NewObject opens an object at the end of dst, which may be nil.
func NewObject(dst []byte) Writer {
	return Writer{buf: append(dst, '{')}
}

// NewArray opens an array at the end of dst, which may be nil.
func NewArray(dst []byte) Writer {
	return Writer{buf: append(dst, '['), array: 1}
}

// Names of a message's members, in their form after another member. They are constants because
// every message has them.
const (
	idMember     = `,"id":`
	methodMember = `,"method":`
	paramsMember = `,"params":`
	resultMember = `,"result":`
)

// NewMessage opens a JSON-RPC message at the end of dst, with the version and, unless it is zero,
// the id.
func NewMessage(dst []byte, id ID) Writer {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if !id.IsZero() {
		dst = append(append(dst, idMember...), id...)
	}
	return Writer{buf: dst, more: true}
}

// Bytes closes everything open and returns the buffer. The Writer must not be used afterwards.
func (w *Writer) Bytes() []byte {
	if w.depth == 0 && w.array == 0 {
		return append(w.buf, '}')
	}
	for w.depth > 0 {
		w.End()
	}
	return append(w.buf, w.closing())
}

// Len returns the length of the buffer so far, including its initial content.
func (w *Writer) Len() int { return len(w.buf) }

// Null writes a member that is null.
func (w *Writer) Null(name string) { w.name(name); w.buf = append(w.buf, "null"...) }

// String writes a member that is a string.
func (w *Writer) String(name, value string) {
	w.name(name)
	w.buf = AppendString(w.buf, value)
}

// StringBytes is [Writer.String] for bytes, such as JSON text shown as text.
func (w *Writer) StringBytes(name string, value []byte) {
	w.name(name)
	w.buf = AppendStringBytes(w.buf, value)
}

// Base64 writes a member that is a string with bytes in standard base64, padded.
func (w *Writer) Base64(name string, value []byte) {
	w.name(name)
	w.buf = AppendBase64String(w.buf, value)
}

// Number writes a member that is a finite number; an integer has no fraction.
func (w *Writer) Number(name string, value float64) {
	w.name(name)
	w.number(value)
}

// NumberElement is [Writer.Number] for an element of an array.
func (w *Writer) NumberElement(value float64) {
	w.comma()
	w.number(value)
}

func (w *Writer) number(value float64) {
	if value == math.Trunc(value) && math.Abs(value) < 1<<53 {
		w.buf = strconv.AppendInt(w.buf, int64(value), 10)
	} else {
		w.buf = strconv.AppendFloat(w.buf, value, 'g', -1, 64)
	}
}

// Int writes a member that is an integer.
func (w *Writer) Int(name string, value int64) {
	w.name(name)
	w.buf = strconv.AppendInt(w.buf, value, 10)
}

// Bool writes a member that is a boolean.
func (w *Writer) Bool(name string, value bool) {
	w.name(name)
	w.buf = strconv.AppendBool(w.buf, value)
}

// ID writes a member that is an id; the zero ID is written as null.
func (w *Writer) ID(name string, id ID) {
	w.name(name)
	w.buf = append(w.buf, id.orNull()...)
}

// Raw writes a member whose value is JSON; nil is written as null.
func (w *Writer) Raw(name string, value json.RawMessage) {
	if value == nil {
		w.Null(name)
		return
	}
	w.name(name)
	w.buf = append(w.buf, value...)
}

// Encoded writes a member whose value encode appends to the buffer. On an error it writes nothing.
func (w *Writer) Encoded(name string, encode func(dst []byte) ([]byte, error)) error {
	length, more := len(w.buf), w.more
	w.name(name)
	return w.encoded(length, more, encode)
}

// EncodedQuoted is [Writer.Encoded] with a quoted and escaped name.
func (w *Writer) EncodedQuoted(quoted []byte, encode func(dst []byte) ([]byte, error)) error {
	length, more := len(w.buf), w.more
	w.comma()
	w.buf = append(append(w.buf, quoted...), ':')
	return w.encoded(length, more, encode)
}

// EncodedElement is [Writer.Encoded] for an element of an array.
func (w *Writer) EncodedElement(encode func(dst []byte) ([]byte, error)) error {
	length, more := len(w.buf), w.more
	w.comma()
	return w.encoded(length, more, encode)
}

func (w *Writer) encoded(length int, more bool, encode func(dst []byte) ([]byte, error)) error {
	buf, err := encode(w.buf)
	if err != nil {
		w.buf, w.more = w.buf[:length], more
		return err
	}
	w.buf = buf
	return nil
}

// EncodedMembers writes the members of the object that encode appends to the buffer. On an error it
// writes nothing.
func (w *Writer) EncodedMembers(encode func(dst []byte) ([]byte, error)) error {
	at := len(w.buf)
	if !w.more {
		at-- // the brace of the object replaces the one in the buffer
	}
	buf, err := encode(w.buf[:at])
	for len(buf) > at && isSpace(buf[len(buf)-1]) {
		buf = buf[:len(buf)-1]
	}
	if err == nil && (len(buf) < at+2 || buf[at] != '{' || buf[len(buf)-1] != '}') {
		err = errors.New("expected a value that encodes to an object")
	}
	if err != nil || SkipSpace(buf, at+1) == len(buf)-1 {
		if w.buf = w.buf[:at]; !w.more {
			w.buf = append(w.buf, '{')
		}
		return err
	}
	if w.more {
		buf[at] = ','
	}
	w.buf, w.more = buf[:len(buf)-1], true
	return nil
}

// A Key is the name of a frequently written member, in its form after another member.
type Key string

// KeyOf returns the Key of a name.
func KeyOf(name string) Key {
	return Key("," + string(AppendString(nil, name)) + ":")
}

// Key writes the name of a member. Its value is the next element.
func (w *Writer) Key(k Key) {
	if !w.more {
		k = k[1:]
	}
	w.buf, w.more = append(w.buf, k...), false
}

// Object opens a member that is an object; End closes it.
func (w *Writer) Object(name string) { w.name(name); w.open('{') }

// Array opens a member that is an array; End closes it.
func (w *Writer) Array(name string) { w.name(name); w.open('[') }

// Members copies the members of the object obj, except those named in drop. obj must be valid;
// other values have no members.
func (w *Writer) Members(obj json.RawMessage, drop ...string) {
	w.buf = slices.Grow(w.buf, len(obj)+1)
	for i, more := enter(obj, '{'); more; {
		nameEnd, _, end, ok := memberAt(obj, i)
		if !ok {
			return
		}
		if !named(obj[i:nameEnd], drop) {
			w.comma()
			w.buf = append(w.buf, obj[i:end]...)
		}
		i, more = next(obj, end)
	}
}

// Element writes an element of an array; its value is JSON.
func (w *Writer) Element(value json.RawMessage) {
	w.comma()
	w.buf = append(w.buf, value...)
}

// StringElement writes an element of an array that is a string.
func (w *Writer) StringElement(value string) {
	w.comma()
	w.buf = AppendString(w.buf, value)
}

// StringElementBytes is [Writer.StringElement] for bytes.
func (w *Writer) StringElementBytes(value []byte) {
	w.comma()
	w.buf = AppendStringBytes(w.buf, value)
}

// ObjectElement opens an element of an array that is an object; End closes it.
func (w *Writer) ObjectElement() { w.comma(); w.open('{') }

// ArrayElement opens an element of an array that is an array; End closes it.
func (w *Writer) ArrayElement() { w.comma(); w.open('[') }

// End closes the innermost object or array that Object, Array or ObjectElement opened.
func (w *Writer) End() {
	w.buf = append(w.buf, w.closing())
	w.depth--
	w.more = true
}

func (w *Writer) closing() byte {
	if w.array>>w.depth&1 == 1 {
		return ']'
	}
	return '}'
}

// open opens an object or array. It panics at a depth of 64, far beyond the messages of this
// program.
func (w *Writer) open(bracket byte) {
	w.depth++
	if w.depth >= 64 {
		panic("jsonrpc: objects are nested too deep to be written")
	}
	w.array &^= 1 << w.depth
	if bracket == '[' {
		w.array |= 1 << w.depth
	}
	w.buf = append(w.buf, bracket)
	w.more = false
}

func (w *Writer) comma() {
	if w.more {
		w.buf = append(w.buf, ',')
	}
	w.more = true
}

// name writes the name of a member. Nearly all names need no escapes.
func (w *Writer) name(name string) {
	w.comma()
	for i := range len(name) {
		if c := name[i]; c-'#' > '~'-'#' || c == '\\' {
			w.buf = append(AppendString(w.buf, name), ':')
			return
		}
	}
	n := len(w.buf) + 1
	buf := slices.Grow(w.buf, len(name)+3)[:n+len(name)+2]
	buf[n-1] = '"'
	copy(buf[n:], name)
	buf[len(buf)-2], buf[len(buf)-1] = '"', ':'
	w.buf = buf
}
