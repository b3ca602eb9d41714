package offline_test

import (
	"testing"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/offline"
)

// A portable name ends in a hash, which no user types. That applies to every tool of a server with
// a dot in its name.
func TestHashedNamesAreStable(t *testing.T) {
	all := []model.Tool{
		tool("host__recall", "Find what was remembered in earlier conversations.", `"words":{"type":"string"}`, ``),
		tool("host__remember", "Keep a fact for later conversations.", `"text":{"type":"string"}`, `"text"`),
		tool("host__task", "Give a piece of work to a sub-agent.", `"task":{"type":"string"}`, `"task"`),
	}
	for _, origin := range []string{"127.0.0.1-1", "127.0.0.1-2", "127.0.0.1-3", "127.0.0.1-4", "127.0.0.1-5", "127.0.0.1-6", "127.0.0.1-7", "127.0.0.1-8"} {
		name := model.NewNames().Portable(origin + "__double")
		req := &model.Request{Messages: []model.Message{model.UserText("double N=21")}, Tools: append(all[:len(all):len(all)], tool(name, "", `"N":{"type":"integer"}`, `"N"`))}
		resp, err := offline.New().Generate(t.Context(), req, nil)
		if err != nil {
			t.Fatal(err)
		}
		if calls := resp.Message.Calls(); len(calls) != 1 || calls[0].Name != name {
			t.Errorf("%s: %s", name, resp.Message.Text())
		}
	}
}
