package adversity

import (
	"sync"
	"testing"
	"time"
)

// asks asks the client in each call; if it is to hold, not before a second call is open.
func asks(s *server) {
	s.tool = func(c *call) {
		if c.Params.Arguments.Do == "hold" {
			for end := time.Now().Add(short); c.open.Load() < 2 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
		}
		if c.Params.Arguments.Do == "withdraw" {
			c.request(c.name(0))
			select {
			case <-time.After(short / 2):
			case <-c.ctx.Done():
			}
			c.withdraw(c.name(0))
			c.respond("")
			return
		}
		if more, err := c.ask(); err == nil {
			c.respond(more)
		}
	}
}

// Over one channel for everything, nobody knows to which of two clients' calls
// a request of the server belongs: it is refused, and from then on calls that may
// ask run one after the other.
func TestServerAsksWithoutAnAssociation(t *testing.T) {
	scenario{script: "asks", on: func(c cell) bool { return isLegacy(c) && c.transport != web }, do: func(t *testing.T, c *crowd) {
		var calls sync.WaitGroup
		for n := range 5 { // of one client: they are all its own
			calls.Go(func() { c.clients[1].call("ask", n, "").wasAsked() })
		}
		calls.Wait()
		for number := range 2 {
			calls.Go(func() { c.clients[number].call("ask", 10, "hold").right() })
		}
		calls.Wait()
		c.everybody(func(c *client) {
			for n := range 3 {
				c.call("ask", 20+n, "").wasAsked()
			}
		})
	}}.run(t)
}

// A client that goes away between two rounds of a call holds up nobody once the
// call is over.
func TestClientAbandonsACallThatAskedIt(t *testing.T) {
	elicits := func(c cell) bool { return isLegacy(c) && c.revision >= "2025-06-18" && c.transport != web }
	scenario{script: "asks", on: elicits, do: func(_ *testing.T, c *crowd) {
		var calls sync.WaitGroup
		for number := range 2 { // from now on one call after the other
			calls.Go(func() { c.clients[number].call("ask", 1, "hold").right() })
		}
		calls.Wait()
		gone := c.clients[2] // a modern one
		gone.ignores.Store(true)
		gone.within(short/4, "ask", 2, "withdraw").timedOut()
		gone.ignores.Store(false)
		c.everybody(func(c *client) { c.call("ask", 3, "").wasAsked() })
	}}.run(t)
}

func TestServerAsksInTheMiddleOfCallsThatItNames(t *testing.T) {
	named := func(c cell) bool { return c.transport != process && (isModern(c) || c.transport == web) }
	scenario{script: "asks", on: named, do: func(_ *testing.T, c *crowd) {
		c.everybody(func(c *client) {
			for n := range 3 {
				c.call("ask", n, "").wasAsked()
			}
		})
	}}.run(t)
}
