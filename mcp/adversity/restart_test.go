package adversity

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// restarts ends in the middle of a call, or after one. What it did not respond to it
// did all the same.
func restarts(unknown string) script {
	return func(s *server) {
		s.unknown = unknown
		s.tools = func() string {
			return tool("plain") + "," + tool("repeatable", `"annotations":{"idempotentHint":true}`) + "," + tool("reading", `"annotations":{"readOnlyHint":true}`)
		}
		s.tool = func(c *call) {
			c.record("ran " + c.whose())
			switch do := c.Params.Arguments.Do; {
			case do == "restart" && c.first(c.whose()):
				c.restart()
				return
			case do == "announce":
				c.announce("notifications/resources/updated")
			}
			c.respond("")
			if c.Params.Arguments.Do == "respond and restart" {
				c.restart()
			}
		}
	}
}

func anywhere(cell) bool { return true }

// ran says how often the server ran a call.
func ran(t *testing.T, c *crowd, client, call int) int {
	return count(t, c.place.dir, fmt.Sprintf("ran client %d call %d", client, call))
}

func TestServerRestartsInTheMiddleOfACall(t *testing.T) {
	scenario{script: "restarts", on: anywhere, gateway: true, do: func(t *testing.T, c *crowd) {
		c.everybody(func(cl *client) { cl.call("plain", 1, "").right() })
		c.everybody(func(cl *client) {
			if cl.number == 5 {
				cl.call("plain", 2, "restart").lost()
			} else {
				cl.call("plain", 2, "").rightOrClear()
			}
		})
		c.everybody(func(cl *client) {
			cl.call("plain", 3, "").right()
			for n := 1; n <= 3; n++ {
				if times := ran(t, c, cl.number, n); times > 1 {
					t.Errorf("the server ran call %d of client %d %d times", n, cl.number, times)
				}
			}
		})
	}}.run(t)
}

func TestServerRestartsInTheMiddleOfACallThatMayBeRepeated(t *testing.T) {
	scenario{script: "restarts", on: anywhere, gateway: true, do: func(t *testing.T, c *crowd) {
		c.everybody(func(cl *client) {
			for _, err := range cl.Tools(t.Context()) {
				if err != nil {
					t.Errorf("%s: %v", cl.label, err)
				}
			}
		})
		c.clients[3].call("repeatable", 1, "restart").right()
		c.clients[4].call("reading", 1, "restart").right()
		for _, number := range []int{3, 4} {
			if times := ran(t, c, number, 1); times != 2 {
				t.Errorf("the server ran the call of client %d %d times, want 2", number, times)
			}
		}
	}}.run(t)
}

func TestServerRestartsWhileIdle(t *testing.T) {
	scenario{script: "restarts", on: anywhere, gateway: true, do: func(t *testing.T, c *crowd) {
		c.clients[2].call("plain", 1, "respond and restart").right()
		select {
		case <-c.place.lost():
		case <-time.After(short): // on HTTP nothing tells, until the next request
		}
		c.everybody(func(cl *client) { cl.call("plain", 2, "").right() })
	}}.run(t)
}

func TestServerRestartsBetweenTwoCalls(t *testing.T) {
	scenario{script: "restarts", on: anywhere, gateway: true, do: func(t *testing.T, c *crowd) {
		c.clients[2].call("plain", 1, "respond and restart").right()
		c.everybody(func(cl *client) { cl.call("plain", 2, "").rightOrClear() })
		select {
		case <-c.place.lost(): // not in the middle of the third call
		case <-time.After(short):
		}
		c.everybody(func(cl *client) { cl.call("plain", 3, "").right() })
	}}.run(t)
}

// A session that the server forgot is made new, once for all who miss it, and
// is as it was: subscribed, at the level that was set.
func TestSessionIsMadeNew(t *testing.T) {
	for _, script := range []string{"restarts", "restarts with 400"} {
		t.Run(script, func(t *testing.T) {
			onHTTP := func(c cell) bool { return c.transport == web && isLegacy(c) }
			scenario{script: script, on: onHTTP, do: sessionIsMadeNew}.run(t)
		})
	}
}

func sessionIsMadeNew(t *testing.T, c *crowd) {
	ctx, cancel := context.WithCancel(t.Context())
	changed, agreed, ended := make(chan string, 10_000), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		listen(ctx, c.clients[0].Client, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"test://watched"}}, func(method string) { changed <- method }, agreed)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	select {
	case <-agreed:
	case <-time.After(callTime):
		t.Error("no subscription")
	}
	c.everybody(func(cl *client) { cl.call("plain", 1, "").right() })
	c.place.server.restart()
	c.everybody(func(cl *client) { cl.call("plain", 2, "").right() })
	eventually(t, "subscribe in the second session", func() bool { return count(t, c.place.dir, "subscribe") >= 2 }) // calls do not wait for it
	c.clients[1].call("plain", 3, "restart").lost()
	c.everybody(func(cl *client) { cl.call("plain", 4, "").right() })
	if times := count(t, c.place.dir, "initialize"); times != 3 {
		t.Errorf("%d handshakes, want one for each of three sessions", times)
	}
	for _, what := range []string{"subscribe", "level info"} {
		eventually(t, what+" in each of three sessions", func() bool { return count(t, c.place.dir, what) >= 3 })
	}
	call := 5
	eventually(t, "the client hears of a change", func() bool { // the stream for it may not be open yet
		c.clients[2].call("plain", call, "announce").right()
		call++
		return len(changed) > 0
	})
	for n := 1; n <= 4; n++ {
		if times := ran(t, c, 1, n); times != 1 {
			t.Errorf("the server ran call %d of client 1 %d times", n, times)
		}
	}
}
