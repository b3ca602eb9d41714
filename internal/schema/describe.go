package schema

import (
	"slices"
	"strconv"
	"strings"
)

// describe says what the schema expects, as the words that follow "expected".
func (c *check) describe() string {
	switch {
	case c == nil:
		return "any value"
	case c.never:
		return "no value"
	case c.enum != nil:
		return c.describeEnum()
	}
	var words []string
	for _, t := range typeNames {
		if c.types&t.kind == 0 {
			continue
		}
		words = append(words, t.name+c.limits(t.kind))
	}
	switch {
	case len(words) > 0:
		return strings.Join(words, " or ")
	case c.any != nil:
		return describeAll(c.any)
	case c.one != nil:
		return describeAll(c.one)
	case len(c.all) == 1:
		return c.all[0].describe()
	default:
		return c.untyped()
	}
}

// untyped describes a schema that bounds values without saying their type.
func (c *check) untyped() string {
	var words []string
	for _, t := range typeNames {
		if limits := c.limits(t.kind); limits != "" && t.kind != kindInteger {
			words = append(words, t.name+limits)
		}
	}
	if len(words) == 0 {
		return "a value that fits the schema"
	}
	return strings.Join(words, " or ")
}

// typeNames orders the types as messages list them.
var typeNames = [...]struct {
	kind kind
	name string
}{
	{kindString, "string"}, {kindInteger, "integer"}, {kindNumber, "number"}, {kindBoolean, "boolean"},
	{kindObject, "object"}, {kindArray, "array"}, {kindNull, "null"},
}

func describeAll(list []*check) string {
	words := make([]string, 0, len(list))
	for _, sub := range list {
		if text := sub.describe(); !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	return clipWords(strings.Join(words, " or "))
}

// maxDescription bounds, in bytes, how long an expectation may get.
const maxDescription = 300

func clipWords(s string) string {
	if len(s) <= maxDescription {
		return s
	}
	return strings.ToValidUTF8(s[:maxDescription], "") + "…"
}

func (c *check) describeEnum() string {
	words := make([]string, len(c.enum))
	for i, e := range c.enum {
		words[i] = clip(string(e.text))
	}
	if len(words) == 1 {
		return words[0]
	}
	return clipWords("one of " + strings.Join(words, ", "))
}

// limits is what follows a type's name, with its leading space.
func (c *check) limits(k kind) string {
	switch k {
	case kindInteger, kindNumber:
		return c.numberLimits()
	case kindString:
		text := countLimits(c.minLength, c.maxLength, "character")
		if c.pattern != nil {
			text += " that matches " + clip(c.pattern.text)
		}
		if c.format != "" {
			text += " in the format " + c.format
		}
		return text
	case kindArray:
		return countLimits(c.minItems, c.maxItems, "item")
	case kindObject:
		return countLimits(c.minMembers, c.maxMembers, "member")
	default:
		return ""
	}
}

func (c *check) numberLimits() string {
	if c.minimum != nil && c.maximum != nil && c.exclusiveMin == nil && c.exclusiveMax == nil && c.multiple == nil {
		return " between " + c.minimum.text + " and " + c.maximum.text
	}
	var words []string
	for _, l := range []struct {
		word  string
		bound *bound
	}{
		{"at least", c.minimum}, {"greater than", c.exclusiveMin}, {"at most", c.maximum}, {"less than", c.exclusiveMax},
		{"that is a multiple of", c.multiple},
	} {
		if l.bound != nil {
			words = append(words, l.word+" "+l.bound.text)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " and ")
}

func countLimits(least, most int, noun string) string {
	switch {
	case least > 0 && least == most:
		return " of exactly " + plural(least, noun)
	case least > 0 && most >= 0:
		return " of " + strconv.Itoa(least) + " to " + plural(most, noun)
	case least > 0:
		return " of at least " + plural(least, noun)
	case most >= 0:
		return " of at most " + plural(most, noun)
	default:
		return ""
	}
}
