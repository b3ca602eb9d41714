package loose

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/tolerance"
)

// ErrNoObject is wrapped by the errors for results that are not objects and that [Mend] leaves
// unchanged.
var ErrNoObject = errors.New("expected a result that is an object")

// Fits reports whether the members of a method's result have the types of schema.ts.
func Fits(method string, members *jsonrpc.Members) bool {
	return cmp.Or(results[method], anyResult).membersFit(members)
}

// FitsParams reports whether the params of a server's notification or request have the types of
// schema.ts.
func FitsParams(method string, params json.RawMessage) bool {
	s := sent[method]
	if s == nil || params == nil {
		return true
	}
	_, ok := s.fits(params, 0)
	return ok
}

// A Found is a tolerance that a message needed, and the first location at which it did.
type Found struct {
	Tolerance tolerance.Tolerance
	Where     string
	More      int // number of further locations
}

// String returns the location, and the number of further ones.
func (f *Found) String() string {
	if f.More > 0 {
		return f.Where + " and " + strconv.Itoa(f.More) + " more"
	}
	return f.Where
}

// Mend returns a result in the form of schema.ts, and the tolerances that it needed. uri is the URI
// of the resource that was read, if any. Mend leaves a result that is not an object unchanged. The
// exception is [] as the result of a method whose results have no members of their own.
func Mend(method, uri string, result json.RawMessage) (json.RawMessage, []Found) {
	s := results[method]
	switch {
	case s == nil:
		s = anyResult
	case result[0] != '{':
		return result, nil
	}
	m := mender{uri: uri}
	mended, ok := m.value(s, result)
	if !ok {
		return result, nil
	}
	return mended, m.found
}

// MendParams is like [Mend], but for the params of a server's notification or request. ok is false
// if they are unreadable.
func MendParams(method string, params json.RawMessage) (mended json.RawMessage, found []Found, ok bool) {
	var m mender
	mended, ok = m.value(sent[method], params)
	return mended, m.found, ok
}

// A mender converts one message and records the tolerances that it needs.
type mender struct {
	uri   string
	path  []string
	found []Found
	fault string // last unreadable member
}

// add records a tolerance at the current path.
func (m *mender) add(t tolerance.Tolerance) {
	if i := slices.IndexFunc(m.found, func(f Found) bool { return f.Tolerance == t }); i >= 0 {
		m.found[i].More++
		return
	}
	m.found = append(m.found, Found{Tolerance: t, Where: strings.Join(m.path, "")})
}

// within converts the part of the message at name.
func (m *mender) within(name string, s *shape, raw json.RawMessage) (json.RawMessage, bool) {
	if len(m.path) > 0 && name[0] != '[' {
		name = "." + name
	}
	m.path = append(m.path, name)
	mended, ok := m.value(s, raw)
	if !ok && name[0] != '[' {
		m.fault = strings.TrimPrefix(name, ".")
	}
	m.path = m.path[:len(m.path)-1]
	return mended, ok
}

// at records a tolerance at name, relative to the current path.
func (m *mender) at(name string, t tolerance.Tolerance) {
	if len(m.path) > 0 && name[0] != '[' {
		name = "." + name
	}
	m.path = append(m.path, name)
	m.add(t)
	m.path = m.path[:len(m.path)-1]
}

// value returns a value in the form of the shape s, or unchanged if it fits already. It reports
// false if the value is unreadable.
func (m *mender) value(s *shape, raw json.RawMessage) (json.RawMessage, bool) {
	if _, fits := s.fits(raw, 0); fits {
		return raw, true
	}
	if s.mend != nil {
		if mended := s.mend(m, s, raw); mended != nil {
			return mended, len(mended) > 0
		}
	}
	switch s.kind {
	case text:
		return m.text(s, raw)
	case number, integer:
		return m.number(s, raw)
	case flag:
		return m.flag(raw)
	case object:
		return m.object(s, raw)
	case list:
		return m.list(s, raw)
	case several:
		if raw[0] != '[' {
			return m.value(s.of, raw)
		}
		return m.list(s, raw)
	case name:
		return nil, false
	case encoded:
		if plain, quoted := jsonrpc.Unquote(raw); quoted && isBase64([]byte(plain)) { // base64 with JSON escapes
			return raw, true
		}
		data, _, ok := readBytes(raw)
		if ok {
			m.add(tolerance.Base64Form)
		}
		return jsonrpc.AppendBase64String(nil, data), ok
	}
	return raw, true
}

// form returns a value, and records that it was read from another form.
func (m *mender) form(value json.RawMessage) (json.RawMessage, bool) {
	m.add(tolerance.MemberForm)
	return value, true
}

func (m *mender) text(s *shape, raw json.RawMessage) (json.RawMessage, bool) {
	value, quoted := jsonrpc.Unquote(raw)
	switch {
	case s.words == nil && !s.exact && (raw[0] == 't' || raw[0] == 'f' || isNumber(raw)):
		return m.form(jsonrpc.AppendStringBytes(nil, raw))
	case !quoted:
		return nil, false
	}
	value = strings.TrimSpace(value)
	for _, word := range s.words {
		if strings.EqualFold(value, word) {
			m.add(tolerance.LetterCase)
			return jsonrpc.AppendString(nil, word), true
		}
	}
	return nil, false
}

func isNumber(raw []byte) bool { return raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9' }

// number reads a number, which may be in a string.
func (m *mender) number(s *shape, raw json.RawMessage) (json.RawMessage, bool) {
	if value, quoted := jsonrpc.Unquote(raw); quoted {
		raw = json.RawMessage(strings.TrimSpace(value))
	}
	if len(raw) == 0 || !isNumber(raw) || jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		return nil, false
	}
	if s.kind == integer {
		if raw = json.RawMessage(jsonrpc.ID(raw).Plain()); !isInteger(raw) {
			return nil, false
		}
	}
	return m.form(raw)
}

// flag reads a boolean, which may be in a string or may be 1 or 0.
func (m *mender) flag(raw json.RawMessage) (json.RawMessage, bool) {
	value, quoted := jsonrpc.Unquote(raw)
	if !quoted {
		value = string(raw)
	}
	switch value = strings.TrimSpace(value); {
	case value == "1", strings.EqualFold(value, "true"):
		return m.form(json.RawMessage("true"))
	case value == "0", strings.EqualFold(value, "false"):
		return m.form(json.RawMessage("false"))
	}
	return nil, false
}

// isEmptyList reports whether raw is [], which some languages write for an empty object.
func isEmptyList(raw []byte) bool { return raw[0] == '[' && jsonrpc.SkipSpace(raw, 1) == len(raw)-1 }

func (m *mender) object(s *shape, raw json.RawMessage) (json.RawMessage, bool) {
	switch {
	case isEmptyList(raw):
		m.add(tolerance.MemberForm)
		raw = json.RawMessage("{}")
	case raw[0] != '{':
		return nil, false
	}
	var has uint32
	var kind []byte
	lost := false
	w := jsonrpc.NewObject(make([]byte, 0, len(raw)+64))
	jsonrpc.EachMember(raw, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		at := s.find(quoted)
		if at < 0 {
			w.Raw(name, value)
			return true
		}
		if mended, ok := m.member(&s.members[at], value); ok {
			has |= 1 << at
			w.Raw(name, mended)
			if name == "type" {
				kind = mended
			}
		} else if lost = s.members[at].vital && string(value) != "null"; lost {
			return false
		}
		return true
	})
	if lost {
		return nil, false
	}
	for i := range s.members {
		member := &s.members[i]
		if !member.need || has&(1<<i) != 0 {
			continue
		}
		if member.orElse == "" {
			m.fault = member.name
			return nil, false
		}
		m.at(member.name, member.why)
		w.Raw(member.name, json.RawMessage(member.orElse))
	}
	if s.whole == nil || s.whole(has, kind) {
		return w.Bytes(), true
	}
	for i := range s.members {
		if m.fault == "" && s.whole(has|1<<i, kind) {
			m.fault = s.members[i].name
		}
	}
	return nil, false
}

// rest calls object at the end of a shape's mend function. It returns unreadable if object fails.
func (m *mender) rest(s *shape, raw json.RawMessage) json.RawMessage {
	if mended, ok := m.object(s, raw); ok {
		return mended
	}
	return unreadable
}

// member converts a member of an object. It reports false if the member must be dropped.
func (m *mender) member(member *member, raw json.RawMessage) (json.RawMessage, bool) {
	mended, ok := m.within(member.name, member.shape, raw)
	switch {
	case ok:
		return mended, true
	case member.orElse != "" && !member.need:
		m.at(member.name, member.why)
		return json.RawMessage(member.orElse), true
	case member.need: // the caller records the fault or drops the whole object
	case string(raw) == "null":
		m.at(member.name, tolerance.NullMember)
	default:
		m.at(member.name, tolerance.MemberLeftOut)
	}
	return nil, false
}

func (m *mender) list(s *shape, raw json.RawMessage) (json.RawMessage, bool) {
	if raw[0] != '[' {
		if string(raw) == "null" {
			return nil, false
		}
		one, ok := m.value(s.of, raw)
		if !ok {
			return nil, false
		}
		m.add(tolerance.ListForm)
		raw = slices.Concat(json.RawMessage("["), one, json.RawMessage("]"))
		return raw, true
	}
	w := jsonrpc.NewArray(make([]byte, 0, len(raw)+64))
	i := 0
	element := func(value json.RawMessage) {
		at := "[" + strconv.Itoa(i) + "]"
		before := slices.Clone(m.found)
		m.fault = ""
		if mended, ok := m.within(at, s.of, value); ok {
			w.Element(mended)
			return
		}
		m.found = before // discard other faults of a dropped part
		m.at(at, s.lost)
		if s.instead != nil {
			w.Element(s.instead(m, value))
		}
	}
	jsonrpc.EachElement(raw, func(value []byte) bool {
		parts := []json.RawMessage{value}
		if s.split != nil {
			if several := s.split(value); several != nil {
				m.at("["+strconv.Itoa(i)+"]", tolerance.BlockForm)
				parts = several
			}
		}
		for _, part := range parts {
			element(part)
		}
		i++
		return true
	})
	return w.Bytes(), true
}
