package adversity

import "testing"

// cutsChannel ends one direction of a call's channel: standard output while
// standard input is read on, the stream of an HTTP response after its headers, or
// the only stream there is. Or it stops reading, in memory.
func cutsChannel(s *server) {
	s.tool = func(c *call) {
		switch c.Params.Arguments.Do {
		case "cut":
			c.cut()
			<-c.ctx.Done()
		case "stop reading":
			c.deafen()
			c.respond("")
		default:
			c.respond("")
		}
	}
}

func TestServerCutsTheChannelOfItsResponses(t *testing.T) {
	scenario{script: "cuts a channel", on: anywhere, gateway: true, do: func(_ *testing.T, c *crowd) {
		c.everybody(func(c *client) { c.call("plain", 1, "").right() })
		c.everybody(func(c *client) {
			if c.number == 3 {
				c.call("plain", 2, "cut").lost()
			} else {
				c.call("plain", 2, "").rightOrClear()
			}
		})
		c.everybody(func(c *client) { c.call("plain", 3, "").right() })
	}}.run(t)
}

func TestServerStopsReadingButGoesOnWriting(t *testing.T) {
	inMemory := func(c cell) bool { return c.transport == memory }
	scenario{script: "cuts a channel", on: inMemory, gateway: true, do: func(_ *testing.T, c *crowd) {
		c.clients[3].call("plain", 1, "stop reading").right()
		c.everybody(func(c *client) { c.call("plain", 2, "").rightOrClear() })
		c.everybody(func(c *client) { c.call("plain", 3, "").right() })
	}}.run(t)
}

// ignoresTheEnd goes on when its standard input ended, as a program that does not end.
func ignoresTheEnd(s *server) { s.outlives = true }

func TestServerGoesOnWhenItsInputEnded(t *testing.T) {
	asProcess := func(c cell) bool { return c.transport == process }
	scenario{script: "ignores the end", on: asProcess, do: everybodyIsRight("plain")}.run(t)
}
