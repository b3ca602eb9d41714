package audit_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

// A caller with many different refusals takes neither the places nor the room of another, who has a
// line for each refusal.
func TestRefusalsAreShared(t *testing.T) {
	for name, callers := range map[string][2]string{"principals": {"eve", "ada"}, "addresses": {"", ""}} {
		for _, keep := range []int64{1_000_000, 1 << 30} {
			dir := t.TempDir()
			l, err := audit.Open(dir, audit.Options{Key: newKey(t), NoSync: true, MaxFile: 50_000, Keep: keep})
			if err != nil {
				t.Fatal(err)
			}
			h := l.Calls(audit.CallOptions{})(mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
				decide(ctx, note.Decision{Effect: audit.Denied, Rule: "a rule", Reason: "no", Refused: true})
				return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "denied")
			}))
			refused := func(caller int, tool string) {
				req := mcp.NewRequest("tools/call", []byte(fmt.Sprintf(`{"name":%q}`, tool)))
				if callers[caller] != "" {
					req.Principal = &mcp.Principal{Issuer: "i", Subject: callers[caller]}
				}
				_, _ = h.Handle(share.With(t.Context(), share.Key("i", callers[caller], fmt.Sprintf("192.0.2.%d:1", caller))), req)
			}
			refused(0, "common")
			for i := range 2_000 {
				refused(0, fmt.Sprint("tool ", i))
			}
			refused(1, "common")
			refused(1, "hers")
			if err := l.Flush(); err != nil {
				t.Fatal(err)
			}
			for tool, want := range map[string]int{"common": 4, "hers": 2} { // for each a decision and a call
				n := 0
				for _, err := range audit.Read(dir, audit.Filter{Name: tool}) {
					if n++; err != nil {
						t.Fatal(err)
					}
				}
				if n != want {
					t.Errorf("%s, %d bytes are kept: %s has %d lines, want %d", name, keep, tool, n, want)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
