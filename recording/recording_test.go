package recording_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/recording"
)

// A buffer is a file in memory.
type buffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.String()
}

func revisions() []string { return append(revision.Legacy(), revision.Modern()...) }

type name struct {
	Name string `json:"name"`
}

type said struct {
	Text string `json:"text"`
}

// shop returns a server with everything that a server can do in a call, and outside.
func shop() *mcp.Server {
	s := mcp.NewServer("shop", "1.0")
	visits := 0
	mcp.AddTool(s, "echo", func(_ context.Context, in said) (string, error) { return "you said " + in.Text, nil })
	mcp.AddTool(s, "count", func(context.Context, struct{}) (int, error) { visits++; return visits, nil })
	mcp.AddTool(s, "fail", func(context.Context, struct{}) (string, error) { return "", errors.New("it is broken") })
	mcp.AddTool(s, "work", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 3 {
			mcp.Progress(ctx, float64(i+1), 3, fmt.Sprintf("step %d", i+1))
		}
		mcp.Log(ctx, mcp.LogWarning, "it is late")
		return "done", nil
	})
	mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{}) (string, error) {
		first, err := mcp.Elicit[name](ctx, "Who are you?")
		if err != nil {
			return "", err
		}
		second, err := mcp.Elicit[name](ctx, "And who is "+first.Name+"'s friend?")
		return first.Name + " and " + second.Name, err
	})
	mcp.AddTool(s, "both", func(ctx context.Context, _ struct{}) (string, error) {
		var first, second name
		err := mcp.Parallel(
			func() (err error) { first, err = mcp.Elicit[name](ctx, "The first?"); return },
			func() (err error) { second, err = mcp.Elicit[name](ctx, "The second?"); return },
		)
		return first.Name + "+" + second.Name, err
	})
	mcp.AddTool(s, "grow", func(context.Context, struct{}) (string, error) {
		mcp.AddTool(s, fmt.Sprintf("grown%d", visits), func(context.Context, struct{}) (string, error) { return "", nil })
		visits++
		return "grown", nil
	})
	s.AddResource(mcp.Resource{URI: "shop://list", Name: "list", MIMEType: "text/plain"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "shop://list", MIMEType: "text/plain", Text: "eggs"}}}, nil
	})
	return s
}

// A heard collects all messages to a client, in the order of each call.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) add(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

// dial connects a client to a Handler, over a byte stream.
func dial(t *testing.T, h mcp.Handler, rev string, o mcp.ClientOptions) *mcp.Client {
	t.Helper()
	o.Revision, o.NoCache = rev, true
	c, err := mcp.DialWith(t.Context(), stream.Pipe(h), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// listened is a Peer that calls holds when its subscription is acknowledged.
type listened struct {
	mcp.Peer
	holds func()
}

func (l listened) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == "notifications/subscriptions/acknowledged" {
		defer l.holds()
	}
	return l.Peer.Notify(ctx, method, params)
}

// script makes every kind of request, and returns the messages it got.
func script(t *testing.T, server mcp.Handler, rev string) []string {
	t.Helper()
	holding := make(chan struct{})
	var once sync.Once
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" { // a legacy session sends it at any time
			listen := *req
			listen.Peer = listened{req.Peer, func() { once.Do(func() { close(holding) }) }}
			req = &listen
		}
		return server.Handle(ctx, req)
	})
	out := new(heard)
	asked := new(heard)
	c := dial(t, h, rev, mcp.ClientOptions{
		OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked.add("asked %s %s", req.Message, req.RequestedSchema)
			who := map[string]string{"Who are you?": "Ada", "And who is Ada's friend?": "Charles", "The first?": "one", "The second?": "two"}[req.Message]
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"` + who + `"}`)}, nil
		},
		OnProgress: func(p mcp.ProgressUpdate) { out.add("progress %v %v %s", p.Progress, p.Total, p.Message) },
		OnLog:      func(m mcp.LogMessage) { out.add("log %s %s", m.Level, m.Data) },
		LogLevel:   mcp.LogInfo,
	})
	changed := make(chan struct{}, 10)
	agreed := make(chan struct{})
	listening, stop := context.WithCancel(t.Context())
	defer stop()
	go c.ListenWith(listening, mcp.SubscriptionFilter{ToolsListChanged: true}, func(n mcp.Notification) { changed <- struct{}{} }, func(mcp.SubscriptionFilter) { close(agreed) })
	<-agreed
	do := func(method, params string) {
		r, err := c.Do(t.Context(), method, json.RawMessage(params))
		if err != nil {
			out.add("%s error %v", method, err)
			return
		}
		body, err := r.Encoded()
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(asked.lines) // those of simultaneous requests
		out.lines = append(out.lines, asked.lines...)
		asked.lines = nil
		out.add("%s %s %s", method, body, r.Meta)
	}
	do("tools/list", `{}`)
	do("tools/call", `{"name":"echo","arguments":{"text":"hé ✓ \u2028 \"\\"}}`)
	do("tools/call", `{"name":"count","arguments":{}}`)
	do("tools/call", `{"name":"count","arguments":{}}`)
	do("tools/call", `{"name":"fail"}`)
	do("tools/call", `{"name":"work","arguments":{}}`)
	do("tools/call", `{"name":"ask","arguments":{}}`)
	do("tools/call", `{"name":"both","arguments":{}}`)
	<-holding
	do("tools/call", `{"name":"grow","arguments":{}}`)
	select {
	case <-changed:
		out.add("the tools changed")
	case <-time.After(2 * time.Minute):
		t.Error("no change was heard of")
	}
	do("tools/list", `{}`)
	do("resources/list", `{}`)
	do("resources/read", `{"uri":"shop://list"}`)
	do("resources/read", `{"uri":"shop://nothing"}`)
	capabilities, err := json.Marshal(c.Capabilities())
	out.add("server %+v %s %v", *c.Server(), capabilities, err)
	return out.lines
}

// bridged returns a client of a server behind a client with a revision, like junction proxy.
func bridged(t *testing.T, h mcp.Handler, rev string, m ...mcp.Middleware) *mcp.Client {
	t.Helper()
	return dial(t, h, rev, mcp.ClientOptions{Name: "shop", Bridge: true, Middleware: m})
}

// record connects a client and a server of two revisions, and returns the messages to the client,
// and the file.
func record(t *testing.T, client, server string) (heard []string, file string) {
	t.Helper()
	out := new(buffer)
	r, err := recording.New(out, recording.Options{Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	heard = script(t, bridged(t, shop(), server, r.Middleware("shop")), client)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return heard, out.String()
}

func replay(t *testing.T, file string, o recording.ReplayOptions) *recording.Replay {
	t.Helper()
	r, err := recording.Read(strings.NewReader(file))
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	p, err := recording.NewReplay(r, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAReplayIsTheSameAsTheServerAtEveryRevision checks that a client of any revision gets the same
// messages from the replay as from the server, for every revision of the recorded client and
// server.
func TestAReplayIsTheSameAsTheServerAtEveryRevision(t *testing.T) {
	direct := map[string][]string{} // by the server's and the client's revision
	for _, server := range revisions() {
		for _, client := range revisions() {
			direct[server+client] = script(t, bridged(t, shop(), server), client)
		}
	}
	for _, server := range revisions() {
		for _, made := range revisions() {
			_, file := record(t, made, server)
			for _, client := range revisions() {
				if server != revision.Latest().Name && made != client && made != revision.Latest().Name && client != revision.Latest().Name {
					continue // legacy revisions do not differ among themselves
				}
				t.Run(fmt.Sprintf("server %s, recorded with %s, replayed to %s", server, made, client), func(t *testing.T) {
					p := replay(t, file, recording.ReplayOptions{})
					got := script(t, p, client)
					same(t, got, direct[server+client])
					if t.Failed() {
						t.Logf("the recording:\n%s", file)
					}
				})
			}
		}
	}
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("not heard: %s", want[i])
		case i >= len(want):
			t.Errorf("heard, too: %s", got[i])
		case got[i] != want[i]:
			t.Errorf("heard\n%s, want\n%s", got[i], want[i])
		}
	}
}
