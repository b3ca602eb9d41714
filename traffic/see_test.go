package traffic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// see returns a function that ends See and returns its events, a line each.
func see(l *Log) (lines func() []string) {
	var all []string
	stop := l.See(func(e *Event) {
		all = append(all, strings.TrimSpace(fmt.Sprintf("%d %v %s %s %s %s%s%s", e.Call, e.ToServer, e.Kind, e.ID, e.Method, e.Note, e.Message, e.Fault)))
	})
	return func() []string {
		stop()
		return all
	}
}

func TestSeeShowsMessagesAtOnce(t *testing.T) {
	var l Log
	lines := see(&l)
	call := l.Calling("", "far", "tools/call", "t")
	if CallOf(call) != 1 || CallOf(nil) != 0 {
		t.Errorf("the call has the number %d", CallOf(call))
	}
	wire := l.Server("far")
	ctx := wire.Passes(mcp.WithNoteObserver(t.Context(), call), mcp.WireMessage{ToServer: true, Message: []byte(`{"id":3,"method":"tools/call","params":{"password":"hush"}}`)})
	mcp.NoteObserverOf(ctx, "odd").Note("odd", "hush")
	wire.Passes(ctx, mcp.WireMessage{Message: []byte(`{"id":3,"result":{"token":"hush"}}`)})
	ctx = wire.Passes(t.Context(), mcp.WireMessage{ToServer: true, Message: []byte(`{"id":4,"method":"ping"}`)})
	wire.Passes(ctx, mcp.WireMessage{Err: errors.New("gone")})
	ctx = wire.Passes(t.Context(), mcp.WireMessage{ToServer: true, Message: []byte(`{"id":5,"method":"ping"}`)})
	wire.Passes(ctx, mcp.WireMessage{Err: context.Canceled})
	got := lines()
	if want := []string{
		`1 true request 3 tools/call {"id":3,"method":"tools/call","params":{"password":"hush"}}`,
		`1 false note 3 tools/call odd"hush"`,
		`1 false response 3 tools/call {"id":3,"result":{"token":"hush"}}`,
		`0 true request 4 ping {"id":4,"method":"ping"}`,
		`0 false failure 4 ping gone`,
		`0 true request 5 ping {"id":5,"method":"ping"}`,
		`0 false failure 5 ping the request was cancelled before a response came`,
	}; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if wire.Watching() || mcp.NoteObserverOf(wire.Passes(context.Background(), mcp.WireMessage{ToServer: true, Message: []byte(`{"id":5,"method":"ping"}`)}), "odd") != nil || len(lines()) != len(got) {
		t.Error("it goes on after stop")
	}
}

// TestClientResponsesAreMatchedSeparately covers a legacy server that numbers its requests
// from 1, like its client.
func TestClientResponsesAreMatchedSeparately(t *testing.T) {
	var l Log
	lines := see(&l)
	wire := l.Server("far")
	ctx := wire.Passes(t.Context(), mcp.WireMessage{ToServer: true, Message: []byte(`{"id":1,"method":"tools/call"}`)})
	wire.Passes(ctx, mcp.WireMessage{Message: []byte(`{"id":1,"method":"roots/list"}`)})
	wire.Passes(ctx, mcp.WireMessage{ToServer: true, Message: []byte(`{"id":1,"result":{"roots":[]}}`)})
	wire.Passes(ctx, mcp.WireMessage{Message: []byte(`{"id":1,"result":{}}`)})
	if got, want := lines(), []string{
		`0 true request 1 tools/call {"id":1,"method":"tools/call"}`,
		`0 false request 1 roots/list {"id":1,"method":"roots/list"}`,
		`0 true response 1  {"id":1,"result":{"roots":[]}}`,
		`0 false response 1 tools/call {"id":1,"result":{}}`,
	}; !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
