package upstream_test

import (
	"log/slog"
	"net"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// On streams some modern servers end a subscription with notifications/cancelled
// in place of a result.
func TestAModernServerThatCancelsASubscriptionEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		s := &playedServer{conn: far, on: func(s *playedServer, m message) {
			switch m.Method {
			case "server/discover":
				s.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}`, m.ID)
			case "subscriptions/listen":
				s.send(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
				s.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, m.ID)
			}
		}}
		served := make(chan struct{})
		go func() {
			defer close(served)
			s.serve(`{}`)
		}()
		c, err := mcp.DialWith(t.Context(), stream.Over(near, "played"), mcp.ClientOptions{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			c.Close()
			far.Close()
			<-served
		}()
		ended := make(chan error, 1)
		go func() {
			ended <- c.Listen(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, func(mcp.Notification) {})
		}()
		synctest.Wait()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the subscription goes on after the server cancelled it")
		}
	})
}
