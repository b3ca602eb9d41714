package clitest

import (
	"log/slog"
	"testing"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	uplib "github.com/junction-mcp/junction/up"
	"github.com/junction-mcp/junction/up/layer"
)

// GatewayWith returns a gateway without servers. It closes the gateway when the test ends.
func GatewayWith(t *testing.T, s *settings.Settings) *uplib.Gateway {
	silent := slog.New(slog.DiscardHandler)
	g, err := uplib.New(&uplib.Plan{Settings: s}, uplib.Options{Layers: layer.Options{Place: PlaceOf(t), Logger: silent}, Gateway: gateway.Options{Logger: silent}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}
