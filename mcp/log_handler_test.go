package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

func TestLogHandlerSendsABoundedNumberOfRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer("chatty", "1")
		log := slog.New(mcp.LogHandler("chat"))
		mcp.AddTool(s, "chat", func(ctx context.Context, _ struct{}) (string, error) {
			for range 2 {
				for i := range 1000 {
					log.With("a", 1).WithGroup("g").InfoContext(ctx, "record", "i", i)
				}
				time.Sleep(time.Second)
			}
			return "", nil
		})
		records, dropped := 0, 0
		c := mcp.NewClientWith(s, mcp.ClientOptions{OnLog: func(m mcp.LogMessage) {
			if strings.Contains(string(m.Data), "further records are dropped: at most 200 in a second") && m.Level == mcp.LogWarning {
				dropped++
			} else {
				records++
			}
		}})
		for range 2 {
			if _, err := c.CallTool(t.Context(), "chat", nil); err != nil {
				t.Fatal(err)
			}
		}
		if records != 800 || dropped != 4 {
			t.Errorf("%d records and %d warnings, expected 800 and 4", records, dropped)
		}
	})
}

// A loggingPeer logs each notification with the handler that sends it.
type loggingPeer struct {
	mcp.Peer
	log *slog.Logger
}

func (p *loggingPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	p.log.WarnContext(ctx, "sending", "method", method)
	return p.Peer.Notify(ctx, method, params)
}

func TestLogHandlerDoesNotLogItsOwnSending(t *testing.T) {
	s := mcp.NewServer("loop", "1")
	log := slog.New(mcp.LogHandler(""))
	mcp.AddTool(s, "log", func(ctx context.Context, _ struct{}) (string, error) {
		log.WarnContext(ctx, "once")
		return "", mcp.Progress(ctx, 1, 1, "")
	})
	var got []string
	c := mcp.NewClientWith(mcp.Chain(s, func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			watched := *req
			watched.Peer = &loggingPeer{req.Peer, log}
			return next.Handle(ctx, &watched)
		})
	}), mcp.ClientOptions{OnProgress: func(mcp.ProgressUpdate) {}, OnLog: func(m mcp.LogMessage) { got = append(got, string(m.Data)) }})
	if _, err := c.CallTool(t.Context(), "log", nil); err != nil {
		t.Fatal(err)
	}
	want := `{"method":"notifications/progress","msg":"sending"}`
	if len(got) != 2 || got[0] != `{"msg":"once"}` || got[1] != want {
		t.Errorf("the records are %q", got)
	}
}
