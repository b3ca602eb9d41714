// Package live keeps the messages that go through the processes of Junction, for a page that shows them: in a ring on
// disk, with an index in memory, which is served as JSON and as a stream of server-sent events, and exported as JSONL,
// HTTP Archive, SVG or Mermaid.
package live
