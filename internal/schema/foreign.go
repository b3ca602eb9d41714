package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/nearest"
)

// longTags are the tags of [For] whose misspellings are found. Shorter ones are
// too close to tags of other libraries.
var longTags = []string{"pattern", "format", "default", "example", "required", "header"}

// foreignTags are what other libraries and JSON Schema call a tag of [For].
// Ignoring them would lose what they say.
var foreignTags = map[string]string{
	"jsonschema": "doc", "jsonschema_description": "doc", "jsonschema_extras": "doc", "description": "doc", "desc": "doc", "mcp": "doc",
	"minimum": "min", "minlength": "min", "minitems": "min", "minproperties": "min",
	"maximum": "max", "maxlength": "max", "maxitems": "max", "maxproperties": "max",
	"enums": "enum", "regex": "pattern", "regexp": "pattern", "examples": "example",
}

// checkTags refuses tags that were meant to say something about the schema, and
// would not. Tags of libraries that do other things, such as yaml and db, pass.
func checkTags(_ *shape, f field) error {
	for rest := strings.TrimLeft(string(f.Tag), " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		key, after, _ := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(after)
		if key == "" || err != nil || strings.ContainsAny(key, " \t\"") {
			return errors.New("the struct tag is not a list of key:\"value\" pairs with spaces between")
		}
		rest = after[len(quoted):]
		if use := meant(key); use != "" {
			return fmt.Errorf("tag %s is not known here; use %s", key, use)
		}
	}
	return nil
}

// meant is the tag of ours that key stands for; empty for one of ours, and for
// one that has nothing to do with schemas.
func meant(key string) string {
	if use := foreignTags[strings.ToLower(key)]; use != "" {
		return use
	}
	if slices.Contains(longTags, key) {
		return ""
	}
	use := nearest.Name(key, longTags)
	if len(key) < 6 || use == "" || use[0] != key[0] {
		return ""
	}
	return use
}
