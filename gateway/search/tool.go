package search

import (
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/toolsearch"
)

const (
	maxTags = 20 // of one tool
	maxTag  = 64 // characters of one tag
)

// toolOf converts a definition to the form of the index.
func toolOf(raw json.RawMessage) toolsearch.Tool {
	text := func(name string) string {
		text, _ := jsonrpc.Unquote(jsonrpc.Get(raw, name))
		return text
	}
	description := text("description")
	if tags := tagsOf(raw); len(tags) > 0 {
		description = strings.TrimSpace(description + " (tags: " + strings.Join(tags, ", ") + ")")
	}
	return toolsearch.Tool{ID: text("name"), Name: text("name"), Title: text("title"), Description: description, Schema: jsonrpc.Get(raw, "inputSchema")}
}

// tagsKey is the member of _meta that holds the tags of a tool; see package edit.
const tagsKey = "io.github.junction-mcp/tags"

// tagsOf returns the tags of a tool. A query that contains a tag finds the tool.
func tagsOf(raw json.RawMessage) (tags []string) {
	jsonrpc.EachElement(jsonrpc.Get(jsonrpc.Get(raw, "_meta"), tagsKey), func(quoted []byte) bool {
		if tag, ok := jsonrpc.Unquote(quoted); ok {
			tags = append(tags, plaintext.Line(tag, maxTag))
		}
		return len(tags) < maxTags
	})
	return tags
}
