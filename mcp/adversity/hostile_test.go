package adversity

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
	"github.com/junction-mcp/junction/mcp/streamable"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// request sends one HTTP request by hand and returns the response with its body read.
func request(t *testing.T, ctx context.Context, method, url, body string, headers ...string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(resp.Body)
	return resp, string(read), err
}

// servePanics is a server on HTTP whose Handler panics in a call after a
// notification went out. It says its URL.
func servePanics() {
	const keepAlive = 50 * time.Millisecond
	inner := mcp.NewServer("panics", "1")
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "tools/call" {
			req.Peer.Notify(ctx, "notifications/progress", []byte(`{"progress":1}`))
			panic("on purpose")
		}
		return inner.Handle(ctx, req)
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("http://%s\n", l.Addr())
	go http.Serve(l, streamable.HandlerWith(h, streamable.Options{KeepAlive: keepAlive}))
	io.Copy(io.Discard, os.Stdin) // until the test is over
}

// A panic of a Handler ends its call, and nothing else, now or later.
func TestHandlerPanicsAfterANotification(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envScript+"=panicking HTTP server")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	resp, _, err := request(t, t.Context(), "POST", url, initialize)
	if err != nil {
		t.Fatal(err)
	}
	session := resp.Header.Get(headerSession)
	for range 3 {
		request(t, t.Context(), "POST", url, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}`, headerSession, session)
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) { // many times keepAlive
		resp, _, err := request(t, t.Context(), "POST", url, `{"jsonrpc":"2.0","id":8,"method":"tools/list"}`, headerSession, session)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("the server does not answer any more: %v", err)
		}
	}
}

// A client behind a proxy that cuts its idle stream again and again can resume
// the stream of a call all the same.
func TestClientOpensItsStreamAgainAndAgain(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "count", func(ctx context.Context, _ struct{}) (string, error) {
		return "done", mcp.Progress(ctx, 1, 2, "")
	})
	e := streamable.HandlerWith(s, streamable.Options{ServeOptions: mcp.ServeOptions{Logger: quiet}})
	server := httptest.NewServer(e)
	defer server.Close()
	defer e.Close()
	resp, _, err := request(t, t.Context(), "POST", server.URL, initialize)
	if err != nil {
		t.Fatal(err)
	}
	session := resp.Header.Get(headerSession)
	for range 100 {
		openAndCut(t, server.URL, session)
	}
	_, body, err := request(t, t.Context(), "POST", server.URL, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"count","_meta":{"progressToken":1}}}`, headerSession, session, "Mcp-Protocol-Version", "2025-11-25")
	if err != nil || !strings.Contains(body, "done") {
		t.Fatalf("%v: %s", err, body)
	}
	openAndCut(t, server.URL, session) // once more, when too many streams are dropped
	_, rest, _ := strings.Cut(body, "id: ")
	id, _, _ := strings.Cut(rest, "\n")
	resp, again, err := request(t, t.Context(), "GET", server.URL, "", headerSession, session, "Last-Event-Id", id)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(again, "done") {
		t.Errorf("resuming behind %q: %v, %q", id, err, again)
	}
}

// openAndCut opens the session's own stream and drops its connection.
func openAndCut(t *testing.T, url, session string) {
	t.Helper()
	for end := time.Now().Add(callTime); time.Now().Before(end); {
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		r.Header = http.Header{"Accept": {"text/event-stream"}, headerSession: {session}}
		resp, err := http.DefaultClient.Do(r)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return
		} // else the one before is still there
	}
	t.Fatal("the stream cannot be opened")
}

// A client whose reading side is closed, but who sends on, is given up.
func TestClientCannotBeWrittenTo(t *testing.T) {
	t.Parallel()
	in, requests := io.Pipe()
	responses, out := io.Pipe()
	responses.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stdio.ServeStreams(context.Background(), mcp.NewServer("s", "1"), in, out, mcp.ServeOptions{Logger: quiet})
	}()
	go func() {
		line := []byte(initialize + "\n")
		for _, err := requests.Write(line); err == nil; _, err = requests.Write(bytes.Replace(line, []byte("initialize"), []byte("ping"), 1)) {
		}
	}()
	select {
	case <-ended:
	case <-time.After(closeTime):
		t.Error("the server goes on answering a client that cannot be written to")
	}
	requests.Close()
	in.Close()
	<-ended
}

// Two servers whose names differ only in what no tool's name may contain are both there.
func TestServersHaveNamesThatLookAlike(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{{"my server", "my-server"}, {"café", "cafè"}, {"日本", "中国"}, {"a", "a__b"}} {
		t.Run(strings.Join(names, " and "), func(t *testing.T) {
			t.Parallel()
			g := gateway.New(gateway.Options{Logger: quiet})
			defer g.Close()
			want := map[string]bool{}
			for _, name := range names {
				s := mcp.NewServer(name, "1")
				for _, tool := range []string{"who", "b__who"} {
					mcp.AddTool(s, tool, func(context.Context, struct{}) (string, error) { return name + " " + tool, nil })
					want[name+" "+tool] = true
				}
				if err := g.AddHandler(name, s); err != nil {
					t.Fatal(err)
				}
			}
			if err := g.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			c := mcp.NewClientWith(g, mcp.ClientOptions{Logger: quiet})
			defer c.Close()
			for tool, err := range c.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				result, err := c.CallTool(t.Context(), tool.Name, nil)
				if err != nil || !want[result.Text()] {
					t.Errorf("%s: %v, %v; not expected, or the second of this name", tool.Name, result.Text(), err)
					continue
				}
				delete(want, result.Text())
			}
			if len(want) > 0 {
				t.Errorf("not reached: %v", want)
			}
		})
	}
}
