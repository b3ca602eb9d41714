package upstream

// maxWaitingWorkers bounds the goroutines that wait for another request to send.
const maxWaitingWorkers = 16

// inWorker runs f in a goroutine of the connection, and in one that waits for more work if
// there is one, as its stack has grown already: growing it again costs more than the rest of
// an exchange does here.
func (c *conn) inWorker(f func()) bool {
	select {
	case c.work <- f:
		return true
	default:
	}
	return c.spawn(func() {
		for {
			f()
			f = nil // which holds a call, and its client
			if c.waiting.Add(1) > maxWaitingWorkers {
				c.waiting.Add(-1)
				return
			}
			select {
			case f = <-c.work:
				c.waiting.Add(-1)
			case <-c.ctx.Done():
				return
			}
		}
	})
}
