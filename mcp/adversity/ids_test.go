package adversity

import (
	"fmt"
	"testing"
	"time"
)

// respondsTwice answers each call three times, the last time with an error.
func respondsTwice(s *server) {
	s.tool = func(c *call) {
		c.respond("")
		c.respond(" a second time")
		c.fail(-32603, "a third time")
	}
}

func TestServerRespondsToOneRequestManyTimes(t *testing.T) {
	scenario{script: "responds twice", do: everybodyIsRight("plain")}.run(t)
}

// respondsToNobody answers requests that nobody made before the one that was.
func respondsToNobody(s *server) {
	s.tool = func(c *call) {
		for _, id := range []string{"999999", "-1", "0", `""`, `"nobody"`, "123456789012345678901234567890"} {
			c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"somebody else's"}]}}`, id))
			c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"somebody else's"}}`, id))
		}
		c.respond("")
	}
}

func TestServerRespondsToUnknownRequests(t *testing.T) {
	scenario{script: "responds to nobody", do: everybodyIsRight("plain")}.run(t)
}

// reusesIDs has one id for all of its requests, also while one is open.
func reusesIDs(s *server) {
	s.tool = func(c *call) {
		if c.revision != modern {
			_, response := c.request("1")
			c.request("1")
			select {
			case <-response: // of whichever call, which is the server's own fault
			case <-time.After(100 * time.Millisecond):
			case <-c.ctx.Done():
			}
		}
		c.respond("")
	}
}

func TestServerReusesRequestIDs(t *testing.T) {
	scenario{script: "reuses ids", do: everybodyIsRight("ask")}.run(t)
}

// everybodyIsRight is three calls of every client, each of them answered.
func everybodyIsRight(tool string) func(*testing.T, *crowd) {
	return func(_ *testing.T, c *crowd) {
		c.everybody(func(c *client) {
			for n := range 3 {
				c.call(tool, n, "").right()
			}
		})
	}
}
