package migrate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A tag is one key:"value" pair of a struct tag. The value is unquoted.
type tag struct{ key, value string }

// parseTags splits a struct tag. It reports false if the struct tag is malformed.
func parseTags(text string) (tags []tag, ok bool) {
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		key, after, found := strings.Cut(text, ":")
		quoted, err := strconv.QuotedPrefix(after)
		if !found || err != nil || key == "" || strings.ContainsAny(key, " \t\"") {
			return nil, false
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, false
		}
		tags = append(tags, tag{key, value})
		text = after[len(quoted):]
	}
	return tags, true
}

// formatTags is the reverse of parseTags.
func formatTags(tags []tag) string {
	parts := make([]string, len(tags))
	for i, t := range tags {
		parts[i] = t.key + ":" + strconv.Quote(t.value)
	}
	return strings.Join(parts, " ")
}

// ours lists the tags that take the place of others, in the order in which they are written.
var ours = []string{"doc", "title", "enum", "min", "max", "pattern", "format", "default", "example", "required"}

// keywords maps the keywords of invopop/jsonschema to tags of ours. The empty tag marks a keyword
// that has none.
var keywords = map[string]string{
	"description": "doc", "title": "title", "enum": "enum", "pattern": "pattern", "format": "format",
	"default": "default", "example": "example", "required": "required",
	"minimum": "min", "minLength": "min", "minItems": "min", "minProperties": "min",
	"maximum": "max", "maxLength": "max", "maxItems": "max", "maxProperties": "max",
	"nullable": "", "-": "", "type": "", "anchor": "", "multipleOf": "", "uniqueItems": "", "readOnly": "", "writeOnly": "",
	"exclusiveMinimum": "", "exclusiveMaximum": "", "oneof_required": "", "anyof_required": "",
	"oneof_ref": "", "oneof_type": "", "anyof_ref": "", "anyof_type": "",
}

// bareKeywords are the keywords without a value.
var bareKeywords = map[string]bool{"required": true, "nullable": true, "-": true}

// remedies contains advice for keywords that have no tag. All others need a written schema.
var remedies = map[string]string{
	"nullable":         "make the field a pointer",
	"-":                `leave the field out with json:"-"`,
	"exclusiveMinimum": `use min:"…" with the next value`,
	"exclusiveMaximum": `use max:"…" with the previous value`,
}

// A target collects the tags of ours for one field.
type target struct {
	list     bool // the Go type is a slice or an array
	tags     map[string]string
	enum     []string
	defaults []string
	required bool
	left     []string // parts of the jsonschema tag that have no tag
	problems []string
}

// isKeywords reports whether a jsonschema tag consists of keywords and is not the text itself.
// google/jsonschema-go refuses a text that begins with a word and an equals sign.
func isKeywords(parts []string) bool {
	name, _, hasValue := strings.Cut(parts[0], "=")
	if isUnknown(parts[0]) {
		return false
	}
	return hasValue != bareKeywords[name] && (hasValue || len(parts) == 1) || slices.ContainsFunc(parts[1:], func(p string) bool { return !isUnknown(p) })
}

// isUnknown reports whether a part of a jsonschema tag is not a keyword.
func isUnknown(part string) bool {
	name, _, _ := strings.Cut(part, "=")
	_, known := keywords[name]
	return !known
}

// split splits a jsonschema tag at its commas, except those behind a backslash.
func split(text string) []string {
	var parts []string
	part := ""
	for piece := range strings.SplitSeq(text, ",") {
		if before, escaped := strings.CutSuffix(piece, `\`); escaped {
			part += before + ","
			continue
		}
		parts, part = append(parts, part+piece), ""
	}
	if part != "" { // a backslash at the end
		parts = append(parts, strings.TrimSuffix(part, ",")+`\`)
	}
	return parts
}

// join is the reverse of split.
func join(parts []string) string {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = strings.ReplaceAll(p, ",", `\,`)
	}
	return strings.Join(escaped, ",")
}

// read adds a jsonschema tag.
func (t *target) read(text string) {
	parts := split(text)
	if !isKeywords(parts) {
		t.set("doc", text, text)
		return
	}
	for i := 0; i < len(parts); i++ {
		part := parts[i]
		name, value, hasValue := strings.Cut(part, "=")
		bare := bareKeywords[name]
		switch {
		case part == "" || !isUnknown(part) && hasValue == bare: // without effect
			continue
		case isUnknown(part):
			t.problems = append(t.problems, fmt.Sprintf("%q is not a keyword, had no effect, and was removed", part))
			continue
		}
		if name == "description" { // a comma without a backslash belongs to the text
			for i+1 < len(parts) && isUnknown(parts[i+1]) {
				i++
				value += "," + parts[i]
			}
			part = name + "=" + value
		}
		t.keyword(name, value, part)
	}
	t.lists()
}

// keyword adds one part of a jsonschema tag.
func (t *target) keyword(name, value, part string) {
	switch key := keywords[name]; key {
	case "required":
		t.required = true
	case "enum":
		t.enum = append(t.enum, value)
	case "default":
		if t.list {
			t.defaults = append(t.defaults, value)
			return
		}
		t.set(key, value, part)
	case "pattern":
		if _, err := regexp.Compile(value); err != nil {
			t.leave("the pattern is not RE2: write it without lookaround and back references", part)
			return
		}
		t.set(key, value, part)
	case "":
		remedy := remedies[name]
		if remedy == "" {
			remedy = "write it in the InputSchema of the tool"
		}
		t.leave(fmt.Sprintf("%s has no tag: %s", name, remedy), part)
	default:
		if value != "" {
			t.set(key, value, part)
		}
	}
}

// set sets a tag of ours. A second value for the same tag stays where it is.
func (t *target) set(key, value string, parts ...string) {
	if before, exists := t.tags[key]; exists && before != value {
		t.leave(fmt.Sprintf("the field has another %s tag: choose one", key), parts...)
		return
	}
	t.tags[key] = value
}

func (t *target) leave(problem string, parts ...string) {
	t.left, t.problems = append(t.left, parts...), append(t.problems, problem)
}

// lists sets the tags for keywords that occur several times.
func (t *target) lists() {
	unfit := slices.IndexFunc(t.enum, func(v string) bool { return v == "" || v != strings.TrimSpace(v) || strings.Contains(v, ",") })
	switch {
	case unfit >= 0:
		problem := fmt.Sprintf("the value %q cannot be in a list with commas: define a type with a method MCPSchema", t.enum[unfit])
		t.leave(problem, prefixed("enum=", t.enum)...)
	case t.enum != nil:
		t.set("enum", strings.Join(t.enum, ","), prefixed("enum=", t.enum)...)
	}
	if t.defaults != nil {
		t.set("default", jsonList(t.defaults), prefixed("default=", t.defaults)...)
	}
}

// finish returns the tags of ours in order, without those in had.
func (t *target) finish(had reflect.StructTag) []tag {
	var tags []tag
	for _, key := range ours {
		_, exists := had.Lookup(key)
		if value, set := t.tags[key]; set && !exists {
			tags = append(tags, tag{key, value})
		}
	}
	return tags
}

// jsonList returns a JSON array. A word that is not JSON becomes a string.
func jsonList(words []string) string {
	list := make([]json.RawMessage, len(words))
	for i, word := range words {
		if list[i] = json.RawMessage(word); !json.Valid(list[i]) {
			list[i], _ = json.Marshal(word) // a string: cannot fail
		}
	}
	text, _ := json.Marshal(list)
	return string(text)
}

func prefixed(prefix string, words []string) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = prefix + word
	}
	return list
}
