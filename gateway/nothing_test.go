package gateway_test

import (
	"testing"

	"github.com/junction-mcp/junction/gateway"
)

// A server that is neither dialed nor a Handler would end the process when it is first used.
func TestServersWithoutAWayToReachThemAreRefused(t *testing.T) {
	const want = `server "x": it has neither Dial nor a Handler; set one of them`
	g := gateway.New(gateway.Options{})
	defer g.Close()
	for name, err := range map[string]error{"Add": g.Add("x", gateway.Upstream{}), "AddHandler": g.AddHandler("x", nil)} {
		if err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
	must(t, g.AddHandler("x", saying("x", nil)))
	if err := g.Replace("x", gateway.Upstream{}); err == nil || err.Error() != want {
		t.Errorf("Replace: got %v, want %s", err, want)
	}
}
