package up

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/authserver"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/state"
	"github.com/prometheus/client_golang/prometheus"
)

// A sharing is what settings say about other replicas.
type sharing struct {
	keys  [][]byte // of state; without one nothing is shared
	peers []string // origins, and names of origins
}

// A shared holds the present sharing. A nil shared stands for none. It is safe for concurrent use.
type shared struct {
	now   atomic.Pointer[sharing]
	peers *Peers
	seals *seal.Ring // of the present keys

	certificate atomic.Pointer[Certificate] // of this replica; nil without TLS
}

// newShared returns the holder of a sharing, or nil without a key.
func newShared(s sharing) *shared {
	if len(s.keys) == 0 {
		return nil
	}
	h := &shared{peers: NewPeers(s.peers)}
	h.now.Store(&s)
	h.seals, _ = seal.NewRingFrom(h.keys) // the keys have been checked
	return h
}

// ring returns the ring of the present keys, or nil without one.
func (h *shared) ring() *seal.Ring {
	if h == nil {
		return nil
	}
	return h.seals
}

func (h *shared) keys() [][]byte { return h.now.Load().keys }

// peersAt returns a function that returns the URLs of an endpoint at the peers.
func (h *shared) peersAt(path string) func() []string {
	return func() (urls []string) {
		for _, origin := range h.peers.Origins() {
			urls = append(urls, origin+path)
		}
		return urls
	}
}

// replace puts another sharing into use. One with keys where none were, and one without where some
// were, wait for a restart.
func (h *shared) replace(s sharing) {
	if h != nil && len(s.keys) > 0 {
		h.now.Store(&s)
		h.peers.Set(s.peers)
	}
}

// follow looks up the names of peers until stop is called. l is the listener of this replica.
func (h *shared) follow(ctx context.Context, l net.Listener, log *slog.Logger) (stop func(), err error) {
	if h == nil {
		return func() {}, nil
	}
	if h.peers.Own, err = ownAddresses(l); err != nil {
		return nil, err
	}
	if e, is := l.(*Encrypted); is {
		h.certificate.Store(e.Certificate)
	}
	h.peers.Log = log
	return h.peers.Follow(ctx), nil
}

// notReady returns the reason why clients should not yet connect, or "".
func (h *shared) notReady() string {
	if h == nil {
		return ""
	}
	return h.peers.NotReady()
}

// sharing reads the state keys of settings from their places. from is the file of the settings.
// Sessions are not shared on standard input and output.
func (o *Options) sharing(ctx context.Context, a *cli.App, s *settings.Settings, from string) (sharing, error) {
	if o.Stdio && s.StoreURL() == "" {
		return sharing{}, nil
	}
	keys, err := reach.StateKeys(ctx, a, s, from)
	return sharing{keys, s.Peers}, err
}

// openTasks returns the function that opens the store of tasks: a file, or the shared store in use.
func openTasks(a *cli.App) func(ctx context.Context, path string) (state.Store, error) {
	if g := a.Launch.Shared(); g != nil {
		return func(context.Context, string) (state.Store, error) { return g, nil }
	}
	return a.Launch.OpenState
}

// openEvents makes the log of events in the shared store until stop is called. It does nothing
// without a store.
func (v *Served) openEvents() (stop func(), err error) {
	g := v.App.Launch.Shared()
	if g == nil {
		return func() {}, nil
	}
	events, err := streamable.NewEventLog(g, v.App.Launch.SharedSecret("events of sessions"), v.App.Logger())
	if err != nil {
		return nil, err
	}
	v.Options.Front.events = events
	return events.Close, nil
}

// follow notices the changes of other replicas in the shared store until stop is called.
func (v *Served) follow(ctx context.Context) (stop func()) {
	g := v.App.Launch.Shared()
	if g == nil {
		return func() {}
	}
	g.Follow("the key of the store", v.sealShared)
	g.FollowChanges(guard.SharedPins, func(context.Context) error { return v.usePins() }) // all servers are asked for their definitions
	for _, subject := range []string{authserver.SharedLogins, authserver.SharedUsers} {   // after the users themselves were read
		g.FollowChanges(subject, func(context.Context) error { // guards check each token again within seconds anyway
			v.access.forgetTokens()
			return nil
		})
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { g.Run(ctx) })
	following.Go(func() { v.shares.Run(ctx) })
	return func() { cancel(); following.Wait() }
}

// sealShared seals the key of the shared store with the first of the present state keys. It does
// nothing without a store.
func (v *Served) sealShared(ctx context.Context) error {
	g := v.App.Launch.Shared()
	if g == nil {
		return nil
	}
	_, err := launch.SealShared(ctx, g, v.Options.shared.keys())
	return err
}

// countShared registers metrics of the shared store. It does nothing without one.
func (v *Served) countShared(registry prometheus.Registerer) error {
	g := v.App.Launch.Shared()
	if g == nil {
		return nil
	}
	return errors.Join(
		registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "junction_shared_state_up", Help: "1 if the store of state.url could be reached at the last check, else 0."}, func() float64 {
			if g.Away() != nil {
				return 0
			}
			return 1
		})),
		registry.Register(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "junction_limits_alone_total", Help: "Requests that this replica counted alone in a limit, because the shared state was away."}, func() float64 { return float64(v.shares.Alone()) })),
		registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "junction_replicas", Help: "Replicas with the same shared state."}, func() float64 { return float64(g.Count()) })))
}

// keyFiles returns the files with state keys.
func keyFiles(s *settings.Settings, from string) (files []string) {
	for _, text := range s.StateKeys {
		if kind, name := settings.Reference(text); kind == "file" {
			files = append(files, reach.NextTo(from, name))
		}
	}
	return files
}
