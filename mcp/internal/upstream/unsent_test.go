package upstream

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// The only client, a modern one, is asked before its call is sent, so the call is parked. The
// server withdraws its request before the client is back: there is no round with a context to
// check.
func TestAnUnsentParkedCallWhoseRequestIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := open(t.Context(), func(context.Context) (link.Link, error) { return &calledLink{}, nil }, mcp.ConnectOptions{Name: "quiet", OneClient: true, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		e := newLegacy(c)
		s := &session{era: e, revision: revision.LatestLegacy()}
		c.session.Store(s)
		c.receive(nil, &jsonrpc.Message{Kind: jsonrpc.Request, ID: "1", Method: methodRootsList})
		req := &mcp.Request{Method: methodToolsCall, Caller: "one", Peer: laterPeer{}, State: new(mcp.State)}
		if _, err := e.call(t.Context(), s, req); err != mcp.ErrInputRequired {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		m, fault := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`), jsonrpc.Limits{})
		if fault != nil {
			t.Fatal(fault)
		}
		c.receive(nil, &m)
		synctest.Wait()
		c.Close()
	})
}
