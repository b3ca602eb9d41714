package archtest

import (
	"go/ast"
	"strings"
	"testing"
)

// refers maps the files outside internal/schema that name $ref to the reason.
var refers = map[string]string{
	"lint/look.go":                              "whether there is one",
	"lint/schema.go":                            "whether there is one",
	"model/lower.go":                            "rewrites schemas, with the targets of schema.View",
	"model/lower_schema.go":                     "rewrites schemas, with the targets of schema.View",
	"model/lower_table.go":                      "rewrites schemas, with the targets of schema.View",
	"servers/graphql/types.go":                  "writes them",
	"servers/internal/toolschema/toolschema.go": "counts what it wrote",
	"servers/openapi/body.go":                   "reads documents of OpenAPI, which are in several files",
	"servers/openapi/document.go":               "reads documents of OpenAPI, which are in several files",
	"servers/openapi/schema.go":                 "reads documents of OpenAPI, which are in several files",
}

func TestReferencesOfSchemasAreFollowedInOnePlace(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest || !s.isProduction() || s.dir() == "internal/schema" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if literal, is := n.(*ast.BasicLit); is && strings.Trim(literal.Value, "\"`") == "$ref" {
				if found[s.path] = true; refers[s.path] == "" {
					t.Errorf("%s: read schemas with schema.Look, which follows $ref", files.Position(n.Pos()))
				}
			}
			return true
		})
	}
	for path := range refers {
		if !found[path] {
			t.Errorf("%s does not name $ref any more: take it off the list", path)
		}
	}
}
