package offline_test

import (
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/offline"
)

func TestExampleIsAnsweredWithACall(t *testing.T) {
	two := `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`
	sum := model.Tool{Name: "everything__get-sum", Description: "Returns the sum of two numbers", Schema: json.RawMessage(two)}
	repo := `{"type":"object","properties":{"repo_path":{"type":"string"},"files":{"type":"array"}},"required":["repo_path","files"]}`
	git := model.Tool{Name: "git__git_add", Schema: json.RawMessage(repo)}
	notes := model.Tool{Name: "memory__add_observations", Schema: json.RawMessage(`{"type":"object","properties":{"observations":{"type":"array"}},"required":["observations"]}`)}
	colour := model.Tool{Name: "paint__mix", Schema: json.RawMessage(`{"type":"object","properties":{"colour":{"enum":["red","blue"]}},"required":["colour"]}`)}
	folders := model.Tool{Name: "files__list_allowed_directories", Schema: json.RawMessage(`{"type":"object"}`)}
	strange := model.Tool{Name: "x__say then; run", Schema: json.RawMessage(`{"type":"object"}`)}
	for _, test := range []struct {
		name     string
		tools    []model.Tool
		searched bool
		want     string
		call     string
	}{
		{"a tool that sums", []model.Tool{git, notes, sum}, false, "add 2 and 40", `everything__get-sum {"a":2,"b":40}`},
		{"a tool that sums, to be searched", []model.Tool{git, notes, sum}, true, "get-sum a=2 b=40", `everything__get-sum {"a":2,"b":40}`},
		{"one of several values", []model.Tool{git, colour}, false, "mix colour=red", `paint__mix {"colour":"red"}`},
		{"no arguments", []model.Tool{notes, folders}, false, "list_allowed_directories", `files__list_allowed_directories {}`},
		{"two of one name", []model.Tool{folders, {Name: "more__list_allowed_directories", Schema: folders.Schema}}, false, "", ""},
		{"only texts that a user knows", []model.Tool{git, notes}, false, "", ""},
		{"a name that is no word", []model.Tool{strange}, false, "", ""},
		{"no tools", nil, false, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := offline.Example(test.tools, test.searched)
			if got != test.want {
				t.Fatalf("the example is %q, want %q", got, test.want)
			}
			if got == "" {
				return
			}
			resp := generate(t, &model.Request{Messages: []model.Message{model.UserText(got)}, Tools: test.tools})
			if calls := resp.Message.Calls(); len(calls) != 1 || calls[0].Name+" "+string(calls[0].Arguments) != test.call {
				t.Errorf("%q is answered with %+v, want %s", got, resp.Message, test.call)
			}
		})
	}
}
