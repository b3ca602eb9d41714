package use_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/use"
	"github.com/junction-mcp/junction/mcp"
)

func TestFieldsAreThoseThatAreWritten(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		"servers\nservers.NAME  source, disabled, error, tools, resources, resourceTemplates, prompts, skills, missing\nservers.NAME.missing[]  server, reason": use.ListsShown{},
		"servers\nservers[]  server, package, locked": cli.ServersShown[*struct {
			Server  string `json:"server"`
			Hidden  string `json:"-"`
			Package string `json:"package,omitempty"`
			Locked  []byte `json:"locked"`
		}]{},
		"": struct{}{},
	} {
		if got := strings.Join(cli.FieldLines(reflect.TypeOf(v), "", map[reflect.Type]string{}), "\n"); got != want {
			t.Errorf("%T: got\n%s\nwant\n%s", v, got, want)
		}
	}
	text, err := json.Marshal(&mcp.CallToolResult{Content: []mcp.Content{{Type: "text"}}, StructuredContent: json.RawMessage("1"), IsError: true, Meta: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	_ = json.Unmarshal(text, &members) // which was just written
	if fields := cli.FieldLines(reflect.TypeFor[use.CallShown](), "", map[reflect.Type]string{}); len(strings.Split(fields[0], ", ")) != len(members) {
		t.Errorf("a result of a call has %s, help says %q", text, fields)
	}
}
