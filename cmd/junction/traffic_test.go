package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/traffic"
)

// watching runs junction traffic until the test ends, or it ends itself. What it prints is in seen once it watches.
func watching(t *testing.T, args ...string) (seen *clitest.SafeBuffer, ended <-chan int) {
	t.Helper()
	ctx, interrupt := context.WithCancelCause(context.WithoutCancel(t.Context()))
	began := make(chan struct{}, 1)
	stderr := &watchedBuffer{word: ".\n", seen: func() {
		select {
		case began <- struct{}{}:
		default:
		}
	}}
	seen = new(clitest.SafeBuffer)
	code := make(chan int, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		code <- run(ctx, clitest.PlaceOf(t), append([]string{"traffic"}, args...), strings.NewReader(""), seen, stderr)
	}()
	t.Cleanup(func() {
		interrupt(cli.ErrInterrupted)
		<-over
	})
	<-began
	return seen, code
}

var timeOfDay = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d{3}  `)

func TestTrafficShowsACallOnBothSides(t *testing.T) {
	clitest.Alone(t)
	r := serving(t, "proxy", "everything")
	seen, ended := watching(t, "--method", "tools/call", "--count", "4")
	runs(t, "", "call", r.url, "add", "a=1", "b=2").expect(t, cli.ExitOK, `{"sum":3}`, "")
	if code := <-ended; code != cli.ExitOK {
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

func TestTrafficShowsTheHeadersWhereNotesAreWanted(t *testing.T) {
	clitest.Alone(t)
	r := serving(t, "proxy", "everything")
	seen, ended := watching(t, "--method", "tools/call", "--count", "5", "--notes")
	runs(t, "", "call", r.url, "add", "a=1", "b=2").expect(t, cli.ExitOK, `{"sum":3}`, "")
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("it ends with %d", code)
	}
	want := regexp.MustCompile(`(?m)^#\d+    junction/0\.1\.0 -- junction  tools/call add http: \{"method":"POST","url":"http://127\.0\.0\.1:\d+/mcp","requestHeaders":\{"Accept".*\},"status":200,"responseHeaders":\{"`)
	if got := timeOfDay.ReplaceAllString(seen.String(), ""); !want.MatchString(got) {
		t.Error(got)
	}
}

func TestTrafficWaitsForAProcessThatBegins(t *testing.T) {
	clitest.Alone(t)
	seen, ended := watching(t, "--json", "--errors", "--count", "2")
	r := serving(t, "up", "everything")
	runs(t, "", "call", r.url, "everything__add", "a=1", "b=2").expect(t, cli.ExitOK, `{"sum":3}`, "")
	for failed := true; failed; { // until it watches, which it looks for once a second
		runs(t, "", "call", r.url, "everything__fail")
		select {
		case code := <-ended:
			if failed = false; code != cli.ExitOK {
				t.Errorf("it ends with %d", code)
			}
		default:
		}
	}
	var events []watch.ShownEvent
	for line := range strings.Lines(seen.String()) {
		var e watch.ShownEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err, line)
		}
		events = append(events, e)
	}
	// The server is a part of the process, and its messages are shown as those of others.
	if len(events) != 2 || events[0].Hop != traffic.Server || events[0].Server != "everything" || events[0].Name != "fail" || events[1].Hop != traffic.Client || events[0].Call == 0 || events[0].Call != events[1].Call || events[0].PID == 0 || !events[1].Failed() {
		t.Errorf("%+v", events)
	}
}

func TestTrafficUsageErrors(t *testing.T) {
	clitest.Alone(t)
	runs(t, "", "traffic", "up").expect(t, cli.ExitUsage, "", `expected the number of a process, got "up"; without a number, junction watches all processes`)
}

func TestAProxySaysWhichServerItIsFor(t *testing.T) {
	clitest.Alone(t)
	r := serving(t, "proxy", "--name", "mine", "everything")
	seen, ended := watching(t, "--server", "mine", "--method", "tools/call", "--count", "4")
	runs(t, "", "call", r.url, "add", "a=1", "b=2").expect(t, cli.ExitOK, `{"sum":3}`, "")
	if code := <-ended; code != cli.ExitOK || strings.Count(seen.String(), "junction -> mine") != 1 || strings.Count(seen.String(), "-> junction") != 1 {
		t.Errorf("%d: %s", code, seen.String())
	}
}

// A client that starts junction up --stdio itself speaks at once.
func TestTheFirstMessagesOfAProcessThatBeginsAreSeen(t *testing.T) {
	clitest.Alone(t)
	for range 5 {
		seen, ended := watching(t, "--json", "--method", "initialize", "--count", "2")
		said := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"eager","version":"1"}}}` + "\n"
		runs(t, said, "up", "--stdio", "everything").expect(t, cli.ExitOK, `"protocolVersion":"2025-11-25"`, "")
		if code := <-ended; code != cli.ExitOK || strings.Count(seen.String(), `"client":"eager/1"`) != 2 {
			t.Errorf("%d: seen is %s", code, seen.String())
		}
	}
}

func TestTooManyWatchersAreRefused(t *testing.T) {
	clitest.Alone(t)
	serving(t, "proxy", "everything")
	for range reach.MaxWatchers {
		watching(t)
	}
	ctx, interrupt := context.WithCancelCause(t.Context())
	stderr := &watchedBuffer{word: "is not watched", seen: func() { interrupt(cli.ErrInterrupted) }}
	if code := run(ctx, clitest.PlaceOf(t), []string{"traffic"}, strings.NewReader(""), io.Discard, stderr); code != cli.ExitOK || !strings.Contains(stderr.String(), "is not watched: 8 others watch it already.") {
		t.Errorf("%d: %s", code, stderr.String())
	}
}

// What a conversation calls has a number, under which is also what was decided and how the text that flows is labelled.
func TestTrafficShowsTheLabelsOfAChat(t *testing.T) {
	clitest.Alone(t)
	seen, ended := watching(t, "--json", "--notes", "--method", "tools/call", "--count", "5")
	if got := runs(t, "", "chat", "everything", "-p", "add 2 and 40"); got.code != cli.ExitOK || got.stdout != "42\n" {
		t.Fatalf("%+v", got)
	}
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("it ends with %d", code)
	}
	var got []string
	for line := range strings.Lines(seen.String()) {
		var e traffic.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if e.Call == 0 || e.Server != "everything" || e.Name != "add" || e.Kind == traffic.Note && e.Client != chat.ClientName {
			t.Errorf("%s", line)
		}
		text := e.Kind
		if e.Note == "labels" {
			text = string(e.Message)
		}
		got = append(got, strings.TrimSpace(e.Note+" "+text))
	}
	want := []string{`labels {"of":"call","labels":"none"}`, "policy note", "request", "response", `labels {"of":"result","labels":"private","sources":["everything/add"]}`}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMissingProcessesAreNotWaitedFor(t *testing.T) {
	clitest.Alone(t)
	runs(t, "", "traffic", "2147483646").expect(t, cli.ExitConnection, "", "some of 2147483646 are not a running junction up, proxy or chat")
}

func TestFollowersSeeThatAProcessEnded(t *testing.T) {
	clitest.Alone(t)
	r := serving(t, "proxy", "everything")
	ctx, cancel := context.WithCancel(t.Context())
	began, ended, over := make(chan struct{}), make(chan int, 1), make(chan struct{})
	go func() {
		defer close(over)
		_ = watch.FollowTraffic(ctx, clitest.PlaceOf(t), nil, watch.TrafficFollower{
			Began: func(int) error { close(began); return nil },
			Event: func(watch.ShownEvent, bool) error { return nil },
			Ended: func(pid int) { ended <- pid },
		})
	}()
	<-began
	r.stop()
	if pid := <-ended; pid != os.Getpid() {
		t.Errorf("process %d ended, want %d", pid, os.Getpid())
	}
	cancel()
	<-over
}
