package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

// addServer adds a server that is connected to, and again when the connection was lost:
// each is behind a gateway of its own, so that one that fails costs the others
// nothing. Its command is what the host knows it by; own is whether it has its name from
// the person.
func (t *chatSetup) addServer(name string, command []string, own bool, resolve func(context.Context) (target, error)) error {
	// What a server asks outside of calls, the host is asked at once: some want the roots before they list their tools.
	g := gateway.New(gateway.Options{Name: name, NoPrefix: true, Transparent: true, OneClient: true, Logger: t.app.logger()})
	t.gateways = append(t.gateways, g)
	kept := new(stderrTail)
	err := g.Add(name, gateway.Upstream{Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		target, err := resolve(ctx)
		if err != nil {
			return nil, err
		}
		o := t.app.options(target)
		o.Bridge, o.OneClient = true, &mcp.Meta{Client: &o.Info, Capabilities: host.Capabilities()}
		client, err := mcp.DialWith(ctx, kept.of(target.transport), o)
		if err == nil {
			t.learn(ctx, client, target)
		}
		return client, t.app.remedied(target, err)
	}})
	if err != nil {
		return err
	}
	state := func() (string, error) {
		s := g.Status()[0]
		return s.State.String(), s.Err
	}
	t.ownNames[name] = own
	t.options.Servers = append(t.options.Servers, host.Server{
		Name: name, Handler: g, Origin: command, State: state, Stderr: kept.lines, Restart: func() error { return g.Restart(name) },
		Trusted: vouches(t.flags.trust, name, command, true) || vouches(t.rules.trusted, name, command, own),
		Public:  vouches(t.rules.public, name, command, own),
		Local:   isLocal(command),
	})
	return nil
}

// isLocal reports whether a server is a program on this machine that runs as the person: no URL,
// and no command that takes its words elsewhere, as one that names a URL, or into a container.
func isLocal(command []string) bool {
	if len(command) == 0 || len(command) == 1 && strings.Contains(command[0], ":") {
		return false
	}
	program := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	elsewhere := []string{"docker", "podman", "nerdctl", "kubectl", "ssh", "wsl", "bwrap", "firejail", "flatpak"}
	return !slices.Contains(elsewhere, program) && !slices.ContainsFunc(command, func(word string) bool { return strings.Contains(word, "://") })
}

// learn remembers what a configured server offers, for other commands. The chat itself
// does not use what is remembered: a server whose definitions changed must be reviewed
// before it is called, not when the first call has started it.
func (t *chatSetup) learn(ctx context.Context, client *mcp.Client, target target) {
	store := t.app.store()
	if target.server == nil || store == nil {
		return
	}
	t.learning.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, learnTime)
		defer cancel()
		t.app.learn(ctx, client, memoryOf(store, target.server, declared(host.Capabilities())), "", nil)
	})
}

// learned waits, for a moment, until what servers offer is remembered.
func (t *chatSetup) learned() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.learning.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(time.Second):
	}
}
