package host

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
)

// What servers log is kept for people to read, so no message is kept whole however long it is.
func TestAMessageOfALogHasALimit(t *testing.T) {
	srv := mcp.NewServer("s", "1")
	mcp.AddToolWith(srv, mcp.Tool{Name: "work", Annotations: readOnly}, func(ctx context.Context, _ struct{}) (string, error) {
		return "", mcp.LogWith(ctx, strings.Repeat("l", 1<<20), mcp.LogInfo, strings.Repeat("x", 1<<20))
	})
	s := play(t, Options{Servers: []Server{{Name: "s", Handler: srv, Trusted: true}}}, scripted.Call("s__work", ""), scripted.Say("done"))
	ask(t, s.Conversation(nil), "work")
	logs := s.eventsOf(func(e Event) bool { return e.Log != nil })
	if len(logs) != 1 {
		t.Fatalf("%d messages", len(logs))
	}
	if l := logs[0].Log; len(l.Data)+len(l.Logger) > 64<<10 || !json.Valid(l.Data) {
		t.Errorf("a message of %d bytes by a logger of %d", len(l.Data), len(l.Logger))
	}
}
