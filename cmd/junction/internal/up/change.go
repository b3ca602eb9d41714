package up

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway"
	uplib "github.com/junction-mcp/junction/up"
	"github.com/junction-mcp/junction/up/layer"
)

// ServerOf returns a server as the gateway takes it.
func (v *Served) ServerOf(e cli.Entry) uplib.Server {
	s := uplib.Server{Server: layer.Server{Name: e.Name, Source: e.Source(), Command: e.Command(), OfProject: e.OfProject()}}
	d := e.Definition
	if d == nil {
		s.Open = func(ctx context.Context) (u gateway.Upstream, err error) {
			u.Handler, err = reach.Within(ctx, v.App, e.Name, reach.Shipping{})
			return u, err
		}
		return s
	}
	s.Locked = func() map[string]string {
		locked, err := v.App.Launch.Locked(d)
		if err != nil || locked == nil || reach.AgreedLock(v.App, e, locked) != nil { // nothing is started then, nor listed
			return nil
		}
		return locked.Definitions
	}
	s.PerUser = d.Grant() == config.GrantExchange
	s.Open = func(ctx context.Context) (gateway.Upstream, error) {
		x, err := v.exchange(e)
		if err != nil {
			return gateway.Upstream{}, err
		}
		u := UpstreamOf(ctx, v.App, e, v.store, *v.client.Load(), x)
		v.Exchanges.Add(x)
		u.OnEnd = func() { v.Exchanges.remove(x) } // what goes on being used is kept
		return u, nil
	}
	text, _ := json.Marshal(d.Entry)                                                                // texts and numbers always encode
	s.Print = fmt.Sprintf("%s %s %s %s %s", text, d.Source, d.Hash(), d, reach.LockPrint(v.App, d)) // the members that are secret are in the hash
	return s
}
