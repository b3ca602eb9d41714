package model

import (
	"slices"
	"strings"
)

// Dialect is the JSON Schema that a provider takes, and which pictures. The zero value takes all of it. A Dialect is
// not changed by those who use it; the slices of the built-in ones are the caller's.
type Dialect struct {
	// Name is used in Notes.
	Name string
	// MaxTools is how many tools a request may have; 0 means any number.
	MaxTools int
	// Keywords are the keywords that are taken; nil means all that Lower keeps. What
	// others say is put into words, in the description.
	Keywords []string
	// Formats are the values of format that are taken; nil means all.
	Formats []string
	// PlainRoot is whether the root must be an object, without anyOf, oneOf, allOf,
	// not or enum: alternatives become one object that accepts what any of them does.
	PlainRoot bool
	// NoRefs is whether $ref is not taken: what it refers to is put in its place, and a recursion is cut.
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
	// Pictures are the MIME types of the pictures that are taken; nil means all. In place of
	// others a text says what they were.
	Pictures []string
}

// The pictures that providers take, as their documentation says; stb_image, with which
// llama.cpp reads them, has no WebP.
var (
	usualPictures  = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	geminiPictures = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}
	stbPictures    = []string{"image/png", "image/jpeg", "image/gif", "image/bmp"}
)

// dialects has a row for each provider. What is "grammar" leaves out what llama.cpp's
// conversion refuses: it fails on patterns that are not anchored, and on negations.
var dialects = []Dialect{
	{Name: "plain"},
	{Name: "openai", MaxTools: 128, PlainRoot: true, ItemsNeeded: true, Pictures: usualPictures},
	{Name: "anthropic", PlainRoot: true, PropertyNames: true, Pictures: usualPictures},
	{
		Name: "gemini", MaxTools: 128, PlainRoot: true, NoRefs: true, Nullable: true, StringEnums: true, LoneAnyOf: true, ItemsNeeded: true, Pictures: geminiPictures,
		Keywords: []string{
			"type", "description", "nullable", "enum", "format", "items", "properties", "required", "anyOf", "minItems", "maxItems",
			"minimum", "maximum", "minLength", "maxLength", "minProperties", "maxProperties", "pattern",
		},
		Formats: []string{"float", "double", "int32", "int64", "date-time", "enum"},
	},
	{
		Name: "grammar", PlainRoot: true, Pictures: stbPictures,
		Keywords: []string{
			"type", "description", "title", "default", "enum", "const", "format", "items", "prefixItems", "properties", "required",
			"additionalProperties", "anyOf", "allOf", "$ref", "$defs", "definitions", "minItems", "maxItems",
			"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
		},
		Formats: []string{"date", "time", "date-time", "uuid"},
	},
}

// DialectNamed returns a built-in dialect: "openai" (chat completions and responses, not strict), "gemini" (its OpenAI
// endpoint: the subset of OpenAPI), "anthropic", "grammar" (llama.cpp, which makes a grammar of the schema) or "plain",
// which takes everything. Of any other name it returns the zero value and false.
func DialectNamed(name string) (Dialect, bool) {
	i := slices.IndexFunc(dialects, func(d Dialect) bool { return d.Name == name })
	if i < 0 {
		return Dialect{}, false
	}
	d := dialects[i]
	d.Keywords, d.Formats, d.Pictures = slices.Clone(d.Keywords), slices.Clone(d.Formats), slices.Clone(d.Pictures)
	return d, true
}

// TakesPicture reports whether pictures of a MIME type are taken.
func (d *Dialect) TakesPicture(mime string) bool {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	if mime = strings.TrimSpace(mime); mime == "image/jpg" { // which many write
		mime = "image/jpeg"
	}
	return strings.HasPrefix(mime, "image/") && (d.Pictures == nil || slices.Contains(d.Pictures, mime))
}

// takes says whether the dialect has a keyword.
func (d *Dialect) takes(name string) bool {
	return d.Keywords == nil || slices.Contains(d.Keywords, name)
}

// keyword is what lowering knows of a keyword of JSON Schema.
type keyword struct {
	// never is whether no dialect gets it: the whole would accept less if the schemas
	// within, or those next to it, accepted more, as they do once they are rewritten.
	never bool
	// place is whether it is about where the schema stands, so that a schema that
	// is merged into another leaves it behind.
	place bool
	// silent is whether it means nothing to a model.
	silent bool
	// words say it, where a dialect does not take it; the name and the value if empty.
	words string
	// limits are the keywords that would accept less if this one were missing.
	limits []string
}

// keywords has a row for each keyword that is not just a value with a name.
var keywords = map[string]keyword{
	"$schema": {place: true, silent: true}, "$id": {place: true, silent: true}, "id": {place: true, silent: true},
	"$anchor": {place: true, silent: true}, "$dynamicAnchor": {place: true, silent: true},
	"$vocabulary": {place: true, silent: true}, "$comment": {place: true, silent: true},
	"$defs":       {place: true, silent: true},
	"definitions": {place: true, silent: true},
	"title":       {silent: true}, "readOnly": {silent: true}, "writeOnly": {silent: true}, "deprecated": {silent: true}, "nullable": {silent: true},

	"properties":            {limits: []string{"additionalProperties"}},
	"patternProperties":     {limits: []string{"additionalProperties"}},
	"additionalProperties":  {words: "others are %s"},
	"unevaluatedProperties": {never: true, words: "others are %s"},
	"dependentSchemas":      {never: true},

	"prefixItems":      {words: "the items in order: %s", limits: []string{"items"}},
	"items":            {words: "others are %s"},
	"additionalItems":  {words: "others are %s"},
	"unevaluatedItems": {never: true, words: "others are %s"},
	"contains":         {never: true}, "minContains": {never: true}, "maxContains": {never: true},

	"oneOf": {never: true, words: "exactly one of %s"},
	"not":   {never: true}, "if": {never: true}, "then": {never: true}, "else": {never: true},

	"default": {words: "default %s"}, "const": {words: "always %s"}, "multipleOf": {words: "a multiple of %s"}, "uniqueItems": {words: "no item twice"},
	"minimum": {words: "at least %s"}, "maximum": {words: "at most %s"},
	"exclusiveMinimum": {words: "more than %s"}, "exclusiveMaximum": {words: "less than %s"},
}
