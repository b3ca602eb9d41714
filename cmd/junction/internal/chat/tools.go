package chat

import (
	"fmt"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/remember"
	"github.com/junction-mcp/junction/host/task"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

// agentSteps limits the requests to the model of one sub-agent. They count toward the limit of its
// run.
const agentSteps = 20

// ownTools returns the tools of chat itself: sub-agents, and notes if conversations are stored.
func (t *Setup) ownTools() *mcp.Server {
	own := mcp.NewServer("junction", cli.Version)
	task.Add(own, task.Options{Limits: host.Limits{Steps: agentSteps}})
	if t.Archive != nil {
		remember.Add(own, t.Archive.Notes())
	}
	return own
}

// Notes returns the stored notes, or nil if nothing is stored.
func (t *Setup) Notes() tui.Notes {
	if t.Archive == nil {
		return nil
	}
	return t.Archive.Notes()
}

// reserved returns an error if a configured server has a name that Junction itself uses in rules
// and approvals.
func reserved(e launch.Entry) error {
	if !host.Reserved(e.Name) {
		return nil
	}
	return fmt.Errorf("server %q is left out, because Junction's built-in tools use that name: rename it in %s", e.Name, e.Definition.Source)
}
