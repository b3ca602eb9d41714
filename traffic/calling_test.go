package traffic

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// TestAuditedCallKeepsItsNumber checks that a call of this process has its number even if the audit
// log receives its notes.
func TestAuditedCallKeepsItsNumber(t *testing.T) {
	var l Log
	c, err := mcp.DialWith(t.Context(), stream.PipeWith(server(t), mcp.ServeOptions{}), mcp.ClientOptions{Wire: l.Server("far")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	key, err := audit.ReadKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	written, err := audit.Open(t.TempDir(), audit.Options{Key: key, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { written.Close() })
	n := watch(t, &l)
	h := mcp.Chain(c, written.Calls(audit.CallOptions{}), written.Calls(audit.CallOptions{}))
	calling := l.Calling("chat", "far", "tools/call", "fail")
	if _, err := h.Handle(mcp.WithNoteObserver(t.Context(), calling), mcp.NewRequest("tools/call", []byte(`{"name":"fail","arguments":{}}`))); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 server-> request tools/call fail", "1 server<- response tools/call fail"}
	n.mu.Lock()
	for len(n.lines) < len(want) {
		n.more.Wait()
	}
	got := slices.Clone(n.lines)
	n.mu.Unlock()
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
