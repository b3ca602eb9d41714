package schema

import (
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxViolations bounds what one [Error] lists: more does not help a model to
// mend a call, and costs tokens.
const maxViolations = 8

// maxExcerpt bounds, in bytes, how much of a refused value an error repeats.
const maxExcerpt = 60

// What Got says where no value is at fault, but a member.
const (
	Missing = "missing"        // a required member is absent
	Unknown = "unknown member" // the schema allows no member of this name
)

// Violation is one way in which a value does not fit its schema.
type Violation struct {
	Path     string // such as days or items[2].name; empty for the whole value
	Expected string // such as "integer between 1 and 14"; for Unknown a hint, or empty
	Got      string // an excerpt of the value, Missing or Unknown
}

// String puts the violation into words for whoever has to mend the value.
func (v Violation) String() string {
	var text string
	switch v.Got {
	case Missing:
		text = "required, missing"
	case Unknown:
		text = "unknown member"
		if v.Expected != "" {
			text += ", " + v.Expected
		}
	default:
		text = "expected " + v.Expected + ", got " + v.Got
	}
	if v.Path == "" {
		return text
	}
	return v.Path + ": " + text
}

// Error lists what is wrong with a value, at most 8 violations. Its text is
// written for a language model that has to mend its call.
type Error struct {
	Violations []Violation
}

// Error joins the violations with semicolons.
func (e *Error) Error() string {
	texts := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}

// A path is made of steps: nameStep into an object, indexStep into an array.

func nameStep(name string) string {
	if isPlainName(name) {
		return name
	}
	return "[" + strconv.Quote(clip(name)) + "]"
}

func indexStep(n int) string { return "[" + strconv.Itoa(n) + "]" }

func joinPath(path, rest string) string {
	if path == "" || rest == "" || rest[0] == '[' {
		return path + rest
	}
	return path + "." + rest
}

func isPlainName(name string) bool {
	for _, c := range []byte(name) {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z', '0' <= c && c <= '9', c == '_', c == '-', c == '$', c == '@':
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxExcerpt
}

// clip shortens text to maxExcerpt bytes, between runes.
func clip(s string) string { return plaintext.Short(s, maxExcerpt) }

// excerpt shows a value in an error: scalars as they are written, objects and
// arrays by their type only.
func excerpt(raw []byte) string {
	switch kindAt(raw, 0) {
	case kindObject:
		return "an object"
	case kindArray:
		list, _ := elements(raw)
		return "an array of " + plaintext.Count(len(list), "item")
	default:
		return clip(string(raw))
	}
}

// maxNamesListed bounds the known members an unknown one is answered with.
const maxNamesListed = 12

// hint answers an unknown member: the name that was probably meant, or else
// all the names there are.
func hint(name string, known []string) string {
	best := nearest.Name(name, known)
	switch {
	case best != "":
		return "did you mean " + strconv.Quote(best) + "?"
	case len(known) == 0:
		return "no members are allowed"
	case len(known) > maxNamesListed:
		return "expected one of " + strings.Join(known[:maxNamesListed], ", ") + ", …"
	default:
		return "expected one of " + strings.Join(known, ", ")
	}
}
