package up

import (
	"context"
	"encoding/json"
	"fmt"
	"net"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
)

// A Source makes a [Plan] from the files of a configuration. All fields but Launcher are optional.
type Source struct {
	Launcher *launch.Launcher
	// Settings, if not nil, replaces the settings in the files.
	Settings *settings.Settings
	// Listener, if not nil, is the listener of the gateway. Entries whose URL leads to it are
	// omitted.
	Listener net.Listener
	// Admit, if not nil, returns the entries to serve. It replaces [launch.Launcher.Admit].
	Admit func(ctx context.Context, entries []launch.Entry) []launch.Entry
	// Open, if not nil, connects to a configured server. It replaces [Source.Upstream] with
	// [launch.Launcher.Target]. The grant token-exchange requires it.
	Open func(ctx context.Context, e launch.Entry) (gateway.Upstream, error)
	// Version, if not nil, returns a text for a configured server. The server is replaced if the text
	// changes, although its entry stays the same.
	Version func(e launch.Entry) string
	// Memory, if not nil, returns the remembered definitions of a resolved server.
	Memory func(e launch.Entry, s *config.Server) *definitions.Entry
}

// Plan returns the plan for a configuration from [launch.Launcher.Read]. Users are asked about its
// servers when the plan is put into use. Servers that the caller appends to the plan are served
// without a question, under the settings for their names.
func (s Source) Plan(c launch.Configuration) (*Plan, error) {
	p := &Plan{Settings: s.Settings, Order: c.Names}
	if p.Settings == nil {
		var err error
		if p.Settings, _, err = s.Launcher.Settings(c.Set); err != nil {
			return nil, err
		}
	}
	if err := s.Launcher.EnterChain(c); err != nil {
		return nil, err
	}
	if len(p.Order) == 0 {
		p.Order = launch.ConfiguredNames(c.Set, c.Entries)
	}
	p.Admit = func(ctx context.Context) (all []Server) {
		entries := s.Launcher.WithoutSelf(ctx, c.Entries, s.Listener)
		if s.Admit != nil {
			entries = s.Admit(ctx, entries)
		} else {
			entries, _ = s.Launcher.Admit(ctx, entries, len(c.Names) > 0)
		}
		for _, e := range entries {
			all = append(all, s.Server(e))
		}
		return all
	}
	return p, nil
}

// Server returns the [Server] for an entry of a configuration.
func (s Source) Server(e launch.Entry) Server {
	one, d, l := Server{Server: layer.Server{Name: e.Name, Source: e.Source(), Command: e.Command(), OfProject: e.OfProject()}}, e.Definition, s.Launcher
	if d == nil {
		one.Open = func(ctx context.Context) (u gateway.Upstream, err error) {
			u.Handler, err = l.Handler(ctx, e.Name)
			return u, err
		}
		return one
	}
	one.Locked = func() map[string]string {
		locked, err := l.Locked(d)
		if err != nil || locked == nil || l.CheckLock(e, locked) != nil { // the server is then neither started nor listed
			return nil
		}
		return locked.Definitions
	}
	exchanges := d.Grant() == config.GrantExchange
	one.PerUser = exchanges || d.UserHeader != ""
	one.Open = func(ctx context.Context) (gateway.Upstream, error) {
		switch {
		case s.Open != nil:
			return s.Open(ctx, e)
		case exchanges: // with one token for all users, each would act with the rights of the gateway
			return gateway.Upstream{}, fmt.Errorf("server %q: oauth.grant token-exchange needs Source.Open, which exchanges the token of each user", e.Name)
		}
		return s.Upstream(ctx, e, func(ctx context.Context, start *gateway.Start) (launch.Target, error) { return s.Target(ctx, e, start) }), nil
	}
	text, _ := json.Marshal(d.Entry)                                                             // encoding texts and numbers never fails
	one.Print = fmt.Sprintf("%s %s %s %s %s", text, d.Source, d.Hash(), d, l.LockFingerprint(d)) // the hash covers the secret members
	if s.Version != nil {
		if version := s.Version(e); version != "" {
			one.Print += " " + version
		}
	}
	return one
}

// Upstream returns the Upstream of a configured server. It calls target for each connection, as
// variables may have other values by then.
func (s Source) Upstream(ctx context.Context, e launch.Entry, target func(context.Context, *gateway.Start) (launch.Target, error)) gateway.Upstream {
	d, l := e.Definition, s.Launcher
	u := gateway.Upstream{Eager: d.Eager}
	if d.UserHeader != "" {
		u.Whose = userOf
	}
	if resolved, err := d.Resolve(ctx); err == nil {
		u.Program = launch.IsProgram(resolved.Kind) && (l.IsLocked(d) || launch.Startable(l.Place, resolved))
		if s.Memory != nil {
			u.Memory = s.Memory(e, resolved)
		}
	}
	u.Dial = func(ctx context.Context, start *gateway.Start) (*mcp.Client, error) {
		t, err := target(ctx, start)
		if err != nil {
			return nil, err
		}
		o := l.Options(t)
		o.Bridge, o.OneClient, o.LegacyFirst = true, start.Client(), start.LegacyFirst()
		c, err := launch.Dial(ctx, t.Transport, o, start, d.StartTimeout, u.Memory != nil && u.Memory.Load() != nil)
		if err == nil && t.Connected != nil {
			t.Connected()
		}
		return c, err
	}
	return u
}
