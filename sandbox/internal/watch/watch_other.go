//go:build !linux || !(amd64 || arm64)

package watch

import (
	"context"
	"errors"
	"os"
)

// Install returns an error, because only Linux on amd64 and arm64 is supported.
func Install(Scope) (listener int, err error) { return -1, errors.ErrUnsupported }

// A Watcher watches nothing on this system.
type Watcher struct{ listener *os.File }

// New returns a Watcher whose Run fails.
func New(listener *os.File, _ Options) *Watcher { return &Watcher{listener} }

// Missed returns 0.
func (w *Watcher) Missed() uint64 { return 0 }

// Run closes the listener and returns an error, because only Linux on amd64 and arm64 is supported.
func (w *Watcher) Run(context.Context) error {
	w.listener.Close()
	return errors.ErrUnsupported
}
