package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/guard"
)

// pins are the definitions that this person approved.
func pins() (*guard.Pins, error) { return kept("pins.json", guard.Load) }

// kept opens a file of those in which junction keeps what it learned.
func kept[T any](name string, open func(path string) (T, error)) (opened T, err error) {
	path, err := stateFile(name)
	if err != nil {
		return opened, err
	}
	return open(path)
}

// stateFile is a file in which junction keeps what it learned: in the folder that
// JUNCTION_STATE names, or in junction's own below the person's configuration.
func stateFile(name string) (string, error) {
	folder := os.Getenv("JUNCTION_STATE")
	if folder == "" {
		config, err := os.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("your configuration folder is not known, name another with JUNCTION_STATE: %w", err)
		}
		folder = filepath.Join(config, "junction")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("the folder of conversations and approvals cannot be made, name another with JUNCTION_STATE: %w", err)
	}
	return filepath.Join(folder, name), nil
}
