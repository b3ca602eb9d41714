package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A sluggish file accepts a line only when may is signalled.
type sluggish struct {
	mu   sync.Mutex
	data bytes.Buffer
	may  chan struct{} // nil means always
	err  error
}

func (s *sluggish) Write(p []byte) (int, error) {
	if s.may != nil && s.data.Len() > 0 { // the first line is written at once
		<-s.may
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil && s.data.Len() > 0 {
		return 0, s.err
	}
	return s.data.Write(p)
}

func (s *sluggish) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data.String()
}

func saying(text string) mcp.Handler {
	return mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: []byte(`{"text":"` + text + `"}`)}, nil
	})
}

func newRecorder(t *testing.T, f *sluggish, o Options) *Recorder {
	t.Helper()
	r, err := New(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func request(t *testing.T, h mcp.Handler, method, params string) mcp.Result {
	t.Helper()
	result, err := h.Handle(t.Context(), mcp.NewRequest(method, []byte(params)))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestSlowFilesDelayNothingAndReportGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &sluggish{may: make(chan struct{})}
		r := newRecorder(t, f, Options{})
		h := r.Middleware("s")(saying(strings.Repeat("x", 1<<20)))
		began := time.Now()
		for range 50 { // 50 MiB, of which 32 can wait
			request(t, h, "tools/list", `{}`)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the traffic was delayed by %v", took)
		}
		close(f.may)
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		got, err := Read(strings.NewReader(f.text()))
		if err != nil {
			t.Fatal(err)
		}
		ended := 0
		for _, c := range got.calls {
			if c.end() != nil {
				ended++
			}
		}
		if got.Lost == 0 || ended < 30 || ended > 32 || ended+got.Lost < 51 || !got.Whole {
			t.Errorf("of 51 calls %d are whole, and %d messages are said to be missing", ended, got.Lost)
		}
	})
}

func TestMessagesAreWrittenBeforeTheyAreForwarded(t *testing.T) {
	f := new(sluggish)
	r := newRecorder(t, f, Options{Through: true})
	var before string
	h := r.Middleware("s")(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "tools/call" {
			before = f.text()
		}
		return mcp.Result{}, nil
	}))
	request(t, h, "tools/call", `{"name":"first"}`)
	if !strings.Contains(before, `"name":"first"`) {
		t.Errorf("when the server gets the call, the file has\n%s", before)
	}
	// A recording can be read although its Recorder was not closed.
	got, err := Read(strings.NewReader(f.text()))
	if err != nil || len(got.calls) != 2 || got.Whole {
		t.Errorf("%d calls, whole %v, %v", len(got.calls), got.Whole, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestAFileThatCannotBeWrittenFailsNoTraffic(t *testing.T) {
	for _, through := range []bool{false, true} {
		f := &sluggish{err: errors.New("no space left")}
		var said []string
		var mu sync.Mutex
		r := newRecorder(t, f, Options{Through: through, OnError: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, err.Error())
		}})
		h := r.Middleware("s")(saying("x"))
		for range 3 {
			if got := string(request(t, h, "tools/list", `{}`).JSON); got != `{"text":"x"}` {
				t.Errorf("got %s", got)
			}
		}
		if err := r.Close(); err == nil || err.Error() != "the recording ends here: no space left" {
			t.Errorf("Close says %v", err)
		}
		if len(said) != 1 {
			t.Errorf("said was %q", said)
		}
	}
}

func TestALongMessageIsLeftOutAndTheReplaySaysSo(t *testing.T) {
	f := new(sluggish)
	r := newRecorder(t, f, Options{Through: true}) // two such lines exceed the queue
	h := r.Middleware("s")(saying(strings.Repeat("x", maxLine)))
	request(t, h, "tools/list", `{}`)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Read(strings.NewReader(f.text()))
	if err != nil || got.Lost != 2 { // the server's description is as long
		t.Fatalf("lost %d, %v", got.Lost, err)
	}
	p, err := NewReplay(got, ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Handle(t.Context(), mcp.NewRequest("tools/list", nil)); err == nil || !strings.Contains(err.Error(), "too long to be recorded") {
		t.Errorf("the replay says %v", err)
	}
}

// TestBlockedWritesAreBounded checks that a cancelled caller does not wait for
// the file, and that its further messages do not exceed the queue.
func TestBlockedWritesAreBounded(t *testing.T) {
	f := &sluggish{may: make(chan struct{})}
	r := newRecorder(t, f, Options{Through: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	params := []byte(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
	for range 50 { // 50 MiB, of which 32 can wait
		r.add(ctx, &line{Event: eventNotification, Call: 1, Method: "m", Params: params})
	}
	r.mu.Lock()
	queued := r.queued
	r.mu.Unlock()
	if queued > maxQueued {
		t.Errorf("%d bytes wait, want at most %d", queued, maxQueued)
	}
	close(f.may)
	if err := r.Close(); err != nil || !strings.Contains(f.text(), `"event":"lost"`) {
		t.Errorf("%v, and the file does not say what was lost", err)
	}
}

func TestARecordingEndsWhereSecretsHaveNoPlace(t *testing.T) {
	f, failed := &sluggish{}, make(chan error, 1)
	r := newRecorder(t, f, Options{Through: true, OnError: func(err error) { failed <- err }})
	h := r.Middleware("s")(saying("the last is secret-10000"))
	for i := range maxHidden {
		r.Hide("secret-" + strconv.Itoa(i))
	}
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
	r.Hide("secret-10000")
	request(t, h, "tools/list", `{}`)
	if err := r.Close(); err == nil || (<-failed).Error() != err.Error() {
		t.Errorf("nothing says that the recording ends: %v", err)
	}
	if text := f.text(); strings.Contains(text, "the last") || strings.Contains(text, eventEnd) {
		t.Errorf("the recording is\n%s", text)
	}
}

func TestAFileIsAsLargeAsItMayBe(t *testing.T) {
	f := &file{w: new(sluggish), size: MaxSize - 2<<10}
	long := &line{MS: 1, Event: eventResult, Call: 1, Result: []byte(`{"text":"` + strings.Repeat("x", 2<<10) + `"}`)}
	if err := f.add(long); !errors.Is(err, errFull) {
		t.Errorf("add says %v", err)
	}
	if err := f.add(&line{Event: eventEnd}); err != nil {
		t.Errorf("behind the end, add says %v", err)
	}
	if got, want := f.w.(*sluggish).text(), `{"ms":1,"event":"full"}`+"\n"; got != want {
		t.Errorf("the file ends with %s, want %s", got, want)
	}
}

func TestSecretsThatAreKnownGetIntoNoRecording(t *testing.T) {
	f := new(sluggish)
	r := newRecorder(t, f, Options{})
	r.Hide("planted-header-1", "planted-variable-2", "")
	h := r.Middleware("s")(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == methodDiscover {
			return mcp.Result{JSON: []byte(`{"instructions":"with planted-header-1"}`)}, nil
		}
		_ = req.Peer.Notify(ctx, "notifications/message", []byte(`{"data":"planted-variable-2"}`))
		_, _ = req.Peer.Ask(ctx, mcp.ServerRequest{Method: "elicitation/create", Params: []byte(`{"message":"planted-header-1?"}`)})
		return mcp.Result{}, mcp.Errorf(1, "it was %s", req.Params)
	}))
	req := mcp.NewRequest("tools/call", []byte(`{"name":"t","arguments":{"password":"planted-argument-3"}}`))
	req.Peer = answering(`{"action":"accept","content":{"token":"planted-answer-4"}}`)
	if _, err := h.Handle(t.Context(), req); err == nil {
		t.Error("the error is gone")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(f.text(), "planted") || strings.Count(f.text(), "{{secret-") != 6 {
		t.Errorf("the recording has\n%s", f.text())
	}
}

// answering is a client that responds to every request.
type answering string

func (answering) Notify(context.Context, string, json.RawMessage) error { return nil }

func (a answering) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return json.RawMessage(a), nil
}

func TestACallWithoutAnEncodedResultHasAnEnd(t *testing.T) {
	f := new(sluggish)
	r := newRecorder(t, f, Options{})
	h := r.Middleware("s")(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{Value: func() {}}, nil
	}))
	_, err := h.Handle(t.Context(), mcp.NewRequest("server/discover", nil))
	if closed := r.Close(); err == nil || closed != nil {
		t.Fatal(err, closed)
	}
	if got := strings.Count(f.text(), `"event":"error","call":1,"error":{"code":-32603,`); got != 1 {
		t.Errorf("the recording is\n%s", f.text())
	}
}

func BenchmarkMiddleware(b *testing.B) {
	r, err := New(io.Discard, Options{Through: true})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	h := r.Middleware("s")(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: json.RawMessage(`{"content":[{"type":"text","text":"hello"}]}`)}, req.Peer.Notify(ctx, "notifications/progress", json.RawMessage(`{"progress":1}`))
	}))
	req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"greet","arguments":{"name":"ann"}}`))
	req.Peer = answering(`{}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Handle(b.Context(), req); err != nil {
			b.Fatal(err)
		}
	}
}
