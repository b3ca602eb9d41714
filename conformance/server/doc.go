// Server is the program that the official conformance suite (npm:
// @modelcontextprotocol/conformance) tests as a server. It serves the tools, resources and prompts
// that the scenarios of the suite name, to clients of every revision at one URL:
//
//	go run ./conformance/server -addr 127.0.0.1:3000
//	npx conformance server --url http://127.0.0.1:3000/mcp --requirements 2025-11-25
//	npx conformance server --url http://127.0.0.1:3000/mcp --requirements 2026-07-28
//
// It listens on loopback addresses only. The suite defines the names, texts and keys.
package main
