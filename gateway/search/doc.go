// Package search offers a few tools in place of many, as middleware around any Handler:
//
//	h = search.Middleware(search.Options{})(h)
//
// If the definitions of all tools cost more tokens than a budget, clients see only the pinned tools
// and three others. The tool search_tools finds tools by a description of the task, describe_tool
// returns a whole definition, and call_tool calls a tool. Clients can still call every tool by its
// own name, and other requests pass unchanged. The client needs no support for this, so the package
// works in every revision.
package search
