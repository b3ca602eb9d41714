package everything

import (
	"context"
	"fmt"
	"sync"

	"github.com/junction-mcp/junction/mcp"
)

const (
	counterURI = "everything://counter"
	extraTool  = "extra"
)

type toggleOutput struct {
	Present bool `json:"present" doc:"Whether the tool \"extra\" is there now."`
}

type updateOutput struct {
	Counter int `json:"counter" doc:"What the resource says now."`
}

// changes is the changeable state of the server.
type changes struct {
	server *mcp.Server

	mu      sync.Mutex
	present bool // the extra tool exists
	counter int
}

// addChanges registers the tools that change the server, and the counter that they change.
func addChanges(s *mcp.Server) {
	c := &changes{server: s}
	mcp.AddToolWith(s, mcp.Tool{Name: "toggle-tool",
		Title: "Toggle a tool", Description: "Add the tool \"extra\", or remove it if it is there. Clients that listen are notified that the list of tools changed.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(false), DestructiveHint: new(false), IdempotentHint: new(false), OpenWorldHint: new(false)},
	}, c.toggleTool)
	mcp.AddToolWith(s, mcp.Tool{Name: "update-resource",
		Title: "Update a resource", Description: "Add one to the resource " + counterURI + ". Clients that subscribed to it are notified.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(false), DestructiveHint: new(false), IdempotentHint: new(false), OpenWorldHint: new(false)},
	}, c.updateResource)
	s.AddResource(mcp.Resource{
		URI: counterURI, Name: "counter", Title: "Counter", MIMEType: "text/plain",
		Description: "How often the tool update-resource was called. Subscribe to it to be notified of each change.",
	}, c.readCounter)
}

func (c *changes) toggleTool(context.Context, struct{}) (toggleOutput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.present = !c.present
	if !c.present {
		c.server.RemoveTool(extraTool)
		return toggleOutput{false}, nil
	}
	mcp.AddToolWith(c.server, look(extraTool, "Extra", "Present only after toggle-tool was called."), func(context.Context, struct{}) (string, error) {
		return "The tool that comes and goes is here.", nil
	})
	return toggleOutput{true}, nil
}

func (c *changes) updateResource(context.Context, struct{}) (updateOutput, error) {
	c.mu.Lock()
	c.counter++
	out := updateOutput{c.counter}
	c.mu.Unlock()
	c.server.ResourceUpdated(counterURI)
	return out, nil
}

func (c *changes) readCounter(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "text/plain", fmt.Sprintf("%d", c.counter))}}, nil
}
