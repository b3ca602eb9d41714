package toolsearch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestAToolBehindTheLastWordIsAsItsServerDefinesIt checks that a tool found by its name alone keeps
// its complete definition: a model needs the arguments.
func TestAToolBehindTheLastWordIsAsItsServerDefinesIt(t *testing.T) {
	t.Parallel()
	x := New(Options{})
	var tools []Tool
	for i := range 1 + maxServerWords/400 {
		tools = append(tools, Tool{Name: fmt.Sprint("long", i), Description: strings.Repeat("word ", 500)})
	}
	last := Tool{Name: "pick_flowers", Description: "picks them", Schema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}}}`)}
	for range 2 {
		x.SetServer("s", "", append(tools, last))
		got, is := x.Tool(last.withID("s").ID)
		if !is || got.Description != last.Description || string(got.Schema) != string(last.Schema) {
			t.Fatalf("it is %+v", got)
		}
		if hits := x.Search(t.Context(), Query{Text: "colour"}).Hits; len(hits) != 0 {
			t.Fatalf("its text is indexed, and the test shows nothing: %v", hits)
		}
	}
}
