package schema

import (
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxViolations limits the violations of one [Error]: more do not help a model to correct a call,
// and cost tokens.
const maxViolations = 8

// maxExcerpt limits the part of a refused value that an error repeats, in bytes.
const maxExcerpt = 60

// Values of Got for violations by a member instead of a value.
const (
	Missing = "missing"        // a required member is absent
	Unknown = "unknown member" // the schema allows no member of this name
)

// Violation is one difference between a value and its schema.
type Violation struct {
	Path     string // such as days or items[2].name; empty for the whole value
	Expected string // such as "integer between 1 and 14"; for Unknown a hint, or empty
	Got      string // an excerpt of the value, Missing or Unknown
}

// String returns the violation in words for the author of the value.
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

// Error lists the violations of a value, at most 8. Its text is meant for a language model that has
// to correct its call.
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

// A path consists of steps: nameStep into an object, indexStep into an array.

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

// excerpt returns the form of a value in an error: scalars as written, objects and arrays by their
// type only.
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

// maxNamesListed limits the known members in the hint for an unknown one.
const maxNamesListed = 12

// hint returns the hint for an unknown member: the most similar known name, or else all of them.
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
