package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/host"
)

// asksForRoots is a legacy server that asks for the roots as soon as it is initialized, as
// the reference server for files does, and whose tool says what it got; listsLater is one that
// lists no tools before it got them. It serves until the test ends.
func asksForRoots(t *testing.T, listsLater bool) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { l.Close(); serving.Wait() })
	serve := func(conn net.Conn) {
		defer conn.Close()
		answered, roots := make(chan struct{}), ""
		send := func(text string) { fmt.Fprintln(conn, text) }
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			var m struct {
				ID     json.RawMessage
				Method string
				Result json.RawMessage
			}
			if json.Unmarshal(lines.Bytes(), &m) != nil {
				return
			}
			reply := func(result string) { send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)) }
			switch {
			case string(m.ID) == `"at-the-start"`:
				roots = string(m.Result)
				close(answered)
			case m.Method == "initialize":
				reply(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"files","version":"1"}}`)
			case m.Method == "notifications/initialized":
				send(`{"jsonrpc":"2.0","id":"at-the-start","method":"roots/list"}`)
			case m.Method == "tools/list":
				serving.Go(func() {
					if listsLater {
						<-answered
					}
					reply(`{"tools":[{"name":"folders","description":"List the folders.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false}}]}`)
				})
			case m.Method == "tools/call":
				serving.Go(func() {
					<-answered
					text, _ := json.Marshal(roots)
					reply(`{"content":[{"type":"text","text":` + string(text) + `}]}`)
				})
			case m.ID != nil:
				send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID))
			}
		}
		select {
		case <-answered:
		default:
			close(answered)
		}
	}
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { serve(conn) })
		}
	})
	return "tcp://" + l.Addr().String()
}

func TestAServerThatAsksAtItsStartGetsTheRoots(t *testing.T) {
	t.Parallel()
	for name, listsLater := range map[string]bool{"and lists its tools": false, "before it lists its tools": true} {
		t.Run(name, func(t *testing.T) {
			clitest.NoState(t)
			folder := t.TempDir()
			url := asksForRoots(t, listsLater)
			got := runs(t, "", "chat", url, "--root", folder, "--trust", host.ServerName(url), "-p", "folders")
			if got.code != cli.ExitOK || !strings.Contains(got.stdout, filepath.ToSlash(folder)) {
				t.Errorf("%+v", got)
			}
		})
	}
}
