package integration

import (
	"net"
	"strings"
	"testing"
)

// junction up and junction traffic at a terminal: the table, the log of a server, its restart, a call while it goes and in full, and
// the end, after which the terminal is as it was.
func TestUpAndTrafficOnAScreen(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	c := newChat(t, map[string][]string{"everything": {junction(t), "serve", "everything", "--stdio"}, "broken": {"no-such-program"}}, nil)
	up := newScreen(t, c.env, c.home, append([]string{junction(t), "up", "--http", address}, c.args...)...)
	up.see("junction serves at http://"+address+"/mcp", "everything connected", "broken failed", "? help q quit")
	watching := newScreen(t, c.env, c.home, junction(t), "traffic")
	watching.see("Watching 1 process")
	run(t, c.env, junction(t), "call", "http://"+address+"/mcp", "everything__echo", "message=a word")
	for _, s := range []*screen{up, watching} {
		if s == up {
			s.press("t")
		}
		s.see("everything/echo ok", `{"message":"a`)
		for line := range strings.Lines(s.shown()) {
			if strings.Contains(line, "everything/echo") && !strings.Contains(line, "…") {
				t.Errorf("%q is not cut", line)
			}
		}
		s.press("Enter")
		s.see("everything/echo, for junction/", "Arguments", `"message": "a word"`)
		s.press("Escape")
		s.see("Calls of clients")
	}
	watching.do("resize-window", "-x", "60", "-y", "12")
	watching.see("everything/echo", "q quit")
	watching.press("q")
	if code := watching.ended(); code != 0 {
		t.Errorf("junction traffic ends with %d", code)
	}
	up.press("Escape")
	up.see("server state")
	up.press("/", "e", "v", "Enter")
	up.gone("broken failed")
	up.press("r")
	up.see("everything restarts", "everything connected")
	up.press("l")
	up.see("Log of everything")
	up.press("c")
	up.press("Escape")
	up.see(`only lines with "ev"`)
	up.press("q")
	if code := up.ended(); code != 0 {
		t.Errorf("junction up ends with %d", code)
	}
	up.see("junction served", "at http://"+address+"/mcp")
	up.gone("server state")
}
