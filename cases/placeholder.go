package cases

import (
	"encoding/json"
	"regexp"
)

// placeholder stands for a value that is known only when the case runs.
var placeholder = regexp.MustCompile(`\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}`)

// The placeholders that every case has.
const (
	placeDir  = "dir"  // the working folder of a server that is started
	placeHere = "here" // the folder of the file
)

// vars are the values of placeholders.
type vars map[string]any

// fill puts values in the places of placeholders. A text that is nothing else becomes the value itself.
func (v vars) fill(value any) any {
	switch value := value.(type) {
	case map[string]any:
		filled := make(map[string]any, len(value))
		for name, member := range value {
			filled[name] = v.fill(member)
		}
		return filled
	case []any:
		filled := make([]any, len(value))
		for i, entry := range value {
			filled[i] = v.fill(entry)
		}
		return filled
	case string:
		if whole := placeholder.FindString(value); whole != "" && whole == value {
			return v[value[2:len(value)-2]]
		}
		return v.text(value)
	}
	return value
}

// text is fill for a text that stays one.
func (v vars) text(s string) string { return v.replace(s, func(text string) string { return text }) }

// replace puts what as makes of the values in the places of the placeholders.
func (v vars) replace(s string, as func(string) string) string {
	return placeholder.ReplaceAllStringFunc(s, func(found string) string { return as(plain(v[found[2:len(found)-2]])) })
}

// pattern compiles a regular expression in which values stand for themselves.
func (v vars) pattern(source string) (*regexp.Regexp, error) {
	return regexp.Compile(v.replace(source, regexp.QuoteMeta))
}

// plain is a value as text: strings and numbers as they are, all else as JSON.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	}
	return short(v)
}
