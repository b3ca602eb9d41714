package main

import (
	"github.com/junction-mcp/junction/mcp"
)

// newServer returns a server with all features that the scenarios need.
func newServer() *mcp.Server {
	s := mcp.NewServerWith("junction-conformance", "1.0.0", mcp.ServerOptions{
		Instructions: "Fixtures of the conformance suite; every name is the suite's.",
	})
	addContentTools(s)
	addRunningTools(s)
	addSchemaTools(s)
	addElicitation(s)
	addSampling(s)
	addRounds(s)
	addDiagnostics(s)
	addResources(s)
	addPrompts(s)
	addTaskTools(s)
	addSkills(s)
	return s
}

// must panics if the fixtures have a fault.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// about returns the name and description of a tool; its other parts come from Go types.
func about(name, description string) mcp.Tool { return mcp.Tool{Name: name, Description: description} }
