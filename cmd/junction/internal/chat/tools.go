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

// agentSteps is the largest number of requests to the model by one sub-agent. They also count
// toward the limit of its run.
const agentSteps = 20

// ownTools returns the tools of chat itself: sub-agents and, if conversations are stored, notes.
func (t *Setup) ownTools() *mcp.Server {
	own := mcp.NewServer("junction", cli.Version)
	task.Add(own, task.Options{Limits: host.Limits{Steps: agentSteps}})
	if t.Archive != nil {
		remember.Add(own, t.Archive.Notes())
	}
	return own
}

// Notes returns the stored notes, or nil if conversations are not stored.
func (t *Setup) Notes() tui.Notes {
	if t.Archive == nil {
		return nil
	}
	return t.Archive.Notes()
}

// reserved returns an error if a configured server has a name that Junction uses for itself in
// rules and approvals.
func reserved(e launch.Entry) error {
	if !host.Reserved(e.Name) {
		return nil
	}
	return fmt.Errorf("server %q is left out, because Junction's built-in tools use that name: rename it in %s", e.Name, e.Definition.Source)
}
