//go:build !linux || !(amd64 || arm64)

package watch

import (
	"context"
	"errors"
	"os"
)

// Install is supported on Linux for amd64 and arm64 only.
func Install(Scope) (listener int, err error) { return -1, errors.ErrUnsupported }

// A Watcher watches nothing on this system.
type Watcher struct{ listener *os.File }

// New is supported on Linux for amd64 and arm64 only.
func New(listener *os.File, _ Options) *Watcher { return &Watcher{listener} }

// Missed returns 0.
func (w *Watcher) Missed() uint64 { return 0 }

// Run is supported on Linux for amd64 and arm64 only.
func (w *Watcher) Run(context.Context) error {
	w.listener.Close()
	return errors.ErrUnsupported
}
