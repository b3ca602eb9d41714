package host

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// While a person thinks about the reading of a resource, its server is switched off.
func TestAServerThatIsOffIsNotRead(t *testing.T) {
	srv := mcp.NewServer("docs", "1")
	read := 0
	handler := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "resources/read" {
			read++
			return mcp.Result{JSON: json.RawMessage(`{"contents":[{"uri":"doc://a","text":"secret"}]}`)}, nil
		}
		return srv.Handle(ctx, req)
	})
	var c *Conversation
	d := &desk{consent: func(ApprovalCard) Verdict {
		if err := c.SetOff("docs", true); err != nil {
			t.Error(err)
		}
		return Verdict{Allow: true}
	}}
	s := play(t, Options{Person: d, Policy: asking(t, "docs"), Servers: []Server{{Name: "docs", Handler: handler, Trusted: true}}},
		scripted.Call(readName, `{"uri":"doc://a","server":"docs"}`), scripted.Say("done"))
	c = s.Conversation(nil)
	ask(t, c, "read")
	if len(d.cards) != 1 || read != 0 {
		t.Errorf("%d cards; read %d times, though the server was switched off", len(d.cards), read)
	}
}

// asking is a policy that asks about all of a server.
func asking(t *testing.T, server string) *policy.Policy {
	t.Helper()
	rules, err := policy.Compile([]policy.Rule{{Effect: policy.Ask, Server: server}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
