package offline_test

import (
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/offline"
	"github.com/junction-mcp/junction/servers/everything"
	"github.com/junction-mcp/junction/servers/filesystem"
)

// shipped returns the tools of the servers that ship with Junction, as a host with both servers
// shows them.
func shipped(t *testing.T) []model.Tool {
	t.Helper()
	files, err := filesystem.New(filesystem.Options{Roots: []string{t.TempDir()}, Write: true})
	if err != nil {
		t.Fatal(err)
	}
	var tools []model.Tool
	for server, handler := range map[string]mcp.Handler{"everything": everything.New(), "filesystem": files} {
		c := mcp.NewClient(handler)
		defer c.Close()
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, model.Tool{Name: server + "__" + tool.Name, Description: tool.Description, Schema: tool.InputSchema})
		}
	}
	return tools
}

func TestTheServersThatShipWithItCanBeUsed(t *testing.T) {
	tools := shipped(t)
	m := offline.New()
	for question, want := range map[string]string{
		"add 2 and 40":                `everything__add {"a":2,"b":40}`,
		"please add 2 and 40":         `everything__add {"a":2,"b":40}`,
		"what is 2 added to 40?":      `everything__add {"a":2,"b":40}`,
		"echo hello world":            `everything__echo {"message":"hello world"}`,
		"list primes below 10":        `everything__list-primes {"below":10}`,
		"primes below 10":             `everything__list-primes {"below":10}`,
		"pick item=tea region=eu":     `everything__pick {"region":"eu","item":"tea"}`,
		"read docs/old.txt":           `filesystem__read-file {"path":"docs/old.txt"}`,
		"delete path=docs/old.txt":    `filesystem__delete {"path":"docs/old.txt"}`,
		"list folder path=docs/a":     `filesystem__list-folder {"path":"docs/a"}`,
		`move "docs/a.txt" "b.md"`:    `filesystem__move {"from":"docs/a.txt","to":"b.md"}`,
		`write-file path=a content=b`: `filesystem__write-file {"path":"a","content":"b"}`,
		"tree docs/a":                 `filesystem__tree {"path":"docs/a"}`,
		"make folder docs/new":        `filesystem__make-folder {"path":"docs/new"}`,
	} {
		resp, err := m.Generate(t.Context(), &model.Request{Messages: []model.Message{model.UserText(question)}, Tools: tools}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if calls := resp.Message.Calls(); len(calls) != 1 || calls[0].Name+" "+string(calls[0].Arguments) != want {
			got := resp.Message.Text()
			if len(calls) == 1 {
				got = calls[0].Name + " " + string(calls[0].Arguments)
			}
			t.Errorf("%q: %s; want %s", question, got, want)
		}
	}
	for _, question := range []string{"hello", "how are you today?", "what is the capital of France?", "what's the meaning of life", "help", "write me a love letter"} {
		resp, err := m.Generate(t.Context(), &model.Request{Messages: []model.Message{model.UserText(question)}, Tools: tools}, nil)
		if err != nil || len(resp.Message.Calls()) > 0 {
			t.Errorf("%q: %+v, %v", question, resp, err)
		}
	}
}
