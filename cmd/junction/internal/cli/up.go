package cli

import (
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/definitions"
)

// memoryKey is what the definitions that are remembered of a server depend on. client
// is what the one client declared; empty where there may be several.
func memoryKey(s *config.Server, client string) definitions.Origin {
	return definitions.Origin{Command: s.Command, Args: s.Args, Dir: s.Dir, Env: s.Env, Unset: s.Unset, URL: s.URL, Headers: s.Headers, Client: client}
}
