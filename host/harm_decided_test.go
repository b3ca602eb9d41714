package host

import (
	"context"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// allowing is a policy that allows all of a server.
func allowing(t *testing.T, server string) *policy.Policy {
	t.Helper()
	rules, err := policy.Compile([]policy.Rule{{Effect: policy.Allow, Server: server}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// disk is a server that writes, and what happens meanwhile.
func disk(wrote *[]string, meanwhile func()) Server {
	s := mcp.NewServer("disk", "1")
	mcp.AddToolWith(s, mcp.Tool{Name: "write", Description: "Write.", Annotations: writes}, func(_ context.Context, in words) (string, error) {
		*wrote = append(*wrote, in.Text)
		meanwhile()
		return "written", nil
	})
	mcp.AddToolWith(s, mcp.Tool{Name: "read", Description: "Read.", Annotations: readOnly}, func(context.Context, struct{}) (string, error) {
		*wrote = append(*wrote, "(read)")
		return "text", nil
	})
	return Server{Name: "files", Handler: s, Origin: []string{"npx", "files"}}
}

var twoWrites = scripted.Reply(scripted.Calling("files__write", `{"text":"a"}`), scripted.Calling("files__write", `{"text":"b"}`))

// While the first of two calls runs, the person switches the server off.
func TestAServerThatIsOffGetsNoCallThatWasDecided(t *testing.T) {
	for name, turns := range map[string][]scripted.Turn{
		"by the model":     {twoWrites, scripted.Say("done")},
		"by its sub-agent": {delegate("write"), twoWrites, scripted.Say("done"), scripted.Say("done")},
	} {
		t.Run(name, func(t *testing.T) {
			var c *Conversation
			var wrote []string
			s := play(t, Options{Tools: delegating(Limits{}), Policy: allowing(t, "files"), Servers: []Server{disk(&wrote, func() {
				if err := c.SetOff("files", true); err != nil {
					t.Error(err)
				}
			})}}, turns...)
			c = s.Conversation(nil)
			ask(t, c, "write")
			if !slices.Equal(wrote, []string{"a"}) {
				t.Errorf("written is %q, though the server was switched off after the first", wrote)
			}
		})
	}
}
