//go:build !linux || !(amd64 || arm64)

package watch

import (
	"context"
	"errors"
	"os"
)

// Install is for Linux on amd64 and arm64.
func Install(Scope) (listener int, err error) { return -1, errors.ErrUnsupported }

// A Watcher watches nothing here.
type Watcher struct{ listener *os.File }

// New is for Linux on amd64 and arm64.
func New(listener *os.File, _ Options) *Watcher { return &Watcher{listener} }

// Missed is 0.
func (w *Watcher) Missed() uint64 { return 0 }

// Run is for Linux on amd64 and arm64.
func (w *Watcher) Run(context.Context) error {
	w.listener.Close()
	return errors.ErrUnsupported
}
