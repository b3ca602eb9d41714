package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/gateway/retry"
	"github.com/junction-mcp/junction/gateway/secrets"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/ratelimit"
)

// runCalls makes some calls with effects, and returns the number of lines of calls, and the number
// of refusals in the log.
func runCalls(t *testing.T, mw mcp.Middleware, h mcp.Handler, names func(i int) string, n int) (lines int, refused int) {
	t.Helper()
	dir := t.TempDir()
	l, err := audit.Open(dir, audit.Options{Key: newKey(t), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	all := l.Calls(audit.CallOptions{})(mw(h))
	ctx := context.Background()
	// lines of other calls make room for lines of refusals
	other := l.Calls(audit.CallOptions{})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) { return mcp.Result{JSON: []byte(`{}`)}, nil }))
	for range 100 {
		req := mcp.NewRequest("tools/call", []byte(`{"name":"other"}`))
		_, _ = other.Handle(ctx, req)
	}
	for i := range n {
		req := mcp.NewRequest("tools/call", []byte(fmt.Sprintf(`{"name":%q,"arguments":{"file":%d}}`, names(i), i)))
		req.Principal = &mcp.Principal{Issuer: "i", Subject: "eve"}
		_, _ = all.Handle(ctx, req)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range recordsOf(t, dir) {
		if r.Principal != "eve" {
			continue
		}
		if r.Kind == audit.KindCall {
			lines++
		}
		refused += r.Refused
	}
	return lines, refused
}

func recordsOf(t *testing.T, dir string) (all []audit.Record) {
	t.Helper()
	for r, err := range audit.Read(dir, audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		var one audit.Record
		if err := json.Unmarshal(r, &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// A call whose result is withheld has run, with its effects: it must have a line of its own.
func TestWithheldResultsAreLogged(t *testing.T) {
	handled := 0
	h := mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		handled++
		return mcp.Result{JSON: []byte(`{"content":[{"type":"text","text":"deleted; ghp_` + "aBcD3fGhIjKlMnOpQrStUvWxYz0123456789" + `"}]}`)}, nil
	})
	lines, refused := runCalls(t, secrets.Middleware(secrets.Options{Results: true}), h, func(int) string { return "delete" }, 20)
	if lines != handled || refused != 0 {
		t.Errorf("%d calls were handled by the server; %d have a line, %d are said to have been refused", handled, lines, refused)
	}
}

// A call that was sent has run, even if a limit refused its repetition.
func TestRefusedRetriesAreLogged(t *testing.T) {
	handled := 0
	h := mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		handled++
		return mcp.Result{}, errors.New("the connection was lost")
	})
	limit := ratelimit.New(ratelimit.Options{Calls: 1, In: time.Hour, Key: func(req *mcp.Request) any { return string(req.Params) }})
	mw := func(next mcp.Handler) mcp.Handler {
		return retry.Middleware(retry.Options{Times: func(*mcp.Request) int { return 1 }})(limit.Around(next))
	}
	lines, refused := runCalls(t, mw, h, func(int) string { return "delete" }, 5)
	if lines < handled {
		t.Errorf("the server got %d calls; %d have a line, %d are said to have been refused", handled, lines, refused)
	}
}
