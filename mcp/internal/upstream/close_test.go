package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A client that interrupts a call closes the connection next. The cancellation must reach the
// server before that, or the server would continue the call without a client.
func TestServersSeeLateCancellations(t *testing.T) {
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		for _, method := range []string{"tools/call", "tools/list"} {
			t.Run(revision+" "+method, func(t *testing.T) {
				for range 100 {
					near, far := net.Pipe()
					begun, heard := make(chan struct{}), make(chan string, 1)
					go func() { heard <- cancelledOf(far, method, begun) }()
					givenUp(t, near, revision, method, begun).Close()
					if got := <-heard; got != "cancelled" {
						t.Fatal(got)
					}
				}
			})
		}
	}
}

// givenUp returns a client that gave up a request after the server received it.
func givenUp(t *testing.T, conn net.Conn, revision, method string, begun <-chan struct{}) *mcp.Client {
	t.Helper()
	c, err := mcp.DialWith(t.Context(), stream.Over(conn, "slow"), mcp.ClientOptions{Revision: revision, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	if _, err := c.Handle(ctx, mcp.NewRequest(method, json.RawMessage(`{"name":"x"}`))); err == nil {
		t.Fatal("it was answered")
	}
	return c
}

// discovered is the response of a modern server, a format for the id.
const discovered = `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"},"ttlMs":0,"cacheScope":"private"}}` + "\n"

// cancelledOf plays a server that does not answer a method, until its client is gone. It returns
// the cancelled request.
func cancelledOf(conn net.Conn, method string, begun chan<- struct{}) string {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	open := ""
	for in.Scan() {
		var m struct {
			message
			Params struct{ RequestID json.RawMessage }
		}
		_ = json.Unmarshal(in.Bytes(), &m)
		switch m.Method {
		case method:
			open = string(m.ID)
			close(begun)
		case "notifications/cancelled":
			if string(m.Params.RequestID) != open {
				return fmt.Sprintf("cancelled is %s, not %s", m.Params.RequestID, open)
			}
			return "cancelled"
		case "initialize":
			fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"slow","version":"1"}}}`+"\n", m.ID)
		case "server/discover":
			fmt.Fprintf(conn, discovered, m.ID)
		}
	}
	return "the end came first"
}

func TestAServerThatDoesNotReadIsNotWaitedForLongAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		begun := make(chan struct{})
		go func() {
			in := bufio.NewReader(far)
			line, _ := in.ReadString('\n')
			var m message
			_ = json.Unmarshal([]byte(line), &m)
			fmt.Fprintf(far, discovered, m.ID)
			_, _ = in.ReadString('\n')
			close(begun) // and does not read any more
		}()
		c := givenUp(t, near, "2026-07-28", "tools/call", begun)
		began := time.Now()
		c.Close()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}
