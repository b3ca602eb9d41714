package schema

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/nearest"
)

// longTags lists the tags of [For] whose misspellings are detected. Shorter tags are too similar to
// tags of other libraries.
var longTags = []string{"pattern", "format", "default", "example", "required", "header"}

// foreignTags maps names of tags in other libraries, and keywords of JSON Schema, to the
// corresponding tags of [For]. If such a tag were ignored, its content would be lost.
var foreignTags = map[string]string{
	"jsonschema": "doc", "jsonschema_description": "doc", "jsonschema_extras": "doc", "description": "doc", "desc": "doc", "mcp": "doc",
	"minimum": "min", "minlength": "min", "minitems": "min", "minproperties": "min",
	"maximum": "max", "maxlength": "max", "maxitems": "max", "maxproperties": "max",
	"enums": "enum", "regex": "pattern", "regexp": "pattern", "examples": "example",
}

// checkTags rejects tags that look like tags for schemas but would have no effect. It accepts tags
// of unrelated libraries, such as yaml and db.
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

// meant returns the tag of this package that an author probably meant by key. It returns "" if key
// is a tag of this package or of an unrelated library.
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
