package pipe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestLines checks servers that write more to their standard output than messages of one line: how
// call 1 ends, and the log. A call without a response ends after a minute.
func TestLines(t *testing.T) {
	const message = `{"jsonrpc":"2.0","id":1,"result":{"a":[1,{}]}}`
	const pretty = "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n    \"a\": [\n      1,\n      {}\n    ]\n  }\n}"
	for name, tt := range map[string]struct{ says, want, logs string }{
		"a byte order mark":                           {"\ufeff" + message, "", "byte-order-mark"},
		"a byte order mark, and several lines":        {"\ufeff" + pretty, "", "several-lines"},
		"blank lines and CRLF":                        {"\r\n\r\n" + message + "\r", "", ""},
		"a line of a log":                             {"starting up\n" + message, "", "is not a message"},
		"several lines":                               {pretty, "", "several-lines"},
		"several lines with CRLF":                     {strings.ReplaceAll(pretty, "\n", "\r\n"), "", "several-lines"},
		"several lines with bytes that are not UTF-8": {strings.ReplaceAll(pretty, "{}", "\"\xe9\""), "", "several-lines"},
		"a log in front of several lines":             {"[info] starting\n{starting}\n" + pretty, "", "several-lines"},
		"a bracket of a log":                          {"{\n" + message, "", "is not a message"},
		"a bracket of a log before several lines":     {"[\nstarting\n" + pretty, "", "several-lines"},
		"brackets that close too much":                {"{\n}\n}\n]\n" + pretty, "", "several-lines"},
		"a batch over several lines":                  {"[\n" + pretty + ",\n{\n\"jsonrpc\":\"2.0\",\n\"method\":\"n\"}\n]\n", "", "several-lines"},
		"another message between the lines":           {"{\n\"jsonrpc\": \"2.0\",\n{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n" + message, "", "is not a message"},
		"several lines that repeat a name":            {"{\n\"jsonrpc\": \"2.0\",\n\"id\": 1,\n\"id\": 1,\n\"result\": {}\n}", "name once", ""},
		"several lines that are no message":           {"{\n\"level\": \"info\"\n}\n" + message, "", "is not a message"},
		"the beginning of a message":                  {"{\n\"jsonrpc\": \"2.0\",", `time is up; its output has a line that is not a message, and perhaps is a part of one: "{"`, ""},
		"only a log":                                  {"starting up", `time is up; its output has a line that is not a message, and perhaps is a part of one: "starting up"`, ""},
		"nothing":                                     {"", "expected a response to m: time is up", ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			l, p := connect(t, Options{})
			go func() {
				p.line(t)
				p.say(t, tt.says+"\n")
			}()
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("time is up"))
			defer cancel()
			m, err := l.Call(ctx, request(1, "m"), nil)
			got := outcome(m, err)
			if tt.want == "" && strings.HasPrefix(got, "error") || !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			p.Close()
			<-l.Done()
			if !strings.Contains(p.log.String(), tt.logs) {
				t.Errorf("log %s, want %s", p.log.String(), tt.logs)
			}
		})
	}
}

// TestGathererHasLimits checks that lines without an end occupy no more memory than a message may.
func TestGathererHasLimits(t *testing.T) {
	g := gatherer{most: 100}
	stray := 0
	for range 1_000 {
		_, lines := g.add([]byte(`{"a":`))
		stray += len(lines)
		if g.size > 100 {
			t.Fatalf("%d bytes are held", g.size)
		}
	}
	if stray < 900 {
		t.Errorf("%d lines were handed back", stray)
	}
}

func TestShortLinesCountTheirCost(t *testing.T) {
	g := gatherer{most: 1 << 20}
	g.add([]byte("["))
	n := 1
	for ; len(g.lines) > 0; n++ {
		g.add([]byte(","))
	}
	if most := g.most/lineCost + 1; n > most {
		t.Errorf("%d lines of a byte were kept, want at most %d", n, most)
	}
}
