package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// mute answers the first requests of a client with the results for its revision, and then reads only.
func mute(conn net.Conn, answers *atomic.Int32, revision string) {
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		_, id, isRequest := strings.Cut(lines.Text(), `"id":`)
		if !isRequest || strings.Contains(lines.Text(), `"tools/call"`) || answers.Add(-1) < 0 {
			continue
		}
		id, _, _ = strings.Cut(id, ",")
		id = strings.TrimRight(id, "}")
		info := `"serverInfo":{"name":"mute","version":"1"},"capabilities":{"tools":{}}`
		switch {
		case strings.Contains(lines.Text(), `"server/discover"`) && revision == modern:
			fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":[%q],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}}`+"\n", id, modern)
		case strings.Contains(lines.Text(), `"initialize"`):
			fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,%s}}`+"\n", id, revision, info)
		default:
			fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"none"}}`+"\n", id)
		}
	}
}

func TestSilentServersLoseTheirConnection(t *testing.T) {
	for _, revision := range []string{newestLegacy, modern} {
		t.Run(revision, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				var answers atomic.Int32
				answers.Store(3) // the handshake, and two pings
				served := make(chan struct{})
				go func() { defer close(served); mute(far, &answers, revision) }()
				c, err := mcp.DialWith(t.Context(), stream.Over(near, "mute"), mcp.ClientOptions{Revision: revision, KeepAlive: time.Minute, Timeout: -1})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				called := make(chan error, 1)
				go func() {
					_, err := c.CallTool(context.Background(), "slow", nil)
					called <- err
				}()
				<-c.Done()
				if waited := time.Since(began); waited < 2*time.Minute || waited > 4*time.Minute {
					t.Errorf("the connection ended after %v", waited)
				}
				for name, err := range map[string]error{"Err": c.Err(), "Ping": c.Ping(t.Context()), "a call": <-called} {
					if !errors.Is(err, mcp.ErrLost) || errors.Is(err, mcp.ErrNotSent) != (name == "Ping") || !strings.Contains(err.Error(), "no response to a ping within 1m0s") {
						t.Errorf("%s: %v", name, err)
					}
				}
				c.Close()
				far.Close()
				<-served
			})
		})
	}
}

func TestServersThatRespondKeepTheirConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer("slow", "1")
		mcp.AddTool(s, "slow", func(ctx context.Context, _ struct{}) (string, error) {
			time.Sleep(time.Hour)
			return "done", nil
		})
		for _, revision := range []string{newestLegacy, modern} {
			c, err := mcp.DialWith(t.Context(), stream.Pipe(s), mcp.ClientOptions{Revision: revision, KeepAlive: time.Second, Timeout: -1, MaxTimeout: 2 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if result, err := c.CallTool(t.Context(), "slow", nil); err != nil || result.Text() != "done" {
				t.Errorf("%s: %v, %v", revision, result, err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
