package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// TestAServerInTheSameProcessIsSeen checks that a server in this process is shown like one behind a
// connection.
func TestAServerInTheSameProcessIsSeen(t *testing.T) {
	const call, answer = "tools/call greet", "response tools/call greet"
	for revision, want := range map[string][]string{
		modern: {"1 server-> request " + call, "1 server<- notification notifications/progress", "1 server<- request elicitation/create", "1 server<- " + answer,
			"1 server-> request " + call, "1 server<- notification notifications/progress", "1 server<- request elicitation/create", "1 server-> response", "1 server<- " + answer},
		legacy: {"1 server-> request " + call, "1 server<- notification notifications/progress", "1 server<- request elicitation/create", "1 server-> response", "1 server<- " + answer},
	} {
		var l Log
		c, err := mcp.DialWith(t.Context(), stream.PipeWith(l.Handler("inner", server(t)), mcp.ServeOptions{Wire: l.Clients()}), mcp.ClientOptions{Revision: revision, OnProgress: func(mcp.ProgressUpdate) {},
			OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"ann"}`)}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		n := watch(t, &l)
		if r, err := c.CallTool(t.Context(), "greet", nil); err != nil || r.Text() != "hello ann" {
			t.Fatal(r, err)
		}
		times := 1
		if revision == modern {
			times = 2
		}
		_, got := n.upTo("1 client<- "+answer, times)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", revision, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, e := range n.all {
			if e.Hop == Server && (e.Server != "inner" || e.Transport != "process" || len(e.Message) == 0) {
				t.Errorf("%+v", e)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnErrorOfAServerInTheSameProcessIsSeen(t *testing.T) {
	var l Log
	h := l.Handler("inner", mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) { return mcp.Result{}, errors.New("it broke") }))
	ask := func() {
		if _, err := h.Handle(t.Context(), mcp.NewRequest("tools/list", nil)); err == nil || err.Error() != "it broke" {
			t.Error(err)
		}
	}
	ask() // without watchers
	n := watch(t, &l)
	ask()
	if _, got := n.upTo("0 server<- error tools/list", 1); !slices.Equal(got, []string{"0 server-> request tools/list", "0 server<- error tools/list"}) {
		t.Error(got)
	}
}

func BenchmarkHandler(b *testing.B) {
	for _, watched := range []bool{false, true} {
		b.Run(fmt.Sprintf("watched %v", watched), func(b *testing.B) {
			var l Log
			h := l.Handler("inner", mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
				return mcp.Result{JSON: json.RawMessage(`{"content":[{"type":"text","text":"hello"}]}`)}, req.Peer.Notify(ctx, "notifications/progress", json.RawMessage(`{"progress":1}`))
			}))
			if watched {
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				go l.Watch(ctx, func(*Event) error { return nil })
				for !l.Clients().Watching() {
				}
			}
			req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"greet","arguments":{"name":"ann"}}`))
			req.Peer = silent{}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.Handle(b.Context(), req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// silent is a client that accepts notifications.
type silent struct{}

func (silent) Notify(context.Context, string, json.RawMessage) error { return nil }

func (silent) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, errors.New("it answers nothing")
}
