package chat

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
)

// addServer adds a server to the gateway. The gateway connects to it, and connects again after a
// lost connection. command identifies the server to the host. own is set if the user chose the
// name.
func (t *Setup) addServer(name string, command []string, own bool, resolve func(context.Context) (launch.Target, error)) error {
	kept := new(cli.StderrTail)
	var connected atomic.Pointer[config.Server]
	dial := func(ctx context.Context, start *gateway.Start) (*mcp.Client, error) {
		target, err := resolve(ctx)
		if err != nil {
			return nil, err
		}
		o := t.App.Launch.Options(target)
		o.Bridge, o.OneClient, o.LegacyFirst = true, &mcp.Meta{Client: &o.Info, Capabilities: host.Capabilities()}, start.LegacyFirst()
		if t.Options.Middleware != nil {
			o.Middleware = append(o.Middleware, t.Options.Middleware(name))
		}
		connected.Store(target.Server)
		client, err := mcp.DialWith(ctx, kept.Attach(target.Transport, false), o)
		return client, reach.AddRemedy(t.App, target, err)
	}
	err := t.gateway.Add(name, gateway.Upstream{Dial: dial, OnRead: func(d *definitions.Definitions) {
		t.App.Remember(connected.Load(), cli.CapabilitiesKey(host.Capabilities()), d)
	}})
	if err != nil {
		return err
	}
	t.ownNames[name] = own
	t.Options.Servers = append(t.Options.Servers, host.Server{
		Name: name, Origin: command, Stderr: kept.Lines,
		Trusted: policy.Vouches(t.Flags.Trust, name, command, true) || policy.Vouches(t.rules.Trusted, name, command, own),
		Public:  policy.Vouches(t.rules.Public, name, command, own),
		Local:   IsLocal(command),
	})
	return nil
}

// IsLocal reports whether a server is a program that runs on this machine as the user. It returns
// false for URLs, for commands with a URL, and for commands that start containers or remote shells.
func IsLocal(command []string) bool {
	if len(command) == 0 || len(command) == 1 && strings.Contains(command[0], ":") {
		return false
	}
	program := strings.TrimSuffix(filepath.Base(command[0]), ".exe")
	elsewhere := []string{"docker", "podman", "nerdctl", "kubectl", "ssh", "wsl", "bwrap", "firejail", "flatpak"}
	return !slices.Contains(elsewhere, program) && !slices.ContainsFunc(command, func(word string) bool { return strings.Contains(word, "://") })
}
