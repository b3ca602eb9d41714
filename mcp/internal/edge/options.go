package edge

import (
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/mcp"
)

// Serving returns an Edge for a stream transport, with the options of a program.
func Serving(h mcp.Handler, o mcp.ServeOptions) (*Edge, error) {
	return ServingOver(h, o, mcp.TransportStream)
}

// ServingOver is like [Serving], for another kind of transport; see [mcp.WireMessage].
func ServingOver(h mcp.Handler, o mcp.ServeOptions, transport string) (*Edge, error) {
	ring, err := seal.NewRing(o.StateKeys...)
	if o.StateKeysFrom != nil {
		ring, err = seal.NewRingFrom(o.StateKeysFrom)
	}
	if err != nil {
		return nil, err
	}
	return New(h, Options{InFlight: o.MaxInFlight, AskTime: o.AskTimeout, StateTime: o.StateTimeout, Middleware: o.Middleware, Seal: ring, Wire: o.Wire, Transport: transport, Logger: o.Logger})
}
