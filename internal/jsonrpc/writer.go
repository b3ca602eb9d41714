package jsonrpc

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
)

// A Writer appends one JSON object or array to a buffer. It writes all commas, quotes and brackets,
// so callers never join fragments of JSON. It escapes names and strings. Raw values must be valid
// JSON. A Writer is not safe for concurrent use.
//
//	w := jsonrpc.NewObject(dst)
//	w.String("name", tool)
//	w.Raw("arguments", arguments)
//	return w.Bytes()
type Writer struct {
	buf   []byte
	more  bool   // a member or element precedes the next one
	depth uint8  // number of nested objects and arrays that are open, without the outermost
	array uint64 // bit i is set if there is an array at depth i
}

// NewObject returns a Writer of an object that is appended to dst. dst may be nil.
func NewObject(dst []byte) Writer {
	return Writer{buf: append(dst, '{')}
}

// NewArray returns a Writer of an array that is appended to dst. dst may be nil.
func NewArray(dst []byte) Writer {
	return Writer{buf: append(dst, '['), array: 1}
}

// Member names of messages, as written after another member. They are constants because every
// message contains them.
const (
	idMember     = `,"id":`
	methodMember = `,"method":`
	paramsMember = `,"params":`
	resultMember = `,"result":`
)

// NewMessage returns a Writer of a JSON-RPC message that is appended to dst. It writes the version
// and, unless id is zero, the id.
func NewMessage(dst []byte, id ID) Writer {
	dst = append(dst, `{"jsonrpc":"2.0"`...)
	if !id.IsZero() {
		dst = append(append(dst, idMember...), id...)
	}
	return Writer{buf: dst, more: true}
}

// Bytes closes all open objects and arrays, and returns the buffer. The Writer must not be used
// afterwards.
func (w *Writer) Bytes() []byte {
	if w.depth == 0 && w.array == 0 {
		return append(w.buf, '}')
	}
	for w.depth > 0 {
		w.End()
	}
	return append(w.buf, w.closing())
}

// Len returns the current length of the buffer, including its initial content.
func (w *Writer) Len() int { return len(w.buf) }

// Null writes a member with the value null.
func (w *Writer) Null(name string) { w.name(name); w.buf = append(w.buf, "null"...) }

// String writes a member with a string as its value.
func (w *Writer) String(name, value string) {
	w.name(name)
	w.buf = AppendString(w.buf, value)
}

// StringBytes is like [Writer.String] for a byte slice, such as JSON text that becomes a string.
func (w *Writer) StringBytes(name string, value []byte) {
	w.name(name)
	w.buf = AppendStringBytes(w.buf, value)
}

// Base64 writes a member with bytes as its value: a string in padded standard base64.
func (w *Writer) Base64(name string, value []byte) {
	w.name(name)
	w.buf = AppendBase64String(w.buf, value)
}

// Number writes a member with a finite number as its value. Integers are written without a
// fraction.
func (w *Writer) Number(name string, value float64) {
	w.name(name)
	w.number(value)
}

// NumberElement is like [Writer.Number], but writes an element of an array.
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

// Int writes a member with an integer as its value.
func (w *Writer) Int(name string, value int64) {
	w.name(name)
	w.buf = strconv.AppendInt(w.buf, value, 10)
}

// Bool writes a member with a boolean as its value.
func (w *Writer) Bool(name string, value bool) {
	w.name(name)
	w.buf = strconv.AppendBool(w.buf, value)
}

// ID writes a member with an id as its value. The zero ID is written as null.
func (w *Writer) ID(name string, id ID) {
	w.name(name)
	w.buf = append(w.buf, id.orNull()...)
}

// Raw writes a member with JSON as its value. nil is written as null.
func (w *Writer) Raw(name string, value json.RawMessage) {
	if value == nil {
		w.Null(name)
		return
	}
	w.name(name)
	w.buf = append(w.buf, value...)
}

// Encoded writes a member whose value the function encode appends to the buffer. If encode returns
// an error, Encoded writes nothing.
func (w *Writer) Encoded(name string, encode func(dst []byte) ([]byte, error)) error {
	length, more := len(w.buf), w.more
	w.name(name)
	return w.encoded(length, more, encode)
}

// EncodedQuoted is like [Writer.Encoded] for a name that is already quoted and escaped.
func (w *Writer) EncodedQuoted(quoted []byte, encode func(dst []byte) ([]byte, error)) error {
	length, more := len(w.buf), w.more
	w.comma()
	w.buf = append(append(w.buf, quoted...), ':')
	return w.encoded(length, more, encode)
}

// EncodedElement is like [Writer.Encoded], but writes an element of an array.
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

// EncodedMembers writes the members of the object that the function encode appends to the buffer.
// If encode returns an error, EncodedMembers writes nothing.
func (w *Writer) EncodedMembers(encode func(dst []byte) ([]byte, error)) error {
	at := len(w.buf)
	if !w.more {
		at-- // the opening brace that encode writes replaces the one in the buffer
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

// A Key is the name of a frequently written member, as written after another member.
type Key string

func KeyOf(name string) Key {
	return Key("," + string(AppendString(nil, name)) + ":")
}

// Key writes the name of a member. The element that is written next becomes its value.
func (w *Writer) Key(k Key) {
	if !w.more {
		k = k[1:]
	}
	w.buf, w.more = append(w.buf, k...), false
}

// Object opens a member with an object as its value. [Writer.End] closes the object.
func (w *Writer) Object(name string) { w.name(name); w.open('{') }

// Array opens a member with an array as its value. [Writer.End] closes the array.
func (w *Writer) Array(name string) { w.name(name); w.open('[') }

// Members copies the members of obj whose names are not in drop. obj must be valid JSON. If it is
// not an object, Members writes nothing.
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

// Element writes an element of an array. value must be valid JSON.
func (w *Writer) Element(value json.RawMessage) {
	w.comma()
	w.buf = append(w.buf, value...)
}

// StringElement writes a string as an element of an array.
func (w *Writer) StringElement(value string) {
	w.comma()
	w.buf = AppendString(w.buf, value)
}

// StringElementBytes is like [Writer.StringElement] for a byte slice.
func (w *Writer) StringElementBytes(value []byte) {
	w.comma()
	w.buf = AppendStringBytes(w.buf, value)
}

// ObjectElement opens an object as an element of an array. [Writer.End] closes the object.
func (w *Writer) ObjectElement() { w.comma(); w.open('{') }

// ArrayElement opens an array as an element of an array. [Writer.End] closes the inner array.
func (w *Writer) ArrayElement() { w.comma(); w.open('[') }

// End closes the innermost object or array that Object, Array, ObjectElement or ArrayElement
// opened.
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

// open opens an object or array. It panics at a depth of 64, which no message of this program
// reaches.
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

// name writes the name of a member. It has a fast path, as nearly all names need no escapes.
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
