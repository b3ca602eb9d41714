package adversity

import (
	"fmt"
	"strings"
	"testing"
)

// speaksEarly sends all kinds of messages before its handshake is over.
func speaksEarly(s *server) {
	say := func(send func(string), times int, asks bool) {
		for i := range times {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"starting %d"}}`, i))
		}
		send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
		if asks && s.revision != modern {
			send(`{"jsonrpc":"2.0","id":"early ping","method":"ping"}`)
			send(`{"jsonrpc":"2.0","id":"early","method":"elicitation/create","params":{"message":"before the handshake","requestedSchema":{"type":"object","properties":{}}}}`)
			send(`{"jsonrpc":"2.0","id":"early roots","method":"roots/list"}`)
		}
	}
	s.joined = func(s *session) { say(s.send, 20, true) }
	s.begun = func(s *session) { go say(s.send, 20, false) }
	for _, method := range []string{"server/discover", "initialize"} {
		s.on[method] = func(c *call) {
			say(c.write, 20, true)
			c.behave()
			if c.header == nil { // on HTTP the response is the end
				say(c.write, 300, false)
			}
		}
	}
}

func TestServerSpeaksBeforeTheHandshakeIsOver(t *testing.T) {
	scenario{script: "speaks early", do: func(_ *testing.T, c *crowd) {
		c.everybody(func(c *client) {
			c.call("ask", 1, "").right()
		})
	}}.run(t)
}

// sendsGarbage sends what is no message, between messages.
func sendsGarbage(s *server) {
	garbage := []string{
		"npm WARN deprecated", "{", "[]", "null", `"text"`, "\x00\xff", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"1.0","method":1}`,
		`{"jsonrpc":"2.0","id":{},"result":{}}`, `{"jsonrpc":"2.0","id":1.5,"result":{}}`, `{"jsonrpc":"2.0","id":1e400,"result":{}}`,
		`{"jsonrpc":"2.0","id":777001,"id":777002,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":[1]}`,
		`{"jsonrpc":"2.0","method":"notifications/message"}`, `{"jsonrpc":"2.0","method":"notifications/` + strings.Repeat("x", 10_000) + `"}`,
		strings.Repeat("[", 1_000), "", " ",
	}
	s.tool = func(c *call) {
		for _, g := range garbage {
			c.write(g)
		}
		c.respond("")
		for _, g := range garbage {
			c.write(g)
		}
	}
}

func TestServerSendsGarbageBetweenMessages(t *testing.T) {
	scenario{script: "sends garbage", do: func(_ *testing.T, c *crowd) {
		c.everybody(func(cl *client) {
			for n := range 3 {
				if o := cl.call("plain", n, ""); c.place.transport == web {
					o.rightOrClear() // the stream is the call's own
				} else {
					o.right()
				}
			}
		})
	}}.run(t)
}

// floods sends far more notifications than anybody can want.
func floods(s *server) {
	s.tool = func(c *call) {
		if c.Params.Arguments.Do == "be quiet" {
			c.respond("")
			return
		}
		token := string(c.Params.Meta.ProgressToken)
		if token == "" {
			token = "17"
		}
		for i := range 100 {
			c.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, i+1))
			c.log()
			c.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		c.respond("")
	}
}

func TestServerFloodsItsClientsWithNotifications(t *testing.T) {
	scenario{script: "floods", do: func(_ *testing.T, c *crowd) {
		c.everybody(func(c *client) {
			c.call("plain", 1, "").right()
			c.call("plain", 2, "be quiet").right()
		})
	}}.run(t)
}
