module github.com/junction-mcp/junction/bench

go 1.26.0

require github.com/junction-mcp/junction v0.0.0

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/kljensen/snowball v0.10.0 // indirect
	github.com/rogpeppe/go-internal v1.16.0 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace github.com/junction-mcp/junction => ..
