// The registry server, which setup.sh builds for registry_test.go. It is a module of its own, as it needs more than all else here.
module github.com/junction-mcp/junction/integration/registry

go 1.26.0

require github.com/modelcontextprotocol/registry v1.8.9

// The version that it names cannot be had.
replace github.com/danielgtaylor/huma/v2 => github.com/danielgtaylor/huma/v2 v2.39.0
