// Package live keeps the messages of Junction's processes for a page that shows them. They are in a
// ring on disk, with an index in memory. The package serves them as JSON and as a stream of
// server-sent events, and exports them as JSONL, HTTP Archive, SVG or Mermaid.
package live
