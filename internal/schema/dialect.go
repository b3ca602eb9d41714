package schema

import (
	"fmt"
	"strings"
)

// draft is a dialect of JSON Schema.
type draft int

const (
	draft7 draft = iota // includes drafts 4 and 6
	draft2019
	draft2020
)

const defaultDialect = "https://json-schema.org/draft/2020-12/schema"

// draftOf returns the draft that the value of "$schema" identifies. nil means the default.
func draftOf(quoted []byte) (draft, error) {
	if quoted == nil {
		return draft2020, nil
	}
	uri := unquote(quoted)
	_, rest, _ := strings.Cut(strings.TrimSuffix(uri, "#"), "://json-schema.org/")
	switch rest {
	case "draft/2020-12/schema":
		return draft2020, nil
	case "draft/2019-09/schema":
		return draft2019, nil
	case "draft-07/schema", "draft-06/schema", "draft-04/schema":
		return draft7, nil
	}
	return 0, fmt.Errorf("schema dialect %q is not supported: use %s, or leave $schema out", clip(uri), defaultDialect)
}
