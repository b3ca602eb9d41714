package adversity

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// stalls never answers some methods.
func stalls(methods ...string) script {
	return func(s *server) {
		for _, method := range methods {
			s.on[method] = func(c *call) { <-c.ctx.Done() }
		}
	}
}

const short = slow * 300 * time.Millisecond

func TestServerStallsLogLevels(t *testing.T) {
	scenario{script: "stalls setLevel", on: isLegacyHere, do: func(_ *testing.T, c *crowd) {
		c.everybody(func(c *client) {
			for n := range 2 {
				if o := c.within(short, "plain", n, ""); o.err != nil {
					o.timedOut()
				} else {
					o.right()
				}
			}
		})
	}}.run(t)
}

func isLegacyHere(c cell) bool { return isLegacy(c) && c.transport != process }

func TestServerStallsSubscriptions(t *testing.T) {
	scenario{script: "stalls subscribe", on: isLegacyHere, do: func(_ *testing.T, c *crowd) {
		c.everybody(func(c *client) {
			if c.number%4 == 0 {
				ends(c.t, c.Client, short, "test://watched")
			}
			c.call("plain", 1, "").right()
		})
	}}.run(t)
}

func TestServerStallsUnsubscribing(t *testing.T) {
	scenario{script: "stalls unsubscribe", on: isLegacyHere, do: func(t *testing.T, c *crowd) {
		c.everybody(func(cl *client) {
			if cl.number == 0 {
				ends(t, c.bridge.(*mcp.Client), short, "test://1", "test://2", "test://3")
			}
			cl.call("plain", 1, "").right()
		})
	}}.run(t)
}

// ends fails the test unless listening ends with its context.
func ends(t *testing.T, c *mcp.Client, within time.Duration, uris ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- listen(ctx, c, mcp.SubscriptionFilter{ResourceSubscriptions: uris}, func(string) {}, make(chan struct{}))
	}()
	select {
	case <-ended:
	case <-time.After(within + margin):
		t.Errorf("listening to %v did not end %v after its deadline", uris, margin)
	}
}

func stallsSomeCalls(s *server) {
	s.tool = func(c *call) {
		if c.Params.Arguments.Do == "stall" {
			<-c.ctx.Done()
			return
		}
		c.respond("")
	}
}

func TestServerStallsCallsOfSomeClients(t *testing.T) {
	scenario{script: "stalls some calls", do: func(_ *testing.T, c *crowd) {
		c.everybody(func(c *client) {
			for n := range 3 {
				if c.number%2 == 0 {
					c.within(short, "plain", n, "stall").timedOut()
				} else {
					c.call("plain", n, "").right()
				}
			}
		})
	}}.run(t)
}

func TestServerStallsTheHandshake(t *testing.T) {
	t.Parallel()
	for _, cell := range cells {
		t.Run(cell.transport+" "+cell.revision, func(t *testing.T) {
			t.Parallel()
			p := cell.open(t, "stalls the handshake")
			defer p.close()
			ctx, cancel := context.WithTimeout(t.Context(), short)
			defer cancel()
			began := time.Now()
			c, err := p.dial(ctx, mcp.ClientOptions{ProbeTimeout: short / 2})
			if err == nil {
				c.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "adversary") {
				t.Errorf("got %v, want an error that names the server", err)
			}
			if took := time.Since(began); took > short+closeTime {
				t.Errorf("it took %v", took)
			}
		})
	}
}
