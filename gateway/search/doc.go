// Package search offers a few tools in place of many, as middleware around any Handler:
//
//	h = search.Middleware(search.Options{})(h)
//
// If the definitions of all tools cost more than a budget, clients see three tools and the pinned
// ones. The tool search_tools finds tools by a description of the task, describe_tool returns a
// whole definition, and call_tool calls one. Every tool can still be called by its name, and other
// requests pass unchanged. The client needs no support for it, so it works in every revision.
package search
