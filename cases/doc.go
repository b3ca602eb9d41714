// Package cases tests MCP servers by cases that stand in files: what is asked of a server, and
// what is to come back. docs/testing.md describes the files.
//
// [Load] reads a file, and [Run] runs files against servers, which its caller connects to: at each
// revision and over each transport that is wanted. A case passes if everything is as it says;
// nothing is compared that it does not mention, but for errors, which are always failures unless
// the case wants them.
package cases
