package layer

import (
	"github.com/junction-mcp/junction/mcp"
)

// record returns middleware that records the requests of clients.
func record(s *Stack, _ *Plan, part Part) mcp.Middleware {
	if s.Recorder == nil {
		return nil
	}
	switch {
	case part.Server != "":
		return s.Recorder.Middleware("server " + part.Server)
	case part.Profile != "":
		return s.Recorder.Middleware("profile " + part.Profile)
	}
	return s.Recorder.Middleware("junction")
}
