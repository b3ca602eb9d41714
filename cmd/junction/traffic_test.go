package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/traffic"
)

// watching runs junction traffic until the test ends, or it ends itself. What it prints is in seen once it watches.
func watching(t *testing.T, args ...string) (seen *safeBuffer, ended <-chan int) {
	t.Helper()
	ctx, interrupt := context.WithCancelCause(context.WithoutCancel(t.Context()))
	began := make(chan struct{}, 1)
	stderr := &watchedBuffer{word: ".\n", seen: func() {
		select {
		case began <- struct{}{}:
		default:
		}
	}}
	seen = new(safeBuffer)
	code := make(chan int, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		code <- run(ctx, append([]string{"traffic"}, args...), strings.NewReader(""), seen, stderr)
	}()
	t.Cleanup(func() {
		interrupt(errInterrupted)
		<-over
	})
	<-began
	return seen, code
}

var timeOfDay = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3}  `)

func TestTrafficShowsACallOnBothSides(t *testing.T) {
	alone(t)
	r := serving(t, "proxy", "everything")
	seen, ended := watching(t, "--method", "tools/call", "--count", "4")
	runs(t, "", "call", r.url, "add", "a=1", "b=2").expect(t, exitOK, `{"sum":3}`, "")
	if code := <-ended; code != exitOK {
		t.Errorf("it ends with %d", code)
	}
	took := regexp.MustCompile(`after [0-9.]+[µm]?s`)
	got := took.ReplaceAllString(timeOfDay.ReplaceAllString(seen.String(), ""), "after a while")
	var call string
	if _, err := fmt.Sscan(got, &call); err != nil {
		t.Fatal(got)
	}
	want := strings.ReplaceAll(`#N    junction/0.1.0 -> junction  tools/call add {"a":1,"b":2}
#N    junction -> everything  tools/call add {"a":1,"b":2}
#N    junction <- everything  tools/call add answered after a while: [{"type":"text","text":"{\"sum\":3}"}]
#N    junction/0.1.0 <- junction  tools/call add answered after a while: [{"type":"text","text":"{\"sum\":3}"}]
`, "#N", call)
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTrafficWaitsForAProcessThatBegins(t *testing.T) {
	alone(t)
	seen, ended := watching(t, "--json", "--errors", "--count", "2")
	r := serving(t, "up", "everything")
	runs(t, "", "call", r.url, "everything__add", "a=1", "b=2").expect(t, exitOK, `{"sum":3}`, "")
	for failed := true; failed; { // until it watches, which it looks for once a second
		runs(t, "", "call", r.url, "everything__fail")
		select {
		case code := <-ended:
			if failed = false; code != exitOK {
				t.Errorf("it ends with %d", code)
			}
		default:
		}
	}
	var events []shownEvent
	for line := range strings.Lines(seen.String()) {
		var e shownEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err, line)
		}
		events = append(events, e)
	}
	if len(events) != 2 || events[0].Hop != traffic.Client || events[0].Call == 0 || events[0].Call == events[1].Call || events[0].PID == 0 || !isFault(&events[1].Event) {
		t.Errorf("%+v", events)
	}
}

func TestTrafficSaysWhatItWants(t *testing.T) {
	alone(t)
	runs(t, "", "traffic", "up").expect(t, exitUsage, "", `expected the number of a process, got "up"; junction status lists them`)
}

func TestAMessageIsShownWhereItIsWanted(t *testing.T) {
	call := traffic.Event{Kind: traffic.Request, Hop: traffic.Server, Server: "files", Method: "tools/call", Name: "read", Message: json.RawMessage(`{"params":{"arguments":{"path":"x"}}}`)}
	client := traffic.Event{Kind: traffic.Response, Hop: traffic.Client, Client: "Claude/1", Method: "tools/call", Name: "files__read", Message: json.RawMessage(`{"result":{"isError":true}}`)}
	failed := traffic.Event{Kind: traffic.Failure, Hop: traffic.Server, Server: "web", Method: "tools/list", Fault: "dial: refused"}
	missed := traffic.Event{Kind: traffic.Dropped, Count: 3}
	for name, test := range map[string]struct {
		filter trafficFilter
		want   string
	}{
		"everything":         {trafficFilter{}, "call client failed missed"},
		"a server":           {trafficFilter{server: "files"}, "call client missed"},
		"a client":           {trafficFilter{client: "claude"}, "client missed"},
		"a method":           {trafficFilter{call: "tools/list"}, "failed missed"},
		"errors":             {trafficFilter{errors: true}, "client failed missed"},
		"a text":             {trafficFilter{text: `"x"`}, "call missed"},
		"a text of failures": {trafficFilter{text: "refused"}, "failed missed"},
		"a server's errors":  {trafficFilter{errors: true, server: "web"}, "failed missed"},
	} {
		var shown []string
		for _, e := range []struct {
			name  string
			event *traffic.Event
		}{{"call", &call}, {"client", &client}, {"failed", &failed}, {"missed", &missed}} {
			if test.filter.shows(e.event) {
				shown = append(shown, e.name)
			}
		}
		if got := strings.Join(shown, " "); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
