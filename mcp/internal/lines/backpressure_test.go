package lines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A lateReader is a client that reads nothing until it is opened. It keeps the beginning of every
// line.
type lateReader struct {
	open chan struct{}
	mu   sync.Mutex
	got  bytes.Buffer
}

func (r *lateReader) Write(data []byte) (int, error) {
	<-r.open
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range bytes.Lines(data) {
		r.got.Write(line[:min(len(line), 200)])
	}
	return len(data), nil
}

func (r *lateReader) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got.String()
}

// requests generates n requests while they are read.
type requests struct {
	n, sent int
	left    bytes.Buffer
}

func (r *requests) Read(b []byte) (int, error) {
	for r.left.Len() == 0 {
		if r.sent == r.n {
			return 0, io.EOF
		}
		r.sent++
		fmt.Fprintf(&r.left, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"big",%s}}`+"\n", r.sent, meta)
	}
	return r.left.Read(b)
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func newEdge(t *testing.T, h mcp.HandlerFunc) *edge.Edge {
	t.Helper()
	e, err := edge.Serving(h, mcp.ServeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func liveHeap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestAClientThatReadsNothingIsReadFromNoLonger(t *testing.T) {
	const calls, size = 5_000, 100 << 10
	result := mcp.Result{JSON: []byte(`{"x":"` + strings.Repeat("x", size) + `"}`)}
	e := newEdge(t, func(context.Context, *mcp.Request) (mcp.Result, error) { return result, nil })
	synctest.Test(t, func(t *testing.T) {
		before := liveHeap()
		out, in := &lateReader{open: make(chan struct{})}, &requests{n: calls}
		var served error
		var serving sync.WaitGroup
		serving.Go(func() { served = Serve(t.Context(), e, in, out, nil, mcp.ServeOptions{}) })
		synctest.Wait()
		if grown := liveHeap() - before; grown > 32<<20 {
			t.Errorf("the heap grew by %d MiB", grown>>20)
		} else {
			t.Logf("the heap grew by %d KiB; %d requests were read", grown>>10, in.sent)
		}
		if in.sent == calls {
			t.Errorf("all %d requests were read", calls)
		}
		close(out.open)
		serving.Wait()
		if served != nil {
			t.Error(served)
		}
		if got := strings.Count(out.String(), `"resultType":"complete"`); got != calls {
			t.Errorf("%d of %d calls were answered", got, calls)
		}
	})
}

func TestACancellationIsReadThoughResponsesCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := make(chan error, 1)
		e := newEdge(t, func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Name == "slow" {
				<-ctx.Done()
				cancelled <- context.Cause(ctx)
				return mcp.Result{}, ctx.Err()
			}
			return mcp.Result{JSON: []byte(`{"x":"` + strings.Repeat("x", 2*maxGathered) + `"}`)}, nil
		})
		in, client := io.Pipe()
		out := &lateReader{open: make(chan struct{})}
		var serving sync.WaitGroup
		serving.Go(func() { Serve(t.Context(), e, in, out, nil, mcp.ServeOptions{}) })
		for id, name := range []string{"slow", "big", "big", "big", "big"} {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,%s}}`+"\n", id, name, meta)
			synctest.Wait()
		}
		io.WriteString(client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`+"\n")
		synctest.Wait()
		select {
		case cause := <-cancelled:
			if cause != edge.ErrCancelled {
				t.Error(cause)
			}
		default:
			t.Error("the call goes on")
		}
		close(out.open)
		client.Close()
		serving.Wait()
		if got := strings.Count(out.String(), `"result":`); got != 4 {
			t.Errorf("%d of 4 calls were answered", got)
		}
	})
}

// A client may begin to read late and only then respond to requests.
func TestARequestGetsItsResponseOnceTheClientReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			switch req.Name {
			case "ask":
				answer, err := req.Peer.Ask(ctx, mcp.ServerRequest{Method: "roots/list"})
				return mcp.Result{JSON: answer}, err
			case "big":
				return mcp.Result{JSON: []byte(`{"x":"` + strings.Repeat("x", maxGathered) + `"}`)}, nil
			}
			return mcp.Result{JSON: []byte(`{"capabilities":{}}`)}, nil
		})
		in, client := io.Pipe()
		out := &lateReader{open: make(chan struct{})}
		var serving sync.WaitGroup
		serving.Go(func() { Serve(t.Context(), e, in, out, nil, mcp.ServeOptions{}) })
		io.WriteString(client, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}}}}`+"\n")
		for id, name := range []string{"big", "big", "big", "ask", "big"} {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`+"\n", id+1, name)
			synctest.Wait()
		}
		close(out.open)
		synctest.Wait()
		if !strings.Contains(out.String(), `"method":"roots/list"`) {
			t.Fatal("the client is asked nothing")
		}
		io.WriteString(client, `{"jsonrpc":"2.0","id":"junction-1","result":{"roots":[]}}`+"\n")
		client.Close()
		serving.Wait()
		if !strings.Contains(out.String(), `"result":{"roots":[]}`) || strings.Count(out.String(), `"result":`) != 6 {
			t.Errorf("answered: %d results", strings.Count(out.String(), `"result":`))
		}
	})
}

// A brokenWriter is a client that closed its reading side.
type brokenWriter struct{}

var errBroken = errors.New("the other side is closed")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestAfterAWriteErrorNothingIsGathered(t *testing.T) {
	w := NewWriter(brokenWriter{})
	message := make([]byte, 1<<20)
	for range 100 {
		if err := w.Send(t.Context(), message); err != errBroken {
			t.Fatal(err)
		}
		w.Give(t.Context(), bytes.Clone(message))
	}
	if len(w.gathered) > 0 || cap(w.gathered)+cap(w.spare) > 2<<20 {
		t.Errorf("%d bytes are kept", cap(w.gathered)+cap(w.spare))
	}
}

func TestServeEndsWithTheErrorOfAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{}, 1)
		e := newEdge(t, func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Name == "slow" {
				<-ctx.Done()
				ended <- struct{}{}
			}
			return mcp.Result{}, nil
		})
		in, client := io.Pipe()
		result := make(chan error, 1)
		go func() {
			result <- Serve(t.Context(), e, in, brokenWriter{}, func() { in.Close() }, mcp.ServeOptions{DrainTimeout: time.Minute})
		}()
		began := time.Now()
		for id, name := range []string{"slow", "fast"} {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,%s}}`+"\n", id, name, meta)
		}
		if err := <-result; err != errBroken {
			t.Error(err)
		}
		<-ended
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// Lines that are not messages get responses too and count like requests.
func TestClientsThatReadNothingAreNotReadFrom(t *testing.T) {
	e := newEdge(t, func(context.Context, *mcp.Request) (mcp.Result, error) { return mcp.Result{}, nil })
	const sent = 100_000
	in := strings.NewReader(strings.Repeat("{\n", sent))
	synctest.Test(t, func(t *testing.T) {
		out := &lateReader{open: make(chan struct{})}
		before := runtime.NumGoroutine()
		var serving sync.WaitGroup
		serving.Go(func() { Serve(t.Context(), e, in, out, nil, mcp.ServeOptions{}) })
		synctest.Wait()
		if grown := runtime.NumGoroutine() - before; grown > 1_000 {
			t.Errorf("%d goroutines wait", grown)
		}
		close(out.open)
		serving.Wait()
		if got := strings.Count(out.String(), `"error":`); got != sent {
			t.Errorf("%d of %d lines were answered", got, sent)
		}
	})
}

// At the end of the input, responses must still wait for a client that reads them a moment later.
func TestResponsesThatWaitForTheClientOutlastTheInput(t *testing.T) {
	const calls = 50
	result := mcp.Result{JSON: []byte(`{"x":"` + strings.Repeat("x", 100<<10) + `"}`)}
	e := newEdge(t, func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
		time.Sleep(time.Second) // all are read by then
		return result, nil
	})
	synctest.Test(t, func(t *testing.T) {
		out := &lateReader{open: make(chan struct{})}
		var serving sync.WaitGroup
		serving.Go(func() {
			Serve(t.Context(), e, &requests{n: calls}, out, nil, mcp.ServeOptions{DrainTimeout: 10 * time.Second})
		})
		time.Sleep(5 * time.Second)
		close(out.open)
		serving.Wait()
		if got := strings.Count(out.String(), `"resultType":"complete"`); got != calls {
			t.Errorf("%d of %d calls were answered", got, calls)
		}
	})
}

func TestABatchAtTheEndOfTheInputIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEdge(t, func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			switch req.Name {
			case "big":
				return mcp.Result{JSON: []byte(`{"x":"` + strings.Repeat("x", 2*maxGathered) + `"}`)}, nil
			case "small":
				return mcp.Result{JSON: []byte(`{"small":true}`)}, ctx.Err()
			}
			return mcp.Result{JSON: []byte(`{"capabilities":{}}`)}, nil
		})
		in, client := io.Pipe()
		out := &lateReader{open: make(chan struct{})}
		var serving sync.WaitGroup
		serving.Go(func() { Serve(t.Context(), e, in, out, nil, mcp.ServeOptions{DrainTimeout: time.Minute}) })
		io.WriteString(client, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}`+"\n")
		synctest.Wait()
		io.WriteString(client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big"}}`+"\n")
		synctest.Wait()
		io.WriteString(client, `[{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"small"}}]`+"\n")
		synctest.Wait()
		client.Close()
		synctest.Wait()
		close(out.open)
		serving.Wait()
		if !strings.Contains(out.String(), `"small":true`) {
			t.Error("the batch was not answered")
		}
	})
}

// A Handler whose handshake is slow must not keep Serve from ending.
func TestServeEndsDuringAHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan struct{})
		e := newEdge(t, func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
			close(begun)
			<-ctx.Done()
			return mcp.Result{}, ctx.Err()
		})
		in, client := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- Serve(ctx, e, in, io.Discard, func() { in.Close() }, mcp.ServeOptions{DrainTimeout: time.Second})
		}()
		io.WriteString(client, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`+"\n")
		<-begun
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("Serve goes on a minute after its context ended, with a drain time of a second")
		}
	})
}
