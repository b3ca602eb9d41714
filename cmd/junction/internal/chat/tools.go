package chat

import (
	"fmt"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/remember"
	"github.com/junction-mcp/junction/host/task"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/mcp"
)

// agentSteps is how many requests to the model one sub-agent may make. They count toward
// those of the run that it belongs to, which should be left some.
const agentSteps = 20

// ownTools are those that junction chat itself gives the model: sub-agents, and notes
// where conversations are stored.
func (t *ChatSetup) ownTools() *mcp.Server {
	own := mcp.NewServer("junction", cli.Version)
	task.Add(own, task.Options{Limits: host.Limits{Steps: agentSteps}})
	if t.Archive != nil {
		remember.Add(own, t.Archive.Notes())
	}
	return own
}

// Notes are what was remembered; nil where nothing is stored.
func (t *ChatSetup) Notes() tui.Notes {
	if t.Archive == nil {
		return nil
	}
	return t.Archive.Notes()
}

// reserved says that a configured server has the name of Junction's tools, or of text that no
// server said, which rules and approvals refer to.
func reserved(e cli.Entry) error {
	if !host.Reserved(e.Name) {
		return nil
	}
	return fmt.Errorf("server %q is left out of the chat, as what Junction itself brings is called that: give it another name in %s", e.Name, e.Definition.Source)
}
