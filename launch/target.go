package launch

import (
	"cmp"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/mcp"
)

// A Target is a server that can be connected to.
type Target struct {
	Name         string // empty: the transport's own
	Origin       string // where it is defined; empty where the command line gives it
	Transport    mcp.Transport
	By           *Transport    // nil: it is in this process, or another junction has it
	Timeout      time.Duration // 0: the default
	StartTimeout time.Duration // 0: the default
	Revision     string        // to speak with it; empty: which it knows
	// Server is what a configuration says of it; nil where none does.
	Server      *config.Server
	IsInstalled bool                  // the program that is started is that of junction.lock, and not that of Server
	Locked      *install.LockedServer // nil: nothing is locked of it
	Through     string                // the junction up that has it; empty: this process connects to it
}

// Title returns the name by which a user knows the server.
func (t *Target) Title() string { return cmp.Or(t.Name, t.Transport.String()) }

// IsProgram reports whether the server is started.
func (t *Target) IsProgram() bool { return t.By != nil && t.By.IsProgram }

// IsWeb reports whether the server is reached over HTTP, with headers, at an address of its own.
func (t *Target) IsWeb() bool { return t.By != nil && t.By.IsWeb }
