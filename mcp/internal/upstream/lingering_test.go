package upstream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A server on stdio handles one message after the other, as many do. Alice has two calls, of which
// the first takes ten seconds, and goes away after one. The server reads that after it has begun
// the second.
func TestLateReadersAskNoOtherClient(t *testing.T) {
	for name, asksFirst := range map[string]bool{"it asks for the first time": false, "it is known to name no call": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				s := &playedServer{conn: far}
				answered := make(chan struct{})
				on := func(m message) {
					tool := string(m.Params)
					switch {
					case m.Method == "initialize":
						s.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"played","version":"1"}}}`, m.ID)
					case m.Method == "ping":
						s.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
					case m.Method != "tools/call":
					case strings.Contains(tool, "slow"):
						if asksFirst {
							s.send(`{"jsonrpc":"2.0","id":"first","method":"elicitation/create","params":{"message":"Alice, slowly?","requestedSchema":{"type":"object","properties":{}}}}`)
						}
						time.Sleep(10 * time.Second)
						s.send(done, m.ID)
					case strings.Contains(tool, "transfer"):
						s.send(`{"jsonrpc":"2.0","id":"second","method":"elicitation/create","params":{"message":"Alice, transfer 1000?","requestedSchema":{"type":"object","properties":{}}}}`)
					default:
						s.send(done, m.ID)
					}
				}
				served := make(chan struct{})
				go func() {
					defer close(served)
					in := bufio.NewScanner(far)
					for in.Scan() {
						var m message
						_ = json.Unmarshal(in.Bytes(), &m)
						on(m)
						if m.Method == "" && string(m.ID) == `"second"` && m.Result != nil {
							close(answered)
						}
					}
				}()
				c, err := mcp.DialWith(t.Context(), stream.Over(near, "played"), mcp.ClientOptions{Bridge: true, Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				ctx, leave := context.WithTimeout(t.Context(), time.Second)
				defer leave()
				var calling sync.WaitGroup
				for _, tool := range []string{"slow", "transfer"} {
					calling.Go(func() { c.Handle(ctx, request("alice", tool, &askedPeer{})) })
					synctest.Wait()
				}
				time.Sleep(3 * time.Second)
				bob := &askedPeer{}
				within, stop := context.WithTimeout(t.Context(), 30*time.Second)
				defer stop()
				calling.Go(func() { c.Handle(within, request("bob", "x", bob)) })
				time.Sleep(15 * time.Second)
				if got := bob.all(); got != "" {
					t.Errorf("Bob was asked %q for Alice", got)
					select {
					case <-answered:
						t.Error("and his response was taken for hers")
					default:
					}
				}
				calling.Wait()
				c.Close()
				far.Close()
				<-served
			})
		})
	}
}

// Like TestACallThatIsGivenUpWhileItWaitsForOthersIsNotSent, over a real link. It does not send a
// request that was given up before.
func TestAToolDoesNotRunThatWasGivenUpBeforeItWasSent(t *testing.T) {
	ran := 0
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			c, s := played(t, mcp.ClientOptions{Bridge: true}, `{"tools":{}}`, func(s *playedServer, m message) {
				if m.Method == "tools/call" && strings.Contains(string(m.Params), "alice") {
					s.send(`{"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}`)
				}
			})
			for _, who := range []string{"alice", "bob"} {
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				c.Handle(ctx, request(who, who, &askedPeer{}))
				cancel()
			}
			time.Sleep(time.Second)
			for _, m := range s.received("tools/call") {
				if strings.Contains(string(m.Params), "bob") {
					ran++
				}
			}
		})
	}
	if ran > 0 {
		t.Errorf("%d of 100 calls reached the server after their client had given them up", ran)
	}
}

// notedPeer records the log messages that it gets.
type notedPeer struct {
	askedPeer
	notes []string
}

func (p *notedPeer) Notify(_ context.Context, method string, params json.RawMessage) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if method == "notifications/message" {
		p.notes = append(p.notes, string(params))
	}
	return nil
}

// A server on stdio logs for Alice after she cancelled her call, and before it reads that. Bob listens.
func TestLogMessagesOfACancelledCallReachNoOtherClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		s := &playedServer{conn: far}
		log := func(data string) {
			s.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%q}}`, data)
		}
		served := make(chan struct{})
		go func() {
			defer close(served)
			in := bufio.NewScanner(far)
			for in.Scan() {
				var m message
				_ = json.Unmarshal(in.Bytes(), &m)
				switch m.Method {
				case "initialize":
					s.send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"played","version":"1"}}}`, m.ID)
				case "tools/call":
					time.Sleep(3 * time.Second)
					log("for Alice")
				case "":
				default:
					if m.ID != nil {
						s.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
					}
				}
			}
		}()
		c, err := mcp.DialWith(t.Context(), stream.Over(near, "played"), mcp.ClientOptions{Bridge: true, Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		var running sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		bob := &notedPeer{}
		listen := mcp.NewRequest("subscriptions/listen", json.RawMessage(`{"notifications":{"toolsListChanged":true}}`))
		listen.Caller, listen.Peer = "bob", bob
		listen.Meta.LogLevel = mcp.LogDebug
		running.Go(func() { _, _ = c.Handle(ctx, listen) })
		synctest.Wait()
		leaving, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		_, _ = c.Handle(leaving, request("alice", "slow", &askedPeer{}))
		time.Sleep(time.Minute)
		log("for all")
		synctest.Wait()
		stop()
		running.Wait()
		if got := strings.Join(bob.notes, " "); !strings.Contains(got, "for all") || strings.Contains(got, "Alice") {
			t.Errorf("Bob got %s", got)
		}
		c.Close()
		far.Close()
		<-served
	})
}
