package gateway

import (
	"sync"
	"sync/atomic"
)

// calls counts running requests.
type calls struct {
	n       atomic.Int64
	leaving atomic.Bool // set while a goroutine waits for the count to be zero
	once    sync.Once
	none    chan struct{} // closed at zero, if a goroutine waits for it
}

func (c *calls) begin() { c.n.Add(1) }

func (c *calls) end() {
	if c.n.Add(-1) == 0 && c.leaving.Load() {
		c.once.Do(func() { close(c.none) })
	}
}

// drained returns a channel that is closed as soon as no request runs.
func (c *calls) drained() <-chan struct{} {
	c.leaving.Store(true)
	if c.n.Load() == 0 {
		c.once.Do(func() { close(c.none) })
	}
	return c.none
}
