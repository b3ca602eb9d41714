// Package search offers a few tools in place of many, as middleware around any Handler:
//
//	h = search.Middleware(search.Options{})(h)
//
// Where the definitions of all tools cost more than a budget, clients see search_tools, which finds
// tools by what they do, describe_tool, which gives a definition whole, and call_tool, which calls one,
// with the tools that are pinned. Every tool can be called by its name all the same, and everything
// else passes as it is. Nothing is asked of the client, so it works in every revision.
package search
