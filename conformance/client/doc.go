// Client is the program that the official conformance suite (npm:
// @modelcontextprotocol/conformance) runs as a client. Its last argument is the URL of the suite's
// server. MCP_CONFORMANCE_SCENARIO names the scenario to run, and MCP_CONFORMANCE_CONTEXT has its
// details:
//
//	go build -o client ./conformance/client
//	npx conformance client --command "exec ./client" --requirements 2025-11-25
//	npx conformance client --command "exec ./client" --requirements 2026-07-28
//
// The program does not use MCP_CONFORMANCE_PROTOCOL_VERSION. Like every client of Junction, it
// detects which revision the server supports. The suite defines the names of tools and the values.
package main
