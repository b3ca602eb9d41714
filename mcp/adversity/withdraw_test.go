package adversity

import (
	"sync"
	"testing"
	"time"
)

// withdraws takes its requests to the client back just as the client of a bridge
// comes with the response.
func withdraws(s *server) {
	const asked = 12
	s.tool = func(c *call) {
		if c.revision == modern {
			if more, err := c.ask(); err == nil {
				c.respond(more)
			}
			return
		}
		for i := range asked {
			c.request(c.name(i))
		}
		late := 20 * time.Millisecond // by then a bridge has asked its client to come back
		if c.Params.Arguments.Call%2 == 0 {
			late += time.Duration(c.Params.Arguments.Client) * 300 * time.Microsecond
		}
		select {
		case <-time.After(late):
		case <-c.ctx.Done():
		}
		for i := range asked {
			c.withdraw(c.name(i))
		}
		c.respond("")
	}
}

func TestServerWithdrawsItsRequestJustAsTheResponseComes(t *testing.T) {
	scenario{script: "withdraws", do: func(_ *testing.T, c *crowd) {
		for _, number := range []int{0, 1} { // many calls of one client, which are all its own
			var calls sync.WaitGroup
			for n := range 24 {
				calls.Go(func() { c.clients[number].call("ask", 10+n, "").right() })
			}
			calls.Wait()
		}
		c.everybody(func(c *client) {
			for n := range 3 {
				c.call("ask", n, "").right()
			}
		})
	}}.run(t)
}

// respondsLate answers only after the client gave the call up.
func respondsLate(s *server) {
	s.tool = func(c *call) {
		if c.Params.Arguments.Do == "wait" {
			<-c.ctx.Done()
		}
		c.respond("")
	}
}

func TestServerRespondsAfterBeingCancelled(t *testing.T) {
	scenario{script: "responds late", do: func(t *testing.T, c *crowd) {
		c.everybody(func(c *client) {
			c.within(300*time.Millisecond, "plain", 1, "wait").timedOut()
			c.call("plain", 2, "").right()
			c.within(300*time.Millisecond, "plain", 3, "wait").timedOut()
			c.call("plain", 4, "").right()
		})
		eventually(t, "the server heard that its calls were given up", func() bool { return c.place.server.open.Load() == 0 })
	}}.run(t)
}
