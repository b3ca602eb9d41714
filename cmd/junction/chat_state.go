package main

import (
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/filename"
)

// pins are the definitions that this person approved.
func pins() (*guard.Pins, error) { return kept("pins.json", guard.Load) }

// kept opens a file of those in which junction keeps what it learned.
func kept[T any](name string, open func(path string) (T, error)) (opened T, err error) {
	path, err := filename.State(name)
	if err != nil {
		return opened, err
	}
	return open(path)
}
