package stream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// A queue is one end of a connection that carries messages over channels, like a websocket.
type queue struct {
	in, out chan []byte
	closed  *closing
}

type closing struct {
	once sync.Once
	done chan struct{}
}

func queues() (*queue, *queue) {
	a, b, c := make(chan []byte, 8), make(chan []byte, 8), &closing{done: make(chan struct{})}
	return &queue{a, b, c}, &queue{b, a, c}
}

func (q *queue) Read(ctx context.Context) ([]byte, error) {
	select {
	case message := <-q.in:
		return message, nil
	case <-q.closed.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (q *queue) Write(ctx context.Context, message []byte) error {
	select {
	case q.out <- append([]byte(nil), message...):
		return nil
	case <-q.closed.done:
		return io.ErrClosedPipe
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (q *queue) Close() error {
	q.closed.once.Do(func() { close(q.closed.done) })
	return nil
}

// A custom transport: any connection that carries whole messages can be used.
func ExampleMessages() {
	s := mcp.NewServer("weather", "1.0")
	mcp.AddTool(s, "forecast", func(context.Context, struct{}) (string, error) { return "rain", nil })

	near, far := queues()
	served := make(chan error)
	go func() { served <- stream.ServeConn(context.Background(), stream.Messages(far), s) }()

	ctx := context.Background()
	c, err := mcp.Dial(ctx, stream.Over(stream.Messages(near), "the queue"))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := mcp.Call[string](ctx, c, "forecast", nil)
	fmt.Println(text, err)
	c.Close()
	fmt.Println(<-served)
	// Output:
	// rain <nil>
	// <nil>
}

func TestEachMessageOfAConnectionIsOneReadAndOneWrite(t *testing.T) {
	near, far := queues()
	wire := stream.Messages(near)
	go func() {
		far.out <- []byte("{\"a\":\n1}")
		far.out <- []byte(`{"b":2}`)
	}()
	in := json.NewDecoder(wire)
	for range 2 {
		if err := in.Decode(new(map[string]int)); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"{\"c\"", ":3}\n{\"d\":4}\n{", "}\n"} {
		if _, err := io.WriteString(wire, part); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{`{"c":3}`, `{"d":4}`, `{}`} {
		if got := string(<-far.in); got != want {
			t.Errorf("written %s, want %s", got, want)
		}
	}
	wire.Close()
	if _, err := wire.Read(make([]byte, 1)); err == nil {
		t.Error("a closed connection reads on")
	}
}
