package model

// Dialect is the JSON Schema that a provider takes. The zero value takes all of it.
// A Dialect is not changed by those who use it; the slices of the built-in ones are
// the caller's.
type Dialect struct {
	// Name is used in Notes.
	Name string
	// MaxTools is how many tools a request may have; 0 means any number.
	MaxTools int
	// Keywords are the keywords that are taken; nil means all. What others say is
	// put into words, in the description.
	Keywords []string
	// Formats are the values of format that are taken; nil means all.
	Formats []string
	// PlainRoot is whether the root must be an object, without anyOf, oneOf, allOf,
	// not or enum: alternatives become one object with the members of all.
	PlainRoot bool
	// NoRefs is whether $ref is not taken: what it refers to is put in its place, and
	// a recursion is cut.
	NoRefs bool
	// Nullable is whether there are no lists of types, but nullable.
	Nullable bool
	// StringEnums is whether enum can only have strings, and only for strings.
	StringEnums bool
	// LoneAnyOf is whether nothing may be next to anyOf.
	LoneAnyOf bool
	// PropertyNames is whether names of properties must match
	// [A-Za-z0-9_.-]{1,64}.
	PropertyNames bool
	// ItemsNeeded is whether every array must say something of its items.
	ItemsNeeded bool
}

// DialectNamed returns a built-in dialect: "openai" (chat completions, not strict),
// "gemini" (its OpenAI endpoint: the subset of OpenAPI), "anthropic", "grammar"
// (llama.cpp, which makes a grammar of the schema) or "plain", which takes
// everything. Of any other name it returns the zero value and false.
func DialectNamed(name string) (Dialect, bool) {
	switch name {
	case "plain":
		return Dialect{Name: name}, true
	case "openai":
		return Dialect{Name: name, MaxTools: 128, PlainRoot: true, ItemsNeeded: true}, true
	case "anthropic":
		return Dialect{Name: name, PlainRoot: true, PropertyNames: true}, true
	case "gemini":
		return gemini(), true
	case "grammar":
		return grammar(), true
	}
	return Dialect{}, false
}

func gemini() Dialect {
	return Dialect{
		Name: "gemini", MaxTools: 128, PlainRoot: true, NoRefs: true, Nullable: true, StringEnums: true, LoneAnyOf: true, ItemsNeeded: true,
		Keywords: []string{
			"type", "description", "nullable", "enum", "format", "items", "properties", "required", "anyOf", "minItems", "maxItems",
			"minimum", "maximum", "minLength", "maxLength", "minProperties", "maxProperties", "pattern",
		},
		Formats: []string{"float", "double", "int32", "int64", "date-time", "enum"},
	}
}

// grammar leaves out what llama.cpp's conversion refuses: it fails on patterns
// that are not anchored, and on negations.
func grammar() Dialect {
	return Dialect{
		Name: "grammar", PlainRoot: true,
		Keywords: []string{
			"type", "description", "title", "default", "enum", "const", "format", "items", "prefixItems", "properties", "required",
			"additionalProperties", "anyOf", "allOf", "$ref", "$defs", "definitions", "minItems", "maxItems",
			"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
		},
		Formats: []string{"date", "time", "date-time", "uuid"},
	}
}
