package fields

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A Table contains the fields of T that are written as members of a JSON object, in order. The
// following tags apply:
//
//	json:"name,omitzero"  as in encoding/json; omitempty is supported too
//	field:"name"          takes precedence over json, for fields that encoding/json writes differently
//	layout:"15:04"        format of a time, in UTC; by default RFC 3339 with nanoseconds
//	unit:"us"             writes a duration in microseconds; by default in nanoseconds
//	redact:"class"        marks a possible secret for the [Hider] of [Table.Append] and for [Table.Texts]
//	doc:"…"               description of the value; 'words' in quotes are shown as code
type Table[T any] struct {
	fields []Field
	rows   []row
}

// A Field is one row of a Table.
type Field struct {
	Name string
	Doc  string
	Tag  reflect.StructTag
	*row
}

// A row is the part of a Field that the function write uses.
type row struct {
	key    jsonrpc.Key
	offset uintptr
	size   uintptr // offset of a word that is 0 if the field must be omitted; or noSize
	kind   kind
	omit   omit
	class  string // class of redaction; empty without redaction
	unit   int64
	layout string
	rows   []row // fields of an object
}

const noSize = ^uintptr(0)

// A kind is the type and the JSON form of a field.
type kind uint8

const (
	text kind = iota
	number
	number64
	positive64
	fraction
	truth
	moment
	raw
	texts
	object // pointer to a struct
)

// An omit selects the values of a field that are omitted.
type omit uint8

const (
	never omit = iota
	zero
	empty // zero values, and lists without elements
)

// A Hider returns its argument without secrets.
type Hider interface {
	Text(value string) string
	JSON(value json.RawMessage) json.RawMessage
}

// Of returns the table of T. It panics if T has a field of an unsupported type.
func Of[T any]() *Table[T] {
	fields, rows := fieldsOf(reflect.TypeFor[T]())
	return &Table[T]{fields, rows}
}

func fieldsOf(typ reflect.Type) (fields []Field, rows []row) {
	rows = make([]row, 0, typ.NumField())
	for i := range typ.NumField() {
		of := typ.Field(i)
		name, options, _ := strings.Cut(of.Tag.Get("json"), ",")
		if own := of.Tag.Get("field"); own != "" {
			name, options, _ = strings.Cut(own, ",")
		}
		if !of.IsExported() || name == "-" || name == "" {
			continue
		}
		r := row{key: jsonrpc.KeyOf(name), offset: of.Offset, size: noSize, kind: kindOf(of.Type), class: of.Tag.Get("redact"), layout: of.Tag.Get("layout"), unit: 1}
		if of.Tag.Get("unit") == "us" {
			r.unit = int64(time.Microsecond)
		}
		switch options {
		case "omitzero":
			r.omit = zero
		case "omitempty":
			r.omit = empty
		}
		switch word := unsafe.Sizeof(uintptr(0)); {
		case r.omit == never:
		case r.kind == text, r.omit == empty && (r.kind == raw || r.kind == texts):
			r.size = of.Offset + word
		case r.kind == raw, r.kind == texts, r.kind == object, r.kind == number, word == 8 && (r.kind == number64 || r.kind == positive64):
			r.size = of.Offset
		}
		if r.kind == object {
			_, r.rows = fieldsOf(of.Type.Elem())
		}
		rows = append(rows, r)
		fields = append(fields, Field{name, of.Tag.Get("doc"), of.Tag, &rows[len(rows)-1]})
	}
	return fields, rows
}

func kindOf(typ reflect.Type) kind {
	switch typ {
	case reflect.TypeFor[time.Time]():
		return moment
	case reflect.TypeFor[json.RawMessage]():
		return raw
	case reflect.TypeFor[[]string]():
		return texts
	}
	switch typ.Kind() {
	case reflect.String:
		return text
	case reflect.Int:
		return number
	case reflect.Int64:
		return number64
	case reflect.Uint64:
		return positive64
	case reflect.Float64:
		return fraction
	case reflect.Bool:
		return truth
	case reflect.Pointer:
		if typ.Elem().Kind() == reflect.Struct {
			return object
		}
	}
	panic(fmt.Sprintf("fields: a field of type %v cannot be written", typ))
}

func (t *Table[T]) Fields() []Field { return t.fields }

// Append appends v to dst as a JSON object. Unless h is nil, it replaces the values of fields with
// the tag redact by the results of h.
func (t *Table[T]) Append(dst []byte, v *T, h Hider) []byte {
	w := jsonrpc.NewObject(dst)
	write(&w, t.rows, unsafe.Pointer(v), h)
	return w.Bytes()
}

// Texts calls visit for each string field of v with the tag redact. n counts these fields from 0,
// and class is the value of the tag.
func (t *Table[T]) Texts(v *T, visit func(n int, class string, value *string)) {
	n := 0
	for i := range t.rows {
		if r := &t.rows[i]; r.class != "" && r.kind == text {
			visit(n, r.class, (*string)(unsafe.Add(unsafe.Pointer(v), r.offset)))
			n++
		}
	}
}

// write writes the fields of the struct at address at.
func write(w *jsonrpc.Writer, rows []row, at unsafe.Pointer, h Hider) {
	for i := range rows {
		r := &rows[i]
		if r.size != noSize && *(*uintptr)(unsafe.Add(at, r.size)) == 0 {
			continue
		}
		p := unsafe.Add(at, r.offset)
		switch r.kind {
		case text:
			value := *(*string)(p)
			if r.class != "" && h != nil {
				value = h.Text(value)
			}
			w.Key(r.key)
			w.StringElement(value)
		case number:
			r.int(w, int64(*(*int)(p)))
		case number64:
			r.int(w, *(*int64)(p))
		case positive64:
			if value := *(*uint64)(p); value != 0 || r.omit == never {
				w.Key(r.key)
				var digits [20]byte
				w.Element(strconv.AppendUint(digits[:0], value, 10))
			}
		case fraction:
			if value := *(*float64)(p); value != 0 || r.omit == never {
				w.Key(r.key)
				w.NumberElement(value)
			}
		case truth:
			if value := *(*bool)(p); value || r.omit == never {
				w.Key(r.key)
				var word [5]byte
				w.Element(strconv.AppendBool(word[:0], value))
			}
		case moment:
			r.time(w, (*time.Time)(p))
		case raw:
			value := *(*json.RawMessage)(p)
			if r.class != "" && h != nil && len(value) > 0 {
				value = h.JSON(value)
			}
			w.Key(r.key)
			if len(value) == 0 {
				value = json.RawMessage("null")
			}
			w.Element(value)
		case texts:
			r.texts(w, *(*[]string)(p), h)
		case object:
			w.Key(r.key)
			if value := *(*unsafe.Pointer)(p); value != nil {
				w.ObjectElement()
				write(w, r.rows, value, h)
				w.End()
			} else {
				w.Element(json.RawMessage("null"))
			}
		}
	}
}

func (r *row) int(w *jsonrpc.Writer, value int64) {
	if r.unit > 1 {
		value /= r.unit
	}
	if value != 0 || r.omit == never {
		w.Key(r.key)
		var digits [20]byte
		w.Element(strconv.AppendInt(digits[:0], value, 10))
	}
}

func (r *row) time(w *jsonrpc.Writer, value *time.Time) {
	if r.omit != never && value.IsZero() {
		return
	}
	var stamp [64]byte
	w.Key(r.key)
	if r.layout == "" {
		w.StringElementBytes(value.AppendFormat(stamp[:0], time.RFC3339Nano))
	} else {
		w.StringElementBytes(value.UTC().AppendFormat(stamp[:0], r.layout))
	}
}

func (r *row) texts(w *jsonrpc.Writer, values []string, h Hider) {
	w.Key(r.key)
	w.ArrayElement()
	for _, value := range values {
		if r.class != "" && h != nil {
			value = h.Text(value)
		}
		w.StringElement(value)
	}
	w.End()
}

// Text returns the value of the field for display. written is an object that [Table.Append] wrote.
// Text returns "" if the field is absent.
func (f *Field) Text(written json.RawMessage) string {
	value := jsonrpc.Get(written, f.Name)
	if unquoted, is := jsonrpc.Unquote(value); is {
		return unquoted
	}
	if f.unit > 1 && value != nil {
		d, _ := time.ParseDuration(string(value) + "us")
		return d.String()
	}
	return string(value)
}

// IsNumber reports whether the field is written as a number.
func (f *Field) IsNumber() bool { return f.kind >= number && f.kind <= fraction }

// Markdown returns a row of a Markdown table for each field.
func (t *Table[T]) Markdown() string {
	var b strings.Builder
	for i := range t.fields {
		tableRow(&b, t.fields[i].Name, t.fields[i].Doc)
	}
	return b.String()
}
