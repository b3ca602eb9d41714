module github.com/junction-mcp/junction/integration

go 1.26.0

replace github.com/junction-mcp/junction => ../

require (
	github.com/mark3labs/mcp-go v1.2.1 // indirect
	github.com/modelcontextprotocol/go-sdk v1.8.0 // indirect
)
