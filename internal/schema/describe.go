package schema

import (
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxDescription is the maximum length of a description in bytes.
const maxDescription = 300

// typeName is the name of a type in schemas and messages.
type typeName struct {
	kind kind
	name string
}

// typeNames lists the types in the order in which messages contain them.
var typeNames = [...]typeName{
	{kindString, "string"}, {kindInteger, "integer"}, {kindNumber, "number"}, {kindBoolean, "boolean"},
	{kindObject, "object"}, {kindArray, "array"}, {kindNull, "null"},
}

// describe returns a description of the valid values, which follows the word "expected" in
// messages.
func (c *check) describe() string {
	switch {
	case c == nil:
		return "any value"
	case c.to != nil && c.orNull:
		return c.to.describe() + " or null"
	case c.to != nil:
		return c.to.describe()
	case c.never:
		return "no value here"
	}
	var words []string
	for _, e := range c.enum {
		words = append(words, clip(string(e.raw)))
	}
	if len(words) > 1 {
		return plaintext.Short("one of "+strings.Join(words, ", "), maxDescription)
	}
	for _, t := range typeNames {
		limits := c.limits(t.kind)
		if c.enum == nil && (c.types&t.kind != 0 || c.types == 0 && limits != "" && t.kind != kindInteger) {
			words = append(words, t.name+limits)
		}
	}
	if len(words) == 0 {
		return "a value that fits the schema"
	}
	return strings.Join(words, " or ")
}

// limits returns the limits of the values of a type, as words that follow the name of the type.
// They begin with a space.
func (c *check) limits(k kind) string {
	switch k {
	case kindInteger, kindNumber:
		if c.minimum.text != "" && c.maximum.text != "" {
			return " between " + c.minimum.text + " and " + c.maximum.text
		}
		var words []string
		for i, b := range []bound{c.minimum, c.above, c.maximum, c.below, c.multiple} {
			if b.text != "" {
				words = append(words, [...]string{" at least ", " greater than ", " at most ", " less than ", " that is a multiple of "}[i]+b.text)
			}
		}
		return strings.Join(words, " and")
	case kindString:
		text := c.length.describe("character")
		if c.pattern != nil {
			text += " that matches " + clip(c.pattern.text)
			if c.example != "" {
				text += ", such as " + strconv.Quote(clip(c.example))
			}
		}
		if c.format != "" {
			text += " in the format " + clip(c.format)
		}
		return text
	case kindArray:
		return c.elements.describe("item")
	case kindObject:
		return c.members.describe("member")
	default:
		return ""
	}
}

func (l limits) describe(noun string) string {
	switch {
	case l.least > 0 && l.least == l.most:
		return " of exactly " + plaintext.Count(l.least, noun)
	case l.least > 0 && l.most >= 0:
		return " of " + strconv.Itoa(l.least) + " to " + plaintext.Count(l.most, noun)
	case l.least > 0:
		return " of at least " + plaintext.Count(l.least, noun)
	case l.most >= 0:
		return " of at most " + plaintext.Count(l.most, noun)
	default:
		return ""
	}
}
