package up

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
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
}

// newShared returns the holder of a sharing, or nil without a key.
func newShared(s sharing) *shared {
	if len(s.keys) == 0 {
		return nil
	}
	h := &shared{peers: NewPeers(s.peers)}
	h.now.Store(&s)
	return h
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
// Nothing is shared on standard input and output.
func (o *Options) sharing(ctx context.Context, a *cli.App, s *settings.Settings, from string) (sharing, error) {
	if o.Stdio {
		return sharing{}, nil
	}
	shares := sharing{peers: s.Peers}
	for i, text := range s.StateKeys {
		if kind, name := settings.Reference(text); kind != "" {
			var err error
			if text, err = reach.Referenced(ctx, a, kind, name, from); err != nil {
				return sharing{}, fmt.Errorf("%s: junction.stateKeys[%d]: %w", a.Short(from), i, err)
			}
		} else {
			a.Launch.Hide(text)
		}
		shares.keys = append(shares.keys, []byte(text))
	}
	if err := settings.CheckStateKeys(shares.keys); err != nil {
		return sharing{}, fmt.Errorf("%s: junction.%w", a.Short(from), err)
	}
	return shares, nil
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
