package cases

import (
	"encoding/json"
	"regexp"
)

// placeholder matches the placeholder of a value that is known only when the case runs.
var placeholder = regexp.MustCompile(`\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}`)

// The placeholders of every case.
const (
	placeDir  = "dir"  // working folder of a started server
	placeHere = "here" // folder of the file
)

// vars holds the values of placeholders.
type vars map[string]any

// fill replaces placeholders by their values. A text that is only a placeholder becomes the value
// itself.
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

// text replaces placeholders in a text. The result is always text.
func (v vars) text(s string) string { return v.replace(s, func(text string) string { return text }) }

// replace replaces each placeholder by as of its value.
func (v vars) replace(s string, as func(string) string) string {
	return placeholder.ReplaceAllStringFunc(s, func(found string) string { return as(plain(v[found[2:len(found)-2]])) })
}

// pattern compiles a regular expression. Values in it match literally.
func (v vars) pattern(source string) (*regexp.Regexp, error) {
	return regexp.Compile(v.replace(source, regexp.QuoteMeta))
}

// plain returns a value as text: strings and numbers unchanged, all others as JSON.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	}
	return short(v)
}
