package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// TestCancelledIDsWithAFraction cancels a request with another spelling of the number in its id.
func TestCancelledIDsWithAFraction(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for _, ids := range [][2]string{{"3", "3.0"}, {"3.0", "3"}, {"3e0", "30e-1"}} {
		for _, revision := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
			t.Run(fmt.Sprint(revision, " ", ids), func(t *testing.T) {
				s := mcp.NewServer("waits", "1")
				runs, ended := make(chan struct{}), make(chan struct{})
				mcp.AddTool(s, "wait", func(ctx context.Context, _ struct{}) (string, error) {
					close(runs)
					<-ctx.Done()
					close(ended)
					return "", ctx.Err()
				})
				near, far := net.Pipe()
				served := make(chan error, 1)
				go func() { served <- stream.ServeConnWith(t.Context(), far, s, mcp.ServeOptions{Logger: quiet}) }()
				c := &rawClient{t, near, bufio.NewReader(near)}
				meta := ""
				if revision == "2026-07-28" {
					meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
				} else {
					c.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`, revision)
					c.receive()
					c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				}
				c.send(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"wait","arguments":{}%s}}`, ids[0], meta)
				<-runs
				c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, ids[1])
				<-ended
				near.Close()
				<-served
			})
		}
	}
}

// TestServerWithdrawsByAnIDWithAFraction checks that a server can cancel its request, and respond
// to a call, with another spelling of the number in the id.
func TestServerWithdrawsByAnIDWithAFraction(t *testing.T) {
	for _, ids := range [][2]string{{"5", "5.0"}, {"5.0", "5"}} {
		near, far := net.Pipe()
		served, asked, withdrawn := make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(served)
			out := bufio.NewReader(far)
			for {
				line, err := out.ReadBytes('\n')
				var m struct {
					ID     json.RawMessage
					Method string
				}
				if err != nil || json.Unmarshal(line, &m) != nil {
					return
				}
				switch m.Method {
				case "initialize":
					fmt.Fprintf(far, `{"jsonrpc":"2.0","id":%s.0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`+"\n", m.ID)
				case "tools/call":
					fmt.Fprintf(far, `{"jsonrpc":"2.0","id":%s,"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`+"\n", ids[0])
					<-asked
					fmt.Fprintf(far, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`+"\n", ids[1])
					<-withdrawn
					fmt.Fprintf(far, `{"jsonrpc":"2.0","id":%s.0,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n", m.ID)
				}
			}
		}()
		c, err := mcp.DialWith(t.Context(), stream.Over(near, "s"), mcp.ClientOptions{Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler),
			OnElicit: func(ctx context.Context, _ mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				close(asked)
				<-ctx.Done()
				close(withdrawn)
				return nil, ctx.Err()
			}})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := mcp.Call[string](t.Context(), c, "ask", nil); err != nil || got != "done" {
			t.Errorf("%v: got %q, %v", ids, got, err)
		}
		c.Close()
		<-served
	}
}
