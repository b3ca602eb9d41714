// Package recording records the messages of clients and servers in a file, and replays such a file
// in place of the servers.
//
// A [Recorder] is middleware. It records modern requests, with the messages of the server during
// each request and its result, regardless of revision and transport. So a [Replay], which is an
// [mcp.Handler], can be served over every transport to clients of every revision. The file has no
// secrets: each becomes a placeholder, the same one everywhere. A secret is the value of a member
// with a name such as password, an argument of [Recorder.Hide], or a text that package guard
// recognizes. docs/recording.md describes the file.
package recording
