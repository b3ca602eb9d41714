// Package lint finds faults of an MCP server that its author would fix. Examples are schemas that
// models cannot use, tools without a description, annotations that contradict each other, results
// that do not match their own schema, and breaches of the specification.
//
// [Look] reads all that a connected client can see of a server, and [Check] returns the faults. In
// a test of a server that is written with package mcp:
//
//	seen, err := lint.Look(ctx, mcp.NewClient(server), lint.Options{})
//	if err != nil {
//		t.Fatal(err)
//	}
//	for _, finding := range lint.Check(seen) {
//		t.Error(finding)
//	}
//
// To check lists of definitions without a server, use Check(&lint.Seen{Tools: tools}).
//
// Look calls only two kinds of tools: read-only ones, according to the server, that need no
// arguments; and those that [Options].Calls names.
//
// The rules are few, and each should find only faults worth fixing. docs/lint.md lists them with
// examples.
package lint
