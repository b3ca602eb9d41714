// Package cases tests MCP servers with cases in files: requests to a server with the expected
// results. docs/testing.md describes the files.
//
// [Load] reads a file, and [Run] runs files against servers, to which its caller connects, at the
// wanted revisions and over the wanted transports. A case passes if all its expectations hold. Only
// the parts that a case mentions are compared, except errors, which are always failures unless the
// case expects them.
package cases
