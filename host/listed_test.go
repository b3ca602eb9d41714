package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
)

// A list is bounded in bytes, not in entries only.
func TestAListHasALimitOfBytes(t *testing.T) {
	srv := mcp.NewServer("s", "1")
	mcp.AddTool(srv, "t", func(context.Context, struct{}) (string, error) { return "", nil })
	tool := fmt.Sprintf(`{"name":"t","inputSchema":{"type":"object"},"description":%q}`, strings.Repeat("x", 8<<20))
	pages := 0
	handler := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method != "tools/list" {
			return srv.Handle(ctx, req)
		}
		pages++
		body := fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, tool, pages)
		if pages == 20 {
			body = `{"tools":[]}`
		}
		return mcp.Result{JSON: json.RawMessage(body)}, nil
	})
	s := play(t, Options{Servers: []Server{{Name: "s", Handler: handler, Trusted: true}}}, scripted.Say("done"))
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Servers()[0]; got.State != StateConnected || got.Tools != 0 || !strings.Contains(got.Error, "MiB") || pages > 10 {
		t.Errorf("after %d pages of 8 MiB: %+v", pages, got)
	}
	if got := s.notices(NoticeServer); len(got) != 1 || !strings.Contains(got[0], "MiB") {
		t.Errorf("reported %q", got)
	}
}

// If the server refuses a list, the list is missing, and the user is notified once.
func TestAListThatCannotBeReadIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := mcp.NewServer("s", "1")
		mcp.AddTool(srv, "t", func(context.Context, struct{}) (string, error) { return "", nil })
		h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tools/list" {
				return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the database is gone")
			}
			return srv.Handle(ctx, req)
		})
		s := play(t, Options{Servers: []Server{{Name: "s", Handler: h, Trusted: true}}})
		defer s.Close()
		if err := s.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		mcp.AddTool(srv, "more", func(context.Context, struct{}) (string, error) { return "", nil }) // and it is read again
		time.Sleep(time.Minute)
		if l := s.Servers()[0]; l.State != StateConnected || !strings.Contains(l.Error, "the database is gone") {
			t.Errorf("it is %+v", l)
		}
		if got := s.notices(NoticeServer); len(got) != 1 || got[0] != `server "s" does not list everything: tools/list: the database is gone (code -32603)` {
			t.Errorf("reported %q", got)
		}
	})
}
