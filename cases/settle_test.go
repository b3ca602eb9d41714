package cases

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp/stream"
)

// lateServer is a server whose tool change sends a notification 50 ms after its result. It handles
// requests in sequence, and records their methods.
func lateServer(far net.Conn, pings string, methods *[]string) {
	defer far.Close()
	say := func(text string) bool {
		_, err := fmt.Fprintln(far, text)
		return err == nil
	}
	for lines := bufio.NewScanner(far); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			return
		}
		if m.ID == nil {
			continue
		}
		*methods = append(*methods, m.Method)
		answer := `"result":{"content":[]}`
		switch m.Method {
		case "server/discover":
			answer = `"error":{"code":-32601,"message":"Method not found"}`
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`
		case "ping":
			time.Sleep(time.Millisecond)
			if answer = pings; pings == "" {
				continue
			}
		}
		if !say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)) {
			return
		}
		if m.Params.Name == "change" {
			time.Sleep(50 * time.Millisecond)
			if !say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`) {
				return
			}
		}
	}
}

func TestCasesIgnoreEffectsOfTheCaseBefore(t *testing.T) {
	const text = "server: x\ncases:\n- {case: one, tool: change}\n- {case: two, tool: nothing}\n- {case: three, tool: change}\n" +
		"- {case: four, tool: nothing, expect: {notifications: [{changed: tools}]}}\n- {case: five, tool: change, expect: {notifications: [{changed: tools}]}}\n"
	for name, pings := range map[string]string{
		"a server that answers pings": `"result":{}`,
		"one that does not know them": `"error":{"code":-32601,"message":"Method not found"}`,
		"one that does not answer":    "",
	} {
		t.Run(name, func(t *testing.T) {
			f := write(t, "x.yaml", text)
			synctest.Test(t, func(t *testing.T) {
				var methods []string
				ctx, cancel := context.WithCancel(t.Context())
				r := run(t, f, Options{Connect: func(context.Context, Server, string) (*Target, error) {
					near, far := net.Pipe()
					context.AfterFunc(ctx, func() { near.Close() }) // the first connection only determines the transport
					go lateServer(far, pings, &methods)
					return &Target{Transport: stream.Over(near, "s"), Kind: Stdio}, nil
				}})
				cancel()
				synctest.Wait()
				want := []string{"four [2025-11-25, stdio]: tool nothing: notifications: expected changed tools, and none came"}
				if got := failures(r); r.Err != nil || !slices.Equal(got, want) {
					t.Errorf("got %q, %v", got, r.Err)
				}
				asked := []string{"server/discover", "initialize", "tools/call", "tools/call", "tools/call", "ping", "tools/call", "ping", "tools/call"}
				if !slices.Equal(methods, asked) { // a case without expected events sends no ping
					t.Errorf("the server was asked %q", methods)
				}
			})
		})
	}
}
