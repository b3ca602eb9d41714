package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
)

func call(ctx context.Context, h mcp.Handler, caller any) error {
	req := mcp.NewRequest("tools/call", []byte(`{"name":"t"}`))
	req.Caller = caller
	result, err := h.Handle(ctx, req)
	if err == nil {
		body, _ := result.Encoded()
		if strings.Contains(string(body), `"isError":true`) {
			return errors.New(string(body))
		}
	}
	return err
}

func nothing(context.Context, *mcp.Request) (mcp.Result, error) { return mcp.Result{}, nil }

func TestCallsInATimeAreBoundedForEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Middleware(Options{Calls: 3, In: time.Minute, Key: Caller, Whose: "client"})(mcp.HandlerFunc(nothing))
		allowed := func(caller any) (n int) {
			for range 10 {
				if err := call(t.Context(), h, caller); err == nil {
					n++
				} else if !strings.Contains(err.Error(), "3 in a minute are allowed for client; try again in 20s") {
					t.Errorf("the error is %v", err)
				}
			}
			return n
		}
		if a, b := allowed("a"), allowed("b"); a != 3 || b != 3 {
			t.Errorf("allowed were %d and %d", a, b)
		}
		time.Sleep(40 * time.Second)
		if n := allowed("a"); n != 2 {
			t.Errorf("after 40 s allowed are %d", n)
		}
		time.Sleep(time.Hour)
		if n := allowed("a"); n != 3 {
			t.Errorf("after an hour allowed are %d", n)
		}
		req := mcp.NewRequest("tools/call", []byte(`{"name":"t"}`))
		req.Caller, req.Round = "a", 1
		if result, err := h.Handle(t.Context(), req); err != nil || result.Value == nil {
			t.Errorf("a further round beyond what is allowed: %v, %v", result.Value, err)
		}
		time.Sleep(20 * time.Second)
		for i, refused := range []bool{false, true} { // whoever has its state can send it again
			if result, err := h.Handle(t.Context(), req); err != nil || (result.Value != nil) != refused {
				t.Errorf("the same round for the %d. time: %v, %v", i+1, result.Value, err)
			}
		}
		if _, err := h.Handle(t.Context(), mcp.NewRequest("tools/list", nil)); err != nil {
			t.Error(err)
		}
	})
}

func TestCallsAtATimeWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		now, most := 0, 0
		h := Middleware(Options{Concurrent: 2})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return mcp.Result{}, nil
		}))
		begin := time.Now()
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if err := call(t.Context(), h, i); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(begin); most != 2 || took != 5*time.Second {
			t.Errorf("%d ran at the same time, in %v", most, took)
		}
		for range 2 {
			all.Go(func() { _ = call(t.Context(), h, nil) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := call(ctx, h, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("one that does not want to wait: %v", err)
		}
		all.Wait()
		if err := call(t.Context(), h, nil); err != nil {
			t.Error(err)
		}
	})
}

func TestWaitersAndCallersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		l := New(Options{Concurrent: 1, Key: Caller})
		h := l.Around(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			<-end
			return mcp.Result{}, nil
		}))
		var all sync.WaitGroup
		for range maxWaiting + 1 {
			all.Go(func() { _ = call(t.Context(), h, "a") })
		}
		synctest.Wait()
		if err := call(t.Context(), h, "a"); err == nil || !strings.Contains(err.Error(), "wait for their turn") {
			t.Errorf("the error is %v", err)
		}
		close(end)
		all.Wait()
		for i := range maxKeys + 100 {
			if err := call(t.Context(), h, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if len(l.all) > maxKeys {
			t.Errorf("limits of %d are kept", len(l.all))
		}
	})
}

func TestBytesOfResultsInATimeAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := Middleware(Options{Bytes: 1_000, BytesIn: time.Minute})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			return mcp.Result{Value: &mcp.CallToolResult{Content: []mcp.Content{mcp.Text(strings.Repeat("x", 2_500))}}}, nil
		}))
		if err := call(t.Context(), h, nil); err != nil {
			t.Errorf("the first call: %v", err)
		}
		err := call(t.Context(), h, nil)
		if err == nil || !strings.Contains(err.Error(), "too much was read: 1000 bytes in a minute are allowed for you; try again in ") {
			t.Errorf("the second call: %v", err)
		}
		time.Sleep(time.Minute)
		if call(t.Context(), h, nil) == nil {
			t.Error("a minute later 1,500 bytes were too many, and only 1,000 were due")
		}
		time.Sleep(time.Minute)
		if err := call(t.Context(), h, nil); err != nil {
			t.Errorf("two minutes later: %v", err)
		}
	})
}

func TestRefusalIsNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var noted []note.Decision
		ctx := mcp.WithNoteObserver(t.Context(), noteFunc(func(kind string, value any) {
			if d, ok := value.(note.Decider).Decision(); ok && kind == note.Limit {
				noted = append(noted, d)
			}
		}))
		many := Middleware(Options{Calls: 1, In: time.Hour})(mcp.HandlerFunc(nothing))
		for range 2 {
			_, _ = many.Handle(ctx, mcp.NewRequest("prompts/get", []byte(`{"name":"p"}`)))
		}
		busy := Middleware(Options{Concurrent: 1, Whose: "server files"})(mcp.HandlerFunc(func(ctx context.Context, _ *mcp.Request) (mcp.Result, error) {
			<-ctx.Done()
			return mcp.Result{}, context.Cause(ctx)
		}))
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		var calls sync.WaitGroup
		for range 2 { // the second one gives up before its turn
			calls.Go(func() { _, _ = busy.Handle(ctx, mcp.NewRequest("tools/call", []byte(`{"name":"t"}`))) })
		}
		calls.Wait()
		want := []note.Decision{
			{Effect: "deny", Rule: "the limit of each caller", Reason: "too many calls: 1 in an hour are allowed for you; try again in 1h0m0s", Refused: true, Whatever: true},
			{Effect: "deny", Rule: "the limit of server files", Reason: "waited for its turn, as at most 1 calls may run at the same time for server files: context deadline exceeded", Refused: true, Whatever: true},
		}
		if !slices.Equal(noted, want) {
			t.Errorf("noted %+v\nwant %+v", noted, want)
		}
	})
}

// A noteFunc is a function that is an [mcp.NoteObserver].
type noteFunc func(kind string, value any)

func (n noteFunc) Note(kind string, value any) { n(kind, value) }
