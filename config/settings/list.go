package settings

import (
	"cmp"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/redact"
)

// A Member is one setting with its value.
type Member struct {
	Path    []string // names from the outermost on
	Value   any      // value in JSON, or the default of a missing member
	Restart Restart
}

// Name returns the path with dots, such as listen.http.
func (m *Member) Name() string { return strings.Join(m.Path, ".") }

// Shown returns the value as JSON. Literal keys, and apparent secrets, are hidden.
func (m *Member) Shown() json.RawMessage {
	value := m.Value
	switch v := value.(type) {
	case []string:
		if m.Name() == "stateKeys" {
			v = slices.Clone(v)
			for i, key := range v {
				v[i] = withoutLiteral(key)
			}
			value = v
		}
	case string:
		switch m.Name() {
		case "approvals.webhook.secret":
			value = withoutLiteral(v)
		case "approvals.webhook.url": // its path is a secret at some services
			if kind, _ := Reference(v); kind != "" {
				break
			}
			if u, err := url.Parse(v); err != nil || u.RequestURI() != "/" || u.User != nil {
				value = redact.Hidden
				if err == nil && u.Host != "" {
					value = u.Scheme + "://" + u.Host + "/" + redact.Hidden
				}
			}
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage(`"?"`) // does not occur: all members have been read from JSON
	}
	shown, _ := redact.JSON(text, redact.Limits{Bytes: maxShown, Text: maxShown, Depth: 100})
	return shown
}

// withoutLiteral returns a reference to a secret, or hides a secret itself.
func withoutLiteral(text string) string {
	if kind, _ := Reference(text); kind == "" {
		return redact.Hidden
	}
	return text
}

// maxShown is the largest number of bytes of a value that [Member.Shown] returns.
const maxShown = 1 << 20

// List returns all members in the order of the fields: those that are set, and those with a
// default. Of the parts of a map only those that are set are listed.
func (s *Settings) List() (all []Member) {
	return list(reflect.ValueOf(*s), nil, "", false)
}

// list returns the members of a struct whose path is at, and whose own tag is outer. ofMap is set
// below a map.
func list(v reflect.Value, at []string, outer Restart, ofMap bool) (all []Member) {
	for field, value := range v.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		path, restart := append(slices.Clone(at), name), cmp.Or(Restart(field.Tag.Get("restart")), outer)
		isStruct := value.Kind() == reflect.Struct
		if of := value.Type(); of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Struct {
			isStruct = !value.IsNil()
			value = value.Elem()
		}
		switch {
		case field.Anonymous:
			all = append(all, list(value, at, outer, ofMap)...)
		case isStruct:
			all = append(all, list(value, path, restart, ofMap)...)
		case !value.IsValid():
		case value.Kind() == reflect.Map && value.Type().Elem().Kind() == reflect.Struct:
			keys := value.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
			for _, key := range keys {
				all = append(all, list(value.MapIndex(key), append(slices.Clone(path), key.String()), restart, true)...)
			}
		case !value.IsZero():
			all = append(all, Member{path, shownValue(value), restart})
		case field.Tag.Get("default") != "" && !ofMap:
			all = append(all, Member{path, defaultValue(field), restart})
		}
	}
	return all
}

// defaultValue returns the default of a field.
func defaultValue(field reflect.StructField) any {
	text := field.Tag.Get("default")
	if d, err := time.ParseDuration(text); err == nil {
		return d.String()
	}
	if field.Type.Kind() == reflect.Int {
		return json.Number(text)
	}
	return text
}

// shownValue returns a value, with durations as texts.
func shownValue(v reflect.Value) any {
	value := reflect.Indirect(v).Interface()
	if d, is := value.(time.Duration); is {
		return d.String()
	}
	return value
}
