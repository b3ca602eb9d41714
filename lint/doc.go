// Package lint finds what the author of an MCP server would fix, had somebody said so:
// schemas that models cannot be given, tools that nobody describes, annotations that
// contradict each other, results that break their own schema, breaches of the specification.
//
// [Look] reads what a connected client can see of a server, and [Check] says what is wrong
// with it. In a test of a server that is written with package mcp:
//
//	seen, err := lint.Look(ctx, mcp.NewClient(server), lint.Options{})
//	if err != nil {
//		t.Fatal(err)
//	}
//	for _, finding := range lint.Check(seen) {
//		t.Error(finding)
//	}
//
// Lists of definitions can be checked without a server: Check(&lint.Seen{Tools: tools}).
//
// Look calls no tool but those of which the server says that they only read, and which
// need no arguments, and those that [Options.Calls] names.
//
// The rules are few, and each is meant to find nothing that its reader would leave as it
// is. docs/lint.md has them all, with examples.
package lint
