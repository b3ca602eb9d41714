package upstream

// maxWaitingWorkers is the maximum number of idle goroutines that wait for another request.
const maxWaitingWorkers = 16

// inWorker runs f in a goroutine of the connection. It prefers an idle goroutine, whose stack is
// large already, as growing a new stack costs more than the rest of an exchange. It reports false
// if the connection is closed.
func (c *conn) inWorker(f func()) bool {
	select {
	case c.work <- f:
		return true
	default:
	}
	return c.spawn(func() {
		for {
			f()
			f = nil // f refers to a call and its client
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
