package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A notedPeer counts progress notifications and delays its responses.
type notedPeer struct{ progress int }

func (p *notedPeer) Notify(context.Context, string, json.RawMessage) error { p.progress++; return nil }

func (p *notedPeer) Ask(ctx context.Context, _ mcp.ServerRequest) (json.RawMessage, error) {
	select {
	case <-time.After(5 * time.Minute):
		return json.RawMessage(`{"action":"accept","content":{"ok":true}}`), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func TestTimeoutsApplyAcrossABridge(t *testing.T) {
	s := mcp.NewServerWith("s", "1", mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	mcp.AddTool(s, "waits", func(ctx context.Context, _ struct{}) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	mcp.AddTool(s, "steps", func(ctx context.Context, _ struct{}) (string, error) {
		for n := range 10 {
			time.Sleep(15 * time.Second)
			mcp.Progress(ctx, float64(n), 10, "")
		}
		return "done", nil
	})
	mcp.AddTool(s, "logs", func(ctx context.Context, _ struct{}) (string, error) {
		for ctx.Err() == nil {
			_ = mcp.Log(ctx, mcp.LogError, "still here")
			time.Sleep(time.Second)
		}
		return "", ctx.Err()
	})
	mcp.AddTool(s, "asks", func(ctx context.Context, _ struct{}) (string, error) {
		type form struct {
			OK bool `json:"ok"`
		}
		_, err := mcp.Elicit[form](ctx, "ok?")
		return "asked", err
	})
	for _, test := range []struct {
		tool    string
		timeout time.Duration
		took    time.Duration
		want    string
	}{
		{"waits", 20 * time.Second, 20 * time.Second, `server "s": tools/call "waits": no response or progress for 20s`},
		{"logs", 20 * time.Second, 20 * time.Second, `tools/call "logs": no response or progress for 20s`},
		{"waits", 0, 2 * time.Hour, "given up"},
		{"steps", 20 * time.Second, 150 * time.Second, ""},
		{"asks", 20 * time.Second, 5 * time.Minute, ""},
	} {
		t.Run(test.tool+" "+test.timeout.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := mcp.DialWith(t.Context(), stream.Pipe(s), mcp.ClientOptions{Name: "s", Revision: "2025-11-25", Bridge: true, Timeout: test.timeout, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Hour, errors.New("given up"))
				defer cancel()
				req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"`+test.tool+`","arguments":{}}`))
				req.Meta.Capabilities = &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}}}
				req.Meta.ProgressToken = json.RawMessage("1")
				req.Peer = &notedPeer{}
				began := time.Now()
				_, err = c.Handle(ctx, req)
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %v", took)
				}
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("the error is %v, want %q", err, test.want)
				}
			})
		})
	}
}

// TestATimeoutNamesAStrayLine has a server whose tool prints a text without a newline, so that the
// response stands on the same line.
func TestATimeoutNamesAStrayLine(t *testing.T) {
	s := mcp.NewServer("s", "1")
	written := new(prefixed)
	mcp.AddTool(s, "prints", func(context.Context, struct{}) (string, error) {
		written.next.Store(true)
		return "done", nil
	})
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		written.Conn = theirs
		var served sync.WaitGroup
		served.Go(func() { _ = stream.ServeConn(t.Context(), written, s) })
		defer served.Wait()
		c, err := mcp.DialWith(t.Context(), stream.Over(ours, "s"), mcp.ClientOptions{Name: "s", Revision: "2025-11-25", Timeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, err = c.CallTool(t.Context(), "prints", nil)
		if err == nil || !strings.Contains(err.Error(), `no response or progress for 20s: context deadline exceeded; its output has a line that is not a message, and perhaps is a part of one: "no newline{`) {
			t.Error(err)
		}
	})
}

// A prefixed writes a text in front of the next message, once it is set.
type prefixed struct {
	net.Conn
	next atomic.Bool
}

func (p *prefixed) Write(b []byte) (int, error) {
	if p.next.Swap(false) {
		if _, err := p.Conn.Write([]byte("no newline")); err != nil {
			return 0, err
		}
	}
	return p.Conn.Write(b)
}

// TestAStrayLineIsNamedOnce has a caller with a deadline of its own, such as a gateway's.
func TestAStrayLineIsNamedOnce(t *testing.T) {
	s := mcp.NewServer("s", "1")
	written := new(prefixed)
	mcp.AddTool(s, "prints", func(context.Context, struct{}) (string, error) {
		written.next.Store(true)
		return "done", nil
	})
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			written.Conn = theirs
			var served sync.WaitGroup
			served.Go(func() { _ = stream.ServeConn(t.Context(), written, s) })
			defer served.Wait()
			c, err := mcp.DialWith(t.Context(), stream.Over(ours, "s"), mcp.ClientOptions{Name: "s", Revision: revision, Bridge: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			req := mcp.NewRequest("tools/call", []byte(`{"name":"prints"}`))
			_, err = c.Handle(ctx, req)
			if err == nil || strings.Count(err.Error(), "a line that is not a message") != 1 {
				t.Errorf("%s: %v", revision, err)
			}
		})
	}
}
