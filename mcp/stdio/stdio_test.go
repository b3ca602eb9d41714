package stdio_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// serving is a server on a pair of streams, seen from its client.
type serving struct {
	in    io.WriteCloser
	out   *bufio.Scanner
	stop  context.CancelFunc
	ended chan error
}

func serve(t *testing.T, h mcp.Handler) *serving {
	t.Helper()
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	s := &serving{in: in, out: bufio.NewScanner(out), stop: stop, ended: make(chan error, 1)}
	go func() {
		s.ended <- stdio.ServeStreams(ctx, h, fromClient, toClient, mcp.ServeOptions{})
		toClient.Close()
	}()
	return s
}

func (s *serving) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(s.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (s *serving) next(t *testing.T) map[string]any {
	t.Helper()
	if !s.out.Scan() {
		t.Fatalf("no more output: %v", s.out.Err())
	}
	var m map[string]any
	if err := json.Unmarshal(s.out.Bytes(), &m); err != nil {
		t.Fatalf("%s: %v", s.out.Bytes(), err)
	}
	return m
}

func TestASubscriptionEndsWithItsResultAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer("s", "1")
		mcp.AddTool(server, "t", func(context.Context, struct{}) (string, error) { return "", nil })
		s := serve(t, server)
		s.send(t, `{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`)
		if m := s.next(t); m["method"] != "notifications/subscriptions/acknowledged" {
			t.Fatalf("first came %v", m)
		}
		s.stop()
		m := s.next(t)
		result, _ := m["result"].(map[string]any)
		of, _ := result["_meta"].(map[string]any)
		if m["id"] != "listen" || result["resultType"] != "complete" || of["io.modelcontextprotocol/subscriptionId"] != "listen" {
			t.Errorf("at the end came %v", m)
		}
		if err := <-s.ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
}

func TestPendingRequestsAreAnsweredBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer("s", "1")
		release := make(chan struct{})
		mcp.AddTool(server, "slow", func(context.Context, struct{}) (string, error) { <-release; return "done", nil })
		s := serve(t, server)
		s.send(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow",`+meta+`}}`)
		synctest.Wait()
		s.in.Close()
		synctest.Wait()
		close(release)
		if m := s.next(t); m["id"] != 1.0 || !strings.Contains(string(s.out.Bytes()), `"text":"done"`) {
			t.Errorf("got %s", s.out.Bytes())
		}
		if err := <-s.ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
}
