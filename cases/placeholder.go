package cases

import (
	"encoding/json"
	"regexp"
)

// placeholder matches the placeholder of a value that is only known when the case runs.
var placeholder = regexp.MustCompile(`\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}`)

// The placeholders that every case has.
const (
	placeDir  = "dir"  // working folder of the started server
	placeHere = "here" // folder of the file of cases
)

// vars holds the values of placeholders, by name.
type vars map[string]any

// fill replaces placeholders in a value. A string that consists of one placeholder becomes the
// placeholder's value itself, which may be of any type.
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

// text replaces placeholders in s. The result is always a string.
func (v vars) text(s string) string { return v.replace(s, func(text string) string { return text }) }

// replace replaces each placeholder in s by as(text), where text is the text of the placeholder's
// value.
func (v vars) replace(s string, as func(string) string) string {
	return placeholder.ReplaceAllStringFunc(s, func(found string) string { return as(plain(v[found[2:len(found)-2]])) })
}

// pattern compiles a regular expression whose placeholders match their values literally.
func (v vars) pattern(source string) (*regexp.Regexp, error) {
	return regexp.Compile(v.replace(source, regexp.QuoteMeta))
}

// plain returns the text of a value: a string or number unchanged, any other value as JSON.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return string(v)
	}
	return short(v)
}
