package model_test

import (
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/model"
)

// The schema is adapted to a provider that does not support oneOf.
func ExampleLower() {
	dialect, _ := model.DialectNamed("gemini")
	tools, notes := model.Lower([]model.Tool{
		{Name: "alarms__list", Schema: json.RawMessage(`{"type":"object","properties":{"since":{"oneOf":[{"type":"string","format":"date"},{"type":"null"}]}}}`)},
		{Name: "odd", Schema: json.RawMessage(`{"type":"array"}`)},
	}, dialect)
	for _, t := range tools {
		fmt.Println(t.Name, string(t.Schema))
	}
	for _, n := range notes {
		fmt.Println(n.Tool, n.SetAside, n.Text)
	}
	// Output:
	// alarms__list {"type":"object","properties":{"since":{"nullable":true,"type":"string","description":"(format date)"}}}
	// alarms__list false rewritten for gemini: /properties/since: oneOf
	// odd true its schema does not describe an object
}

// Names that some providers refuse get portable ones, which can be converted back.
func ExampleNames() {
	names := model.NewNames()
	fmt.Println(names.Portable("calculator__add"))
	fmt.Println(names.Portable("files.local__read file"))
	fmt.Println(names.Original("files_local__read_file_60a1a145"))
	// Output:
	// calculator__add
	// files_local__read_file_60a1a145
	// files.local__read file
}
