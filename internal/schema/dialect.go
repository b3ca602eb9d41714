package schema

import (
	"fmt"
	"strings"
)

// draft is a dialect of JSON Schema, by its year or number.
type draft int

const (
	draft4    draft = 4
	draft6    draft = 6
	draft7    draft = 7
	draft2019 draft = 2019
	draft2020 draft = 2020
)

// dialects lists the drafts by what "$schema" says.
var dialects = [...]struct {
	draft     draft
	name, uri string
}{
	{draft2020, "2020-12", "json-schema.org/draft/2020-12/schema"},
	{draft2019, "2019-09", "json-schema.org/draft/2019-09/schema"},
	{draft7, "draft-07", "json-schema.org/draft-07/schema"},
	{draft6, "draft-06", "json-schema.org/draft-06/schema"},
	{draft4, "draft-04", "json-schema.org/draft-04/schema"},
}

// draftOf reads the "$schema" of a schema's root.
func draftOf(text []byte) (draft, error) {
	quoted := memberOf(text, "$schema")
	if quoted == nil {
		return draft2020, nil
	}
	uri := string(unquote(quoted, true))
	_, rest, _ := strings.Cut(strings.TrimSuffix(uri, "#"), "://")
	for _, d := range dialects {
		if rest == d.uri {
			return d.draft, nil
		}
	}
	return 0, fmt.Errorf("schema dialect %q is not supported: use https://json-schema.org/draft/2020-12/schema, or leave $schema out", clip(uri))
}

// String is the name people know the dialect by.
func (d draft) String() string {
	for _, known := range dialects {
		if known.draft == d {
			return known.name
		}
	}
	return "unknown"
}

// id is the keyword that names a schema.
func (d draft) id() string {
	if d == draft4 {
		return "id"
	}
	return "$id"
}

// has tells whether a keyword means something in the dialect; in the others it
// is an annotation.
func (d draft) has(keyword string) bool {
	switch keyword {
	case "const", "contains", "propertyNames":
		return d >= draft6
	case "if", "then", "else":
		return d >= draft7
	case "dependentRequired", "dependentSchemas", "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties":
		return d >= draft2019
	case "prefixItems", "$dynamicRef":
		return d >= draft2020
	case "$recursiveRef", "$recursiveAnchor":
		return d == draft2019
	case "dependencies":
		return d <= draft7
	case "additionalItems":
		return d <= draft2019
	default:
		return true
	}
}
