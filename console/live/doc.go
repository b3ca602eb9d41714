// Package live stores the messages of Junction processes for a page that shows them. The messages
// are in a ring file on disk, with an index in memory. The package serves them as JSON and as a
// stream of server-sent events, and exports them as JSONL, HTTP Archive, SVG or Mermaid.
package live
