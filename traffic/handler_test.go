package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A server in this process is shown as one behind a connection.
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
	ask() // nobody watches
	n := watch(t, &l)
	ask()
	if _, got := n.upTo("0 server<- error tools/list", 1); !slices.Equal(got, []string{"0 server-> request tools/list", "0 server<- error tools/list"}) {
		t.Error(got)
	}
}
