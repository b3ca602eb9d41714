package cli

import (
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/place"
)

// Pins are the definitions that this person approved.
func Pins(p place.Place) (*guard.Pins, error) { return Kept(p, "pins.json", guard.Load) }

// Kept opens a file of those in which junction keeps what it learned.
func Kept[T any](p place.Place, name string, open func(path string) (T, error)) (opened T, err error) {
	path, err := p.State(name)
	if err != nil {
		return opened, err
	}
	return open(path)
}
