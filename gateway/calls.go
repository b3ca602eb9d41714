package gateway

import (
	"sync"
	"sync/atomic"
)

// calls counts what runs.
type calls struct {
	n       atomic.Int64
	leaving atomic.Bool // somebody waits until there is none
	once    sync.Once
	none    chan struct{} // closed when there is none, while somebody waits for that
}

func (c *calls) begin() { c.n.Add(1) }

func (c *calls) end() {
	if c.n.Add(-1) == 0 && c.leaving.Load() {
		c.once.Do(func() { close(c.none) })
	}
}

// drained is closed as soon as nothing runs.
func (c *calls) drained() <-chan struct{} {
	c.leaving.Store(true)
	if c.n.Load() == 0 {
		c.once.Do(func() { close(c.none) })
	}
	return c.none
}
