// Package recording records the messages of clients and servers in a file, and replays such a file
// in place of the servers.
//
// A [Recorder] is middleware. It records each request with its result and the server's messages in
// between. It sees modern requests only, so the file does not depend on revision or transport. A
// [Replay] is an [mcp.Handler] that can be served over every transport to clients of every
// revision.
//
// The file contains no secrets; each is replaced by the same placeholder everywhere. A secret is
// the value of a member with a name such as password, an argument of [Recorder.Hide], or a text
// that package guard recognizes. docs/recording.md describes the file.
package recording
