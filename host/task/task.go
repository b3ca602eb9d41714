// Package task provides a tool with which a model gives a piece of work to a sub-agent. The
// sub-agent has a conversation of its own, with tools that the model chooses, and the model gets
// only its answer. So a long search does not fill the window of the conversation that needs its
// result.
package task

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

// Name is the name of the tool.
const Name = "task"

// Options configures the tool. The zero value is usable.
type Options struct {
	// Instructions is appended to the instructions of every sub-agent.
	Instructions string
	// Limits applies to each sub-agent, in addition to the limits of the parent's run.
	Limits host.Limits
	// Tools selects the tools that a sub-agent may use at all; nil means all but this one.
	Tools func(host.ToolInfo) bool
}

// A work is a task for a sub-agent.
type work struct {
	Task  string   `json:"task" doc:"what is to be done and what the answer must contain; the sub-agent knows nothing else about this conversation"`
	Tools []string `json:"tools,omitempty" doc:"the only tools that the sub-agent may use: SERVER for all tools of a server, or SERVER__TOOL; by default all but this one"`
	Name  string   `json:"name,omitempty" doc:"one or two words that tell the user what the sub-agent does"`
}

// Add adds the tool to the server for [host.Options].Tools. The tool counts as read-only, because
// each call of the sub-agent needs its own decision; see [host.Child].
func Add(own *mcp.Server, o Options) {
	mcp.AddToolWith(own, mcp.Tool{
		Name: Name, Title: "Sub-agent",
		Description: "Give a piece of work to a sub-agent, which answers only with its result. Several can work at the same time. Use it for work with many calls and a short result.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)},
	}, func(ctx context.Context, w work) (string, error) { return o.do(ctx, w) })
}

func (o *Options) do(ctx context.Context, w work) (string, error) {
	name := strings.TrimSpace(w.Name)
	if name == "" {
		name = Name
	}
	child, err := host.Child(ctx, host.Agent{Name: name, Instructions: o.Instructions, Limits: o.Limits})
	if err != nil {
		return "", err
	}
	choice := chosen{names: w.Tools, found: map[string]bool{}}
	answer, err := child.Ask(ctx, host.Question{Text: w.Task, Tools: func(t host.ToolInfo) bool {
		return t.ToolRef != host.ToolRef{Server: host.OwnServer, Tool: Name} && (o.Tools == nil || o.Tools(t)) && choice.has(t)
	}})
	switch {
	case err != nil:
		return "", fmt.Errorf("sub-agent %q: %w", name, err)
	case answer.Stop != "end":
		return "", fmt.Errorf("sub-agent %q was ended before it was done (%s); its last words: %s", name, answer.Stop, answer.Text)
	}
	return answer.Text + choice.missing(), nil
}

// chosen selects the tools that a model named.
type chosen struct {
	names []string
	found map[string]bool
}

func (c *chosen) has(t host.ToolInfo) bool {
	for _, name := range []string{t.Server, t.Server + "__" + t.Tool} {
		if slices.Contains(c.names, name) {
			c.found[name] = true
			return true
		}
	}
	return len(c.names) == 0
}

// missing returns a line with the names that matched no tool, or "".
func (c *chosen) missing() string {
	unknown := slices.DeleteFunc(slices.Clone(c.names), func(name string) bool { return c.found[name] })
	if len(unknown) == 0 {
		return ""
	}
	return fmt.Sprintf("\n[It had no tools called %s.]", strings.Join(unknown, ", "))
}
