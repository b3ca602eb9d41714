package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/mcp"
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
		code <- run(ctx, placeOf(t), append([]string{"traffic"}, args...), strings.NewReader(""), seen, stderr)
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
	alone(t)
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
	alone(t)
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
	alone(t)
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

func TestTrafficSaysWhatItWants(t *testing.T) {
	alone(t)
	runs(t, "", "traffic", "up").expect(t, cli.ExitUsage, "", `expected the number of a process, got "up"; without one, all of them are watched`)
}

func TestAMessageIsShownWhereItIsWanted(t *testing.T) {
	call := traffic.Event{Kind: traffic.Request, Hop: traffic.Server, Server: "files", Method: "tools/call", Name: "read", Message: json.RawMessage(`{"params":{"arguments":{"path":"x"}}}`)}
	client := traffic.Event{Kind: traffic.Response, Hop: traffic.Client, Client: "Claude/1", Method: "tools/call", Name: "files__read", Message: json.RawMessage(`{"result":{"isError":true}}`)}
	failed := traffic.Event{Kind: traffic.Failure, Hop: traffic.Server, Server: "web", Method: "tools/list", Fault: "dial: refused"}
	missed := traffic.Event{Kind: traffic.Dropped, Count: 3}
	note := traffic.Event{Kind: traffic.Note, Note: "policy", Hop: traffic.Client, Method: "tools/call"}
	for name, test := range map[string]struct {
		filter watch.TrafficFilter
		want   string
	}{
		"everything":         {watch.TrafficFilter{}, "call client failed missed"},
		"a method":           {watch.TrafficFilter{Method: "tools/list"}, "failed missed"},
		"errors":             {watch.TrafficFilter{Errors: true}, "client failed missed"},
		"notes":              {watch.TrafficFilter{Notes: true}, "call client failed missed note"},
		"a text":             {watch.TrafficFilter{Text: `"x"`}, "call missed"},
		"a text of failures": {watch.TrafficFilter{Text: "refused"}, "failed missed"},
	} {
		var shown []string
		for _, e := range []struct {
			name  string
			event *traffic.Event
		}{{"call", &call}, {"client", &client}, {"failed", &failed}, {"missed", &missed}, {"note", &note}} {
			if test.filter.Shows(&watch.ShownEvent{Event: *e.event}) {
				shown = append(shown, e.name)
			}
		}
		if got := strings.Join(shown, " "); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestAResultWithIsErrorFailed(t *testing.T) {
	for message, want := range map[string]string{
		`{"result":{"content":[],"isError":true}}`: "tools/call x failed after 2ms: []",
		`{"result":{"content":[]}}`:                "tools/call x answered after 2ms: []",
	} {
		e := traffic.Event{Kind: traffic.Response, Method: "tools/call", Name: "x", Took: 2 * time.Millisecond, Message: json.RawMessage(message)}
		if got := watch.Summary(&e); got != want {
			t.Errorf("%s is shown as %q, want %q", message, got, want)
		}
	}
}

// A proxy serves one server, so that what its client says is for that, too.
func TestTheTrafficOfOneServerIsShown(t *testing.T) {
	files := watch.ShownEvent{Event: traffic.Event{Kind: traffic.Request, Hop: traffic.Server, Server: "files"}}
	client := watch.ShownEvent{Event: traffic.Event{Kind: traffic.Request, Hop: traffic.Client, Client: "Claude/1"}}
	ofProxy := client
	ofProxy.Serves = "files"
	for _, test := range []struct {
		servers []string
		want    [3]bool // of files, client and ofProxy
	}{{nil, [3]bool{true, true, true}}, {[]string{"files"}, [3]bool{true, false, true}}, {[]string{"web", "files"}, [3]bool{true, false, true}}, {[]string{"web"}, [3]bool{}}} {
		f := watch.TrafficFilter{Servers: test.servers}
		if got := [3]bool{f.Shows(&files), f.Shows(&client), f.Shows(&ofProxy)}; got != test.want {
			t.Errorf("with %v shown are %v, want %v", test.servers, got, test.want)
		}
	}
}

func TestAProxySaysWhichServerItIsFor(t *testing.T) {
	alone(t)
	r := serving(t, "proxy", "--name", "mine", "everything")
	seen, ended := watching(t, "--server", "mine", "--method", "tools/call", "--count", "4")
	runs(t, "", "call", r.url, "add", "a=1", "b=2").expect(t, cli.ExitOK, `{"sum":3}`, "")
	if code := <-ended; code != cli.ExitOK || strings.Count(seen.String(), "junction -> mine") != 1 || strings.Count(seen.String(), "-> junction") != 1 {
		t.Errorf("%d: %s", code, seen.String())
	}
}

// A client that starts junction up --stdio itself speaks at once.
func TestTheFirstMessagesOfAProcessThatBeginsAreSeen(t *testing.T) {
	alone(t)
	for range 5 {
		seen, ended := watching(t, "--json", "--method", "initialize", "--count", "2")
		said := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"eager","version":"1"}}}` + "\n"
		runs(t, said, "up", "--stdio", "everything").expect(t, cli.ExitOK, `"protocolVersion":"2025-11-25"`, "")
		if code := <-ended; code != cli.ExitOK || strings.Count(seen.String(), `"client":"eager/1"`) != 2 {
			t.Errorf("%d: seen is %s", code, seen.String())
		}
	}
}

// A peer cannot end the view of who watches, nor hide behind a long message.
func TestALongMethodHidesNothingOfWhatFollows(t *testing.T) {
	t.Parallel()
	server, client := net.Pipe()
	var log traffic.Log
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	came := make(chan struct{}, 1)
	running.Go(func() { reach.ShowTraffic(ctx, &log, "", server, came) })
	if _, err := client.Write([]byte{reach.WantsMessages}); err != nil {
		t.Fatal(err)
	}
	<-came
	lines := bufio.NewScanner(client)
	lines.Buffer(nil, watch.MaxTrafficLine)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	events := make(chan watch.ShownEvent, 10)
	running.Go(func() { watch.ReadTraffic(ctx, client, lines, "7.traffic", events) })
	for id, method := range []string{"ping", strings.Repeat("x", 3<<20), "tools/call"} {
		log.Clients().Passes(ctx, mcp.WireMessage{ToServer: true, Message: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method)})
	}
	for _, want := range []string{"ping", "xxxx", "tool"} {
		if e := <-events; e.PID != 7 || e.Method[:4] != want || len(e.Method) > 2_000 {
			t.Errorf("%+v, want %s", e.Event, want)
		}
	}
}

func TestOneTooManyThatWatchesHearsSo(t *testing.T) {
	alone(t)
	serving(t, "proxy", "everything")
	for range reach.MaxWatchers {
		watching(t)
	}
	ctx, interrupt := context.WithCancelCause(t.Context())
	stderr := &watchedBuffer{word: "is not watched", seen: func() { interrupt(cli.ErrInterrupted) }}
	if code := run(ctx, placeOf(t), []string{"traffic"}, strings.NewReader(""), io.Discard, stderr); code != cli.ExitOK || !strings.Contains(stderr.String(), "is not watched: 8 others watch it already.") {
		t.Errorf("%d: %s", code, stderr.String())
	}
}

// What a conversation calls has a number, under which is also what was decided and how the text that flows is labelled.
func TestTrafficShowsTheLabelsOfAChat(t *testing.T) {
	alone(t)
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

func TestAProcessThatIsNotThereIsNotWaitedFor(t *testing.T) {
	alone(t)
	runs(t, "", "traffic", "2147483646").expect(t, cli.ExitConnection, "", "not all of 2147483646 are a junction up, proxy or chat that runs")
}

// A process that is stopped, as by Ctrl-Z, takes connections and says nothing.
func TestAProcessThatIsStoppedKeepsBackNoMessages(t *testing.T) {
	alone(t)
	dir, err := cli.StatusFolder(placeOf(t))
	if err != nil {
		t.Fatal(err)
	}
	listen := func(pid int) net.Listener {
		l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(dir, fmt.Sprint(pid, reach.TrafficSuffix)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	shows := listen(2)
	ctx, cancel := context.WithCancel(t.Context())
	began, came, over := make(chan struct{}), make(chan watch.ShownEvent, 1), make(chan struct{})
	go func() {
		defer close(over)
		_ = watch.FollowTraffic(ctx, placeOf(t), nil, watch.TrafficFollower{Began: func(int) error {
			close(began)
			return nil
		}, Event: func(e watch.ShownEvent, _ bool) error {
			came <- e
			return nil
		}})
	}()
	defer func() {
		cancel()
		<-over
	}()
	conn, err := shows.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "\n"); err != nil {
		t.Fatal(err)
	}
	<-began
	stopped, err := listen(1).Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer stopped.Close()
	if _, err := io.ReadFull(stopped, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, `{"kind":"request","method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-came
	if _, err := io.WriteString(stopped, "\n"); err != nil {
		t.Errorf("the message was kept back until the process that is stopped was given up: %v", err)
	}
}

func TestTrafficSaysThatAServerIsLegacyWhereItRefusesDiscovery(t *testing.T) {
	e := watch.ShownEvent{Event: traffic.Event{Kind: traffic.Error, Hop: traffic.Server, Server: "files", Method: "server/discover", Legacy: true, Message: json.RawMessage(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}`)}}
	if got, want := watch.Summary(&e.Event), "server/discover refused: a legacy server"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if f := (watch.TrafficFilter{Errors: true}); f.Shows(&e) {
		t.Error("it is shown among errors")
	}
}

func TestWhoFollowsHearsThatAProcessEnded(t *testing.T) {
	alone(t)
	r := serving(t, "proxy", "everything")
	ctx, cancel := context.WithCancel(t.Context())
	began, ended, over := make(chan struct{}), make(chan int, 1), make(chan struct{})
	go func() {
		defer close(over)
		_ = watch.FollowTraffic(ctx, placeOf(t), nil, watch.TrafficFollower{
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
