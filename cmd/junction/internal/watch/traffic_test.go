package watch_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/traffic"
)

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

// A peer cannot end the view of who watches, nor hide behind a long message.
func TestLongMethodsHideNothing(t *testing.T) {
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

// A process that is stopped, as by Ctrl-Z, takes connections and says nothing.
func TestAProcessThatIsStoppedKeepsBackNoMessages(t *testing.T) {
	clitest.Alone(t)
	dir, err := cli.StatusFolder(clitest.PlaceOf(t))
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
		_ = watch.FollowTraffic(ctx, clitest.PlaceOf(t), nil, watch.TrafficFollower{Began: func(int) error {
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
