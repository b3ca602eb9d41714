package main

import (
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/place"
)

// pins are the definitions that this person approved.
func pins(p place.Place) (*guard.Pins, error) { return kept(p, "pins.json", guard.Load) }

// kept opens a file of those in which junction keeps what it learned.
func kept[T any](p place.Place, name string, open func(path string) (T, error)) (opened T, err error) {
	path, err := p.State(name)
	if err != nil {
		return opened, err
	}
	return open(path)
}
