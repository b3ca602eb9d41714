package schema

import (
	"encoding/json"
	"reflect"
)

// decodeAny decodes for the general validator: numbers keep their text. It
// refuses what that validator would spend too much on.
func decodeAny(raw []byte) (any, error) {
	if textDepth(raw) > maxValueDepth {
		return nil, tooDeep()
	}
	r := &report{}
	v := r.decode(raw[skipSpace(raw, 0):])
	if len(r.violations) > 0 {
		return nil, &Error{Violations: r.violations}
	}
	return v, nil
}

func (r *report) decode(raw []byte) any {
	switch kindAt(raw, 0) {
	case kindObject:
		return r.decodeObject(raw)
	case kindArray:
		texts, _ := elements(raw)
		list := make([]any, len(texts))
		for i, text := range texts {
			r.path = append(r.path, step{index: i})
			list[i] = r.decode(text)
			r.path = r.path[:len(r.path)-1]
		}
		return list
	case kindString:
		end, escaped := skipString(raw, 0)
		return string(unquote(raw[:end], escaped))
	case kindNumber:
		number := raw[:skipScalar(raw, 0)]
		if !inRange(number) {
			r.add("a number within the range of float64", excerpt(number))
			return json.Number("0")
		}
		return json.Number(number)
	case kindBoolean:
		return raw[0] == 't'
	case kindNull:
		return nil
	default:
		r.add("a JSON value", clip(string(raw)))
		return nil
	}
}

func (r *report) decodeObject(raw []byte) any {
	list, _ := members(raw)
	object := make(map[string]any, len(list))
	for _, m := range list {
		r.path = append(r.path, step{name: string(m.name), index: -1})
		if _, twice := object[string(m.name)]; twice {
			r.add("each member once", "it twice")
		}
		object[string(m.name)] = r.decode(m.value)
		r.path = r.path[:len(r.path)-1]
	}
	return object
}

// equalAny tells whether two decoded values are the same to JSON Schema: 1 is
// 1.0, and the order of members does not matter.
func equalAny(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		return ok && compareExact([]byte(a), []byte(n)) == 0
	case []any:
		list, ok := b.([]any)
		if !ok || len(a) != len(list) {
			return false
		}
		for i := range a {
			if !equalAny(a[i], list[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		object, ok := b.(map[string]any)
		if !ok || len(a) != len(object) {
			return false
		}
		for name, v := range a {
			if other, ok := object[name]; !ok || !equalAny(v, other) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(a, b)
	}
}
