package jsonrpc

import (
	"encoding/json"
	"slices"
)

// AppendRequest appends a request to dst. params must be valid JSON; it is copied unchanged,
// including line breaks. nil means that the request has no params.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	w := NewMessage(slices.Grow(dst, 48+len(id)+len(method)+len(params)), id)
	w.buf = AppendString(append(w.buf, methodMember...), method)
	if params != nil {
		w.buf = append(append(w.buf, paramsMember...), params...)
	}
	return w.Bytes()
}

// AppendNotification appends a notification to dst. params is as in [AppendRequest].
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return AppendRequest(dst, "", method, params)
}

// AppendResult appends a response with a result to dst. result must be valid JSON and is copied
// unchanged; nil is written as an empty object.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	if result == nil {
		result = []byte(`{}`)
	}
	w := NewMessage(slices.Grow(dst, 36+len(id)+len(result)), id.orNull())
	w.buf = append(append(w.buf, resultMember...), result...)
	return w.Bytes()
}

// AppendError appends an error response to dst. The zero ID is written as null: it means that the
// id of the request could not be read.
func AppendError(dst []byte, id ID, e *Error) []byte {
	w := NewMessage(dst, id.orNull())
	w.Object("error")
	w.Int("code", int64(e.Code))
	w.String("message", e.Message)
	if e.Data != nil {
		w.Raw("data", e.Data)
	}
	return w.Bytes()
}

// With returns a copy of a valid object in which the member name has the given value. An empty obj
// is treated as an empty object.
func With(obj []byte, name string, value []byte) json.RawMessage {
	w := NewObject(make([]byte, 0, len(obj)+len(name)+len(value)+6))
	w.Members(obj, name)
	w.Raw(name, value)
	return w.Bytes()
}

// Without returns a copy of a valid object without the named members.
func Without(obj []byte, names ...string) json.RawMessage {
	w := NewObject(make([]byte, 0, len(obj)+2))
	w.Members(obj, names...)
	return w.Bytes()
}
