package everything

import (
	"github.com/junction-mcp/junction/mcp"
)

const instructions = `This server is for trying out and testing MCP clients. It has one of each feature.
- Start with "echo" or "add". "get-…" tools return each kind of content.
- "count-slowly" reports progress, "wait" can be cancelled, "log" writes log messages of every level.
- "ask…" tools ask the user, "sample…" tools ask the language model, "list-roots" asks the client.
- "toggle-tool" changes the list of tools; "update-resource" changes the resource everything://counter.
Nothing here has any effect outside of the server.`

// New returns a server with every feature. It has a counter, and one tool that can be added and
// removed. All clients share both; the other features never change.
func New() *mcp.Server {
	s := mcp.NewServerWith("everything", "1.0.0", mcp.ServerOptions{
		Title:        "Everything",
		Description:  "One of each MCP feature, to try out and test clients.",
		Icons:        icons(),
		Instructions: instructions,
	})
	addPlainTools(s)
	addContentTools(s)
	addRunningTools(s)
	addQuestions(s)
	addModelTools(s)
	addChanges(s)
	addResources(s)
	addPrompts(s)
	return s
}

// must panics if a fixed feature is invalid.
func must(err error) {
	if err != nil {
		panic("everything: " + err.Error())
	}
}

// look returns a read-only tool.
func look(name, title, description string) mcp.Tool {
	return mcp.Tool{Name: name, Title: title, Description: description, Annotations: readOnly()}
}

// readOnly returns the annotations of a read-only tool.
func readOnly() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: new(true), IdempotentHint: new(true), OpenWorldHint: new(false)}
}
