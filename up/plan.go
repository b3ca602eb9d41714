package up

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// A Plan describes the servers of a Gateway and their settings. It must not change after it was
// passed to a Gateway.
type Plan struct {
	// Settings is the object junction in a file of servers; see [settings.Parse]. Nil means no
	// settings.
	Settings *settings.Settings
	// Layers, if not nil, is a result of [layer.Stack.Read]. It replaces Settings.
	Layers *layer.Plan
	// Servers lists the servers in their order. If two servers have the same name for a tool, the
	// earlier server keeps it.
	Servers []Server
	// Order, if not nil, lists names of servers in the order to use instead. Servers that it does
	// not name follow.
	Order []string
	// Admit, if not nil, returns servers to use after those of Servers. It is called once the
	// settings are in use, and may ask a user which servers to start.
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

// admit appends the result of Admit to Servers, if Admit is not nil.
func (p *Plan) admit(ctx context.Context) {
	if p.Admit != nil {
		p.Servers, p.Admit = slices.Concat(p.Servers, p.Admit(ctx)), nil
	}
}

// A Server is one server of a Plan.
type Server struct {
	layer.Server
	// Open returns the Upstream of the server. It is called whenever the server is added or
	// replaced. The Gateway sets the settings in the result. It calls OnEnd of the result even if
	// it could not add the server.
	Open func(ctx context.Context) (gateway.Upstream, error)
	// Middleware wraps the server inside all layers; the first is the outermost. It replaces the
	// Middleware of the Upstream. A change takes effect when the server or its settings change.
	Middleware []mcp.Middleware
	// PerUser makes a connection for each user, regardless of the settings.
	PerUser bool
	// Print identifies the inputs that the server is made from. [Gateway.Apply] replaces a server
	// if its Print changed, or if settings changed that need a restart. Without a Print, it
	// replaces only a server of [InProcess] whose Handler changed. Changes of [layer.Server], and of
	// settings that need no restart, take effect at once.
	Print string

	handler any // identifies the Handler of a server that InProcess made; otherwise nil
}

// InProcess returns a server that is a Handler in this program. [Gateway.Apply] compares Handlers
// with ==. One that cannot be compared, such as an [mcp.HandlerFunc], counts as changed if the
// plans have results of different calls of InProcess. InProcess panics if h is nil.
func InProcess(name string, h mcp.Handler) Server {
	if h == nil {
		panic(fmt.Sprintf("up: InProcess: the handler h of server %q is nil", name))
	}
	s := Server{Server: layer.Server{Name: name}, Open: func(context.Context) (gateway.Upstream, error) { return gateway.Upstream{Handler: h}, nil }}
	if s.handler = h; !reflect.ValueOf(h).Comparable() {
		s.handler = &s.Open
	}
	return s
}

// setOptions sets the settings about instances and names of a server in u. The owners are nil for a
// server that each replica runs.
func (s Server) setOptions(u *gateway.Upstream, own settings.Server, owners gateway.Owners) {
	if own.Prefix != nil {
		u.Prefix, u.NoPrefix = *own.Prefix, *own.Prefix == ""
	}
	if isolation, set := map[string]gateway.Isolation{"user": gateway.PerUser, "client": gateway.PerClient}[own.Isolation]; set {
		u.Isolation = isolation
	}
	if s.PerUser {
		u.Isolation = gateway.PerUser
	}
	if u.Owners = owners; owners != nil && u.Isolation == gateway.Shared {
		u.Isolation = gateway.One
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

// A Diff lists the changes that [Gateway.Start] or [Gateway.Apply] made.
type Diff struct {
	Added, Changed, Removed []string // names of servers
	Rules, Settings         bool     // reports whether these changed
	Waits                   bool     // set if [Gateway.Start] has yet to add the servers
	Failed                  []error  // errors of servers that could not be added or changed; these are not served
}

// Err returns the errors of Failed as one, or nil. The other servers are served.
func (d Diff) Err() error { return errors.Join(d.Failed...) }
