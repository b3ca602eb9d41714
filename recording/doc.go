// Package recording keeps what clients and servers say to each other in a file, and serves such a file back in the
// place of the servers.
//
// A [Recorder] is middleware: what it writes down are modern requests, with what the server sent and asked meanwhile
// and with their results, whichever revision and transport carried them. So a [Replay], which is an [mcp.Handler],
// can be served over every transport to clients of every revision. Secrets do not get into the file: each becomes a
// placeholder, the same one wherever it stands. A secret is the value of a member with a name such as password, what
// [Recorder.Hide] was called with, and what package guard recognizes by its form. docs/recording.md describes the file.
package recording
