package chat

import (
	"context"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
)

// gatewayToUse returns the URL of the gateway for --up. It is the given URL, or the URL of the
// gateway that this user runs. If there is none, it is the default address, where the gateway of
// another user may listen.
func gatewayToUse(ctx context.Context, p place.Place, url string) (string, error) {
	if url != up.AnyURL {
		return url, nil
	}
	all, err := cli.Instances(ctx, p)
	if err != nil {
		return "", err
	}
	var running []string
	for _, i := range all {
		if launch.At(i.Endpoint) != nil {
			running = append(running, i.Endpoint)
		}
	}
	switch len(running) {
	case 0:
		return "http://" + up.DefaultAddress + launch.EndpointPath, nil
	case 1:
		return running[0], nil
	}
	return "", cli.Usagef("--up: several junction up are running, at %s; choose one, as in --up=%s", strings.Join(running, ", "), running[0])
}

// addGateway adds a running junction up as a server.
func (t *Setup) addGateway(ctx context.Context, url string) error {
	at, err := gatewayToUse(ctx, t.App.Place, url)
	if err != nil {
		return err
	}
	if launch.At(at) == nil {
		return cli.Usagef("--up: expected a URL such as http://%s%s, got %q", up.DefaultAddress, launch.EndpointPath, at)
	}
	target, err := reach.ServerTarget(ctx, t.App, at)
	if err != nil {
		return err
	}
	if err := t.addServer("junction", []string{at}, false, always(target)); err != nil {
		return err
	}
	t.Options.Servers[len(t.Options.Servers)-1].Prefixed = true
	return nil
}
