package layer

import (
	"github.com/junction-mcp/junction/gateway/secrets"
	"github.com/junction-mcp/junction/mcp"
)

// guardSecrets returns middleware that refuses arguments, or withholds results, with secrets.
func guardSecrets(_ *Stack, _ *Plan, of Server) mcp.Middleware {
	if of.own.Secrets == "" || of.own.Secrets == "pass" {
		return nil
	}
	return secrets.Middleware(secrets.Options{Arguments: of.own.Secrets != "results", Results: of.own.Secrets != "arguments"})
}
