package up

import (
	"context"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// A Plan describes what a Gateway serves. It must not change after a Gateway has it.
type Plan struct {
	// Settings is the object junction of a file of servers; see [settings.Parse]. Nil means that
	// nothing is set.
	Settings *settings.Settings
	// Layers, if not nil, is the result of [layer.Stack.Read], and replaces Settings.
	Layers *layer.Plan
	// Servers are served in this order. If two have the same name for a tool, the earlier server
	// gets it.
	Servers []Server
	// Order, if not nil, lists names in another order, which replaces that of Servers.
	Order []string
	// Admit, if not nil, returns the servers in place of Servers. It is called once the settings
	// are in use, and can ask a user which servers may start.
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
	// Open returns how the server is reached. It is called whenever the server is added or
	// replaced. The Gateway sets the settings in the result, and calls OnEnd even if the server
	// could not be added.
	Open func(ctx context.Context) (gateway.Upstream, error)
	// Middleware wraps the server inside all layers; the first is the outermost. It replaces that
	// of the Upstream. A change takes effect when the server or its settings change.
	Middleware []mcp.Middleware
	// PerUser gives each user a connection, regardless of the settings.
	PerUser bool
	// Print identifies the inputs that the server is made from. [Gateway.Apply] replaces a server
	// whose Print changed, or whose changed settings need a restart. It does not replace a server
	// without a Print. Changes of [layer.Server], and settings that need no restart, take effect at
	// once.
	Print string
}

// InProcess returns a server that runs in this program.
func InProcess(name string, h mcp.Handler) Server {
	return Server{Server: layer.Server{Name: name}, Open: func(context.Context) (gateway.Upstream, error) { return gateway.Upstream{Handler: h}, nil }}
}

// hold sets in u the settings about the instances and names of a server.
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

// A Diff lists the changes of [Gateway.Apply].
type Diff struct {
	Added, Changed, Removed []string // names of servers
	Rules, Settings         bool     // report whether these changed
	Waits                   bool     // is set if [Gateway.Start] has yet to add the servers
	Failed                  []error  // the errors of servers that could not be added or changed; these are not served
}
