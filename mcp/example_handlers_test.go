package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

func ExampleHandlerFunc() {
	h := mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "unknown method %q", req.Method)
	})
	_, err := h.Handle(context.Background(), mcp.NewRequest("tools/list", nil))
	fmt.Println(err)
	// Output: unknown method "tools/list" (code -32601)
}

func ExampleMiddleware() {
	var calls atomic.Int32
	count := func(next mcp.Handler) mcp.Handler {
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tools/call" && req.Round == 0 {
				calls.Add(1)
			}
			return next.Handle(ctx, req)
		})
	}
	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", forecast)
	c := mcp.NewClient(mcp.Chain(s, count))
	defer c.Close()
	c.CallTool(context.Background(), "forecast", trip{City: "Oslo", Days: 1})
	fmt.Println(calls.Load())
	// Output: 1
}

// Middleware that watches the notifications of a request wraps its Peer.
type countingPeer struct {
	mcp.Peer
	count *atomic.Int32
}

func (p countingPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	p.count.Add(1)
	return p.Peer.Notify(ctx, method, params)
}

func (p countingPeer) Unwrap() mcp.Peer { return p.Peer }

func ExamplePeer() {
	s := mcp.NewServer("build", "1.0")
	mcp.AddTool(s, "build", func(ctx context.Context, _ struct{}) (string, error) {
		return "done", mcp.Progress(ctx, 1, 2, "compiled")
	})
	var count atomic.Int32
	c := mcp.NewClientWith(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		watched := *req
		watched.Peer = countingPeer{req.Peer, &count}
		return s.Handle(ctx, &watched)
	}), mcp.ClientOptions{OnProgress: func(mcp.ProgressUpdate) {}})
	defer c.Close()
	c.CallTool(context.Background(), "build", nil)
	fmt.Println(count.Load())
	// Output: 1
}

func ExampleNoPeer() {
	req := mcp.NewRequest("tools/list", nil)
	req.Peer = mcp.NoPeer{} // a request that the program makes for itself
	_, err := req.Peer.Ask(context.Background(), mcp.ServerRequest{Method: "roots/list"})
	fmt.Println(err)
	// Output: roots/list: there is no client to ask (code -32601)
}

func ExampleSession() {
	type key struct{}
	s := mcp.NewServer("counter", "1.0")
	mcp.AddTool(s, "count", func(ctx context.Context, _ struct{}) (string, error) {
		session := mcp.RequestFrom(ctx).Session // nil for modern clients
		n, _ := session.Value(key{}).(int)
		if n == 0 {
			context.AfterFunc(session.Context(), func() { /* release what belongs to the session */ })
		}
		session.SetValue(key{}, n+1)
		return fmt.Sprint(n + 1), nil
	})
	c, err := mcp.DialWith(context.Background(), stream.Pipe(s), mcp.ClientOptions{Revision: "2025-11-25"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for range 2 {
		text, _ := mcp.Call[string](context.Background(), c, "count", nil)
		fmt.Println(text)
	}
	// Output:
	// 1
	// 2
}

func ExampleMeta() {
	s := mcp.NewServer("hello", "1.0")
	mcp.AddTool(s, "hello", func(ctx context.Context, _ struct{}) (string, error) {
		return "Hello, " + mcp.RequestFrom(ctx).Meta.Client.Name, nil
	})
	c := mcp.NewClientWith(s, mcp.ClientOptions{Info: mcp.Implementation{Name: "desk", Version: "1.0"}})
	defer c.Close()
	text, _ := mcp.Call[string](context.Background(), c, "hello", nil)
	fmt.Println(text)
	// Output: Hello, desk
}

func ExampleTransportInfo() {
	s := mcp.NewServer("way", "1.0")
	mcp.AddTool(s, "way", func(ctx context.Context, _ struct{}) (string, error) {
		return mcp.TransportInfoOf(mcp.RequestFrom(ctx)).Network, nil
	})
	c, err := mcp.Dial(context.Background(), stream.Pipe(s))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	text, _ := mcp.Call[string](context.Background(), c, "way", nil)
	fmt.Println(text)
	// Output: pipe
}

// countedWire counts the messages in each direction.
type countedWire struct{ sent, received atomic.Int32 }

func (w *countedWire) Watching() bool { return true }

func (w *countedWire) Passes(ctx context.Context, m mcp.WireMessage) context.Context {
	if m.ToServer {
		w.sent.Add(1)
	} else {
		w.received.Add(1)
	}
	return ctx
}

func ExampleWire() {
	wire := new(countedWire)
	c, err := mcp.DialWith(context.Background(), stream.Pipe(mcp.NewServer("example", "1.0")), mcp.ClientOptions{Wire: wire})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	before := wire.sent.Load()
	c.Ping(context.Background())
	fmt.Println(wire.sent.Load()-before, wire.received.Load() > 0)
	// Output: 1 true
}

func ExampleClientCapabilities() {
	able := &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}}}
	form := mcp.ServerRequest{Method: "elicitation/create", Params: json.RawMessage(`{"mode":"form"}`)}
	page := mcp.ServerRequest{Method: "elicitation/create", Params: json.RawMessage(`{"mode":"url"}`)}
	fmt.Println(able.Allow(form), able.Allow(page) == nil)
	// Output: <nil> false
}

func ExampleState() {
	state := new(mcp.State)
	state.Set("step", json.RawMessage(`2`))
	fmt.Println(string(state.Get("step")), len(state.All()))
	// Output: 2 1
}
