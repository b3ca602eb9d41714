// Package cases tests MCP servers with cases in files. A case consists of requests to a server and
// the expected results. docs/testing.md describes the files.
//
// [Load] reads a file. [Run] runs the cases of files at the selected revisions and over the
// selected transports; its caller connects to the servers. A case passes if all its expectations
// are true. Only the parts of a result that a case mentions are compared, but an error that a case
// does not expect is a failure.
package cases
