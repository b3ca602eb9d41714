package schema

import (
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxViolations is the maximum number of violations in one [Error]. More of them would cost tokens
// without helping a model to correct its call.
const maxViolations = 8

// maxExcerpt is the maximum length, in bytes, of an excerpt of an invalid value in an error.
const maxExcerpt = 60

// Values of Got for violations that concern the presence of a member and not a value.
const (
	Missing = "missing"        // a required member is absent
	Unknown = "unknown member" // the schema does not allow a member with this name
)

// Violation is a difference between a value and its schema.
type Violation struct {
	Path     string // such as days or items[2].name; empty for the value as a whole
	Expected string // such as "integer between 1 and 14"; for Unknown, a hint or empty
	Got      string // an excerpt of the value, or Missing or Unknown
}

// String returns the violation in words that are meant for the author of the value.
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

// Error contains the violations in a value, at most 8. Its text is meant for a language model that
// must correct its call.
type Error struct {
	Violations []Violation
}

// Error joins the texts of the violations with semicolons.
func (e *Error) Error() string {
	texts := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}

// A path consists of steps: nameStep returns a step into an object, and indexStep returns a step
// into an array.

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

// clip shortens a text to maxExcerpt bytes without splitting a rune.
func clip(s string) string { return plaintext.Short(s, maxExcerpt) }

// excerpt returns the text for a value in an error: the value itself if it is a scalar, and only
// its type if it is an object or array.
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

// maxNamesListed is the maximum number of known members in the hint about an unknown one.
const maxNamesListed = 12

// hint returns the hint about an unknown member: the most similar known name, or else all known
// names.
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
