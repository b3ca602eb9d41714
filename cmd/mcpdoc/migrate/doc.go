// Package migrate rewrites the struct tags of programs that were written for other SDKs to the tags
// of package mcp. The command mcpdoc migrate runs this package.
//
// The package reads three tags. It finds out which of the first two forms a jsonschema tag has:
//
//	jsonschema:"the text"                     google/jsonschema-go, which the official SDK uses
//	jsonschema:"required,description=…"       invopop/jsonschema, which mcp-go uses
//	jsonschema_description:"…", mcp:"…"       the text, in older programs
//
// A part without a tag in package mcp stays where it is, and becomes a [Problem]. AddTool refuses
// such a tag, so nothing is lost unseen. The tags of folders that import no SDK stay, too, because
// they may have another reader. A second run changes nothing.
package migrate
