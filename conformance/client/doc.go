// Client is the program that the official conformance suite
// (npm: @modelcontextprotocol/conformance) runs as a client. Its last argument
// is the URL of the suite's server; what it does there is named by
// MCP_CONFORMANCE_SCENARIO, with details in MCP_CONFORMANCE_CONTEXT:
//
//	go build -o client ./conformance/client
//	npx conformance client --command "exec ./client" --requirements 2025-11-25
//	npx conformance client --command "exec ./client" --requirements 2026-07-28
//
// It never looks at MCP_CONFORMANCE_PROTOCOL_VERSION: like any client of Junction
// it finds out what the server speaks. Names of tools and values are the suite's.
package main
