package model

import (
	"slices"
	"strings"
)

// A Dialect describes the subset of JSON Schema, and the formats of pictures, that a provider
// supports. The zero value supports everything. Functions that take a Dialect do not change it. The
// slices of the built-in ones are copies that belong to the caller.
type Dialect struct {
	// Name is used in Notes.
	Name string
	// MaxTools is the maximum number of tools in a request; 0 means no limit.
	MaxTools int
	// Keywords lists the supported keywords; nil means all that Lower keeps. Descriptions mention
	// the others.
	Keywords []string
	// Formats lists the supported values of format; nil means all.
	Formats []string
	// PlainRoot requires a root object without anyOf, oneOf, allOf, not or enum. Alternatives
	// become one object that accepts all of them.
	PlainRoot bool
	// NoRefs excludes $ref. Its target replaces it, and recursion is cut off.
	NoRefs bool
	// Nullable replaces null in lists of types by the keyword nullable.
	Nullable bool
	// StringEnums restricts enum to strings.
	StringEnums bool
	// LoneAnyOf requires that anyOf is the only keyword of its schema.
	LoneAnyOf bool
	// PropertyNames requires that names of properties match [A-Za-z0-9_.-]{1,64}.
	PropertyNames bool
	// ItemsNeeded requires that every array describes its items.
	ItemsNeeded bool
	// Pictures lists the MIME types of supported pictures; nil means all. A text replaces other
	// pictures.
	Pictures []string
}

// Formats of pictures that providers support according to their documentation. llama.cpp reads
// pictures with stb_image, which does not support WebP.
var (
	usualPictures  = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}
	geminiPictures = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}
	stbPictures    = []string{"image/png", "image/jpeg", "image/gif", "image/bmp"}
)

// dialects has a row for each provider. The dialect "grammar" omits keywords that llama.cpp cannot
// convert: it fails on patterns without anchors and on negations.
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

// DialectNamed returns a built-in dialect. The names are "openai" (chat completions and responses,
// not strict), "gemini" (its OpenAI endpoint: the subset of OpenAPI), "anthropic", "grammar"
// (llama.cpp, which converts the schema to a grammar) and "plain", which supports everything. For
// any other name it returns the zero value and false.
func DialectNamed(name string) (Dialect, bool) {
	i := slices.IndexFunc(dialects, func(d Dialect) bool { return d.Name == name })
	if i < 0 {
		return Dialect{}, false
	}
	d := dialects[i]
	d.Keywords, d.Formats, d.Pictures = slices.Clone(d.Keywords), slices.Clone(d.Formats), slices.Clone(d.Pictures)
	return d, true
}

// TakesPicture reports whether pictures of a MIME type are supported.
func (d *Dialect) TakesPicture(mime string) bool {
	mime, _, _ = strings.Cut(strings.ToLower(mime), ";")
	if mime = strings.TrimSpace(mime); mime == "image/jpg" { // a common misspelling
		mime = "image/jpeg"
	}
	return strings.HasPrefix(mime, "image/") && (d.Pictures == nil || slices.Contains(d.Pictures, mime))
}

// takes reports whether the dialect supports a keyword.
func (d *Dialect) takes(name string) bool {
	return d.Keywords == nil || slices.Contains(d.Keywords, name)
}

// A keyword describes how lowering treats a keyword of JSON Schema.
type keyword struct {
	// never excludes the keyword from all dialects. Such a keyword would reject valid values once
	// the schemas in it or next to it were rewritten to accept more.
	never bool
	// place marks keywords about the position of the schema. They are dropped when the schema is
	// merged into another.
	place bool
	// silent marks keywords that have no meaning to a model.
	silent bool
	// words is the format of the keyword's description for dialects that do not support it. If it
	// is empty, the description is the name and value.
	words string
	// limits lists the keywords that would accept less without this one.
	limits []string
}

// keywords has a row for each keyword that needs special treatment.
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
