package up

import (
	"context"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// A Plan is what a Gateway serves. It is not to be changed once a Gateway has it.
type Plan struct {
	// Settings are those of the object junction in a file of servers; see [settings.Parse]. By default nothing is set.
	Settings *settings.Settings
	// Layers, if not nil, are what [layer.Stack.Read] made of Settings, and replace them.
	Layers *layer.Plan
	// Servers are served in this order: where two give the same name, the earlier one has it.
	Servers []Server
	// Order, if not nil, has names in another order, which counts in place of that of Servers.
	Order []string
	// Admit, if not nil, returns the servers, in place of Servers, once the settings hold: for asking a user which ones may start.
	Admit func(ctx context.Context) []Server
}

func (p *Plan) settings() *settings.Settings {
	switch {
	case p.Layers != nil:
		return p.Layers.Settings
	case p.Settings == nil:
		return new(settings.Settings)
	}
	return p.Settings
}

// admit has Admit say which servers there are.
func (p *Plan) admit(ctx context.Context) {
	if p.Admit != nil {
		p.Servers, p.Admit = p.Admit(ctx), nil
	}
}

// A Server is one server of a Plan.
type Server struct {
	layer.Server
	// Open returns how the server is reached. It is called each time that the server is added or replaced. The Gateway sets in the
	// result what settings say, and calls OnEnd also where the server could not be added.
	Open func(ctx context.Context) (gateway.Upstream, error)
	// Middleware goes around the server, inside all layers; the first is the outermost. It takes the place of that of the Upstream, and
	// a change of it takes effect when the server or its settings change.
	Middleware []mcp.Middleware
	// PerUser gives each user a connection, whatever the settings say.
	PerUser bool
	// Print identifies what the server is made from. [Gateway.Apply] replaces a server whose Print changed, or for which settings changed
	// that need a restart. One without a Print is not replaced, and those of [layer.Server] and settings that need none hold at once.
	Print string
}

// InProcess returns a server of this program.
func InProcess(name string, h mcp.Handler) Server {
	return Server{Server: layer.Server{Name: name}, Open: func(context.Context) (gateway.Upstream, error) { return gateway.Upstream{Handler: h}, nil }}
}

// hold sets in u how settings hold a server behind the gateway.
func (s Server) hold(u *gateway.Upstream, own settings.Server) {
	if own.Prefix != nil {
		u.Prefix, u.NoPrefix = *own.Prefix, *own.Prefix == ""
	}
	if isolation, set := map[string]gateway.Isolation{"user": gateway.PerUser, "client": gateway.PerClient}[own.Isolation]; set {
		u.Isolation = isolation
	}
	if s.PerUser {
		u.Isolation = gateway.PerUser
	}
	u.MaxInstances, u.IdleTime = own.Instances, own.Idle
	u.Names, u.PromptNames = map[string]string{}, map[string]string{}
	for name, t := range own.Tools {
		u.Names[name] = t.Name
	}
	for name, p := range own.Prompts {
		u.PromptNames[name] = p.Name
	}
}

// A Diff is what [Gateway.Apply] changed.
type Diff struct {
	Added, Changed, Removed []string // servers
	Rules, Settings         bool     // whether these changed
	Waits                   bool     // the servers are added by [Gateway.Start]
	Failed                  []error  // why servers could not be added or changed; these are not served
}
