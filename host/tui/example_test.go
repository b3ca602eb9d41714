package tui_test

import (
	"context"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/model/offline"
)

// A person at a terminal, a host, and the session between them.
func Example() {
	ctx := context.Background()
	ui, err := tui.New(tui.Options{In: strings.NewReader("/quit\n"), Env: []string{"TERM=dumb"}, Greeting: "Welcome."})
	if err != nil {
		panic(err)
	}
	h, err := host.New(host.Options{Model: offline.New(), Person: ui, OnEvent: ui.Event})
	if err != nil {
		panic(err)
	}
	defer h.Close()
	session, err := tui.Attach(ctx, h, nil, "")
	if err != nil {
		panic(err)
	}
	if err := ui.Run(ctx, session); err != nil {
		panic(err)
	}
	// Output:
	// Welcome.
	// >
}
