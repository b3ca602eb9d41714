package jsonrpc

import (
	"bytes"
	"slices"
	"strconv"
)

// AppendRequest appends a request to dst. Params must be valid JSON, and are
// copied as they are, line breaks included; nil means none.
func AppendRequest(dst []byte, id ID, method string, params []byte) []byte {
	dst = slices.Grow(dst, 48+len(id)+len(method)+len(params))
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	return appendCall(append(dst, ','), method, params)
}

// AppendNotification appends a notification to dst; params are as in [AppendRequest].
func AppendNotification(dst []byte, method string, params []byte) []byte {
	dst = slices.Grow(dst, 48+len(method)+len(params))
	return appendCall(append(dst, `{"jsonrpc":"2.0",`...), method, params)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `"method":`...)
	dst = AppendString(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResult appends a response to dst. The result must be valid JSON, and is
// copied as it is; nil is written as an empty object.
func AppendResult(dst []byte, id ID, result []byte) []byte {
	dst = slices.Grow(dst, 36+len(id)+len(result))
	dst = appendResponse(dst, id)
	dst = append(dst, `"result":`...)
	if result == nil {
		dst = append(dst, `{}`...)
	}
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError appends an error response to dst. The zero id is written as null:
// the request could not be read well enough to name it.
func AppendError(dst []byte, id ID, e *Error) []byte {
	dst = appendResponse(dst, id)
	dst = append(dst, `"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(e.Code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, e.Message)
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, `}}`...)
}

func appendResponse(dst []byte, id ID) []byte {
	if id.IsZero() {
		id = "null"
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	return append(dst, ',')
}

// AppendEdited appends the object obj to dst without the members named in drop,
// and leaves it open: `{"a":1` with no closing brace, so that the caller can
// append more members and close it. It reports whether any member was written,
// and so whether a comma is due. Obj must be known to be valid; anything that
// is no object, nil included, has no members.
func AppendEdited(dst, obj []byte, drop ...string) (out []byte, wrote bool) {
	dst = slices.Grow(dst, len(obj)+1)
	dst = append(dst, '{')
	for i, more := enter(obj, '{'); more; {
		nameEnd, _, end, ok := memberAt(obj, i)
		if !ok {
			break
		}
		if !named(obj[i:nameEnd], drop) {
			if wrote {
				dst = append(dst, ',')
			}
			dst, wrote = append(dst, obj[i:end]...), true
		}
		i, more = next(obj, end)
	}
	return dst, wrote
}

// named reports whether the literal raw stands for one of names.
func named(raw []byte, names []string) bool {
	escaped := bytes.IndexByte(raw, '\\') >= 0
	for _, name := range names {
		if escaped && sameName(raw, name) || !escaped && string(raw[1:len(raw)-1]) == name {
			return true
		}
	}
	return false
}
