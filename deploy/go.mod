module github.com/junction-mcp/junction/deploy

go 1.26.0

replace github.com/junction-mcp/junction => ../

require (
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.1
	golang.org/x/crypto/x509roots/fallback v0.0.0-20261030153154-30a33513ff6d
	oras.land/oras-go/v2 v2.7.0
)

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/oauth2 v0.37.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

require (
	github.com/junction-mcp/junction v0.0.0
	github.com/modelcontextprotocol/go-sdk v1.8.0
	golang.org/x/sync v0.24.0 // indirect
)
