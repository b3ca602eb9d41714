package upstream_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A lateServer supports both eras and reads nothing before it has started. One that is mute does
// not respond to server/discover. One that is decided refuses the modern era after a handshake. One
// that sorts responds to initialize first, a moment before the earlier request.
type lateServer struct {
	starts              time.Duration
	mute, decided, sort bool
}

func (s lateServer) serve(conn net.Conn) {
	defer conn.Close()
	time.Sleep(s.starts)
	initialized := false
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		result := `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"late","version":"1"}}`
		switch json.Unmarshal(lines.Bytes(), &m); {
		case m.ID == nil || m.Method == "server/discover" && s.mute:
			continue
		case m.Method == "server/discover" && s.decided && initialized:
			if _, err := fmt.Fprintf(conn, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":\"unknown\"}}\n", m.ID); err != nil {
				return
			}
			continue
		case m.Method == "server/discover":
			result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"public"}`
			if s.sort && !initialized {
				go func() {
					time.Sleep(100 * time.Millisecond)
					_, _ = fmt.Fprintf(conn, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", m.ID, result)
				}()
				continue
			}
		default:
			initialized = true
		}
		if _, err := fmt.Fprintf(conn, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", m.ID, result); err != nil {
			return
		}
	}
}

func TestStartDoesNotDecideTheRevision(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server lateServer
		starts time.Duration // while Starting reports true
		want   string
		within time.Duration // time limit of the test
		limit  time.Duration // ConnectTimeout; 0: the default
	}{
		{"modern, installed for a minute", lateServer{starts: time.Minute}, time.Minute, "2026-07-28", time.Minute, 0},
		{"modern, seen to start until just before", lateServer{starts: 14 * time.Second}, 11 * time.Second, "2026-07-28", 14 * time.Second, 0},
		{"modern, started after the time for the first request", lateServer{starts: 7 * time.Second}, 0, "2026-07-28", 7 * time.Second, 0},
		{"modern, the same, and the handshake is responded to first", lateServer{starts: 7 * time.Second, sort: true}, 0, "2026-07-28", 7*time.Second + 100*time.Millisecond, 0},
		{"modern, the same, and not any more after a handshake", lateServer{starts: 7 * time.Second, decided: true}, 0, "2025-11-25", 7 * time.Second, 0},
		{"legacy and mute, started at once", lateServer{mute: true}, 0, "2025-11-25", 5*time.Second + 250*time.Millisecond, 0},
		{"legacy and mute, installed for a while", lateServer{starts: 12 * time.Second, mute: true}, 12 * time.Second, "2025-11-25", 20*time.Second + 250*time.Millisecond, 0},
		{"legacy and mute, with little time", lateServer{mute: true}, 0, "2025-11-25", 1250 * time.Millisecond, 2 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				near, far := net.Pipe()
				go tt.server.serve(far)
				c, err := mcp.DialWith(t.Context(), stream.Over(near, "late"), mcp.ClientOptions{
					ConnectTimeout: tt.limit,
					Starting:       func() bool { return time.Since(began) < tt.starts },
				})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if took := time.Since(began); c.Revision() != tt.want || took != tt.within {
					t.Errorf("revision %s after %v, want %s after %v", c.Revision(), took, tt.want, tt.within)
				}
			})
		})
	}
}
