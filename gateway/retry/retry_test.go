package retry

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
)

func TestIdempotentCallsAreResentWithoutAResponse(t *testing.T) {
	lost := errors.New("lost")
	answered := mcp.Errorf(mcp.CodeInternalError, "it failed")
	for _, test := range []struct {
		name  string
		times int
		errs  []error
		want  int // counts requests
		err   error
		took  time.Duration
	}{
		{"the first attempt works", 3, nil, 1, nil, 0},
		{"the second works", 3, []error{lost}, 2, nil, 250 * time.Millisecond},
		{"the last works", 3, []error{lost, lost, lost}, 4, nil, 1750 * time.Millisecond},
		{"none works", 2, []error{lost, lost, lost}, 3, lost, 750 * time.Millisecond},
		{"it must not be made twice", 0, []error{lost}, 1, lost, 0},
		{"the server answered with an error", 3, []error{answered}, 1, answered, 0},
		{"then it answers with an error", 3, []error{lost, answered}, 2, answered, 250 * time.Millisecond},
		{"it needs input", 3, []error{mcp.ErrInputRequired}, 1, mcp.ErrInputRequired, 0},
		{"this side closed the connection", 3, []error{mcp.ErrClosed}, 1, mcp.ErrClosed, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				made := 0
				h := Middleware(Options{Times: func(*mcp.Request) int { return test.times }})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
					if made++; made <= len(test.errs) {
						return mcp.Result{}, test.errs[made-1]
					}
					return mcp.Result{}, nil
				}))
				began := time.Now()
				again := new(repeats)
				_, err := h.Handle(mcp.WithNoteObserver(t.Context(), again), mcp.NewRequest("tools/call", []byte(`{"name":"t"}`)))
				if made != test.want || again.Load() != int32(test.want-1) || !errors.Is(err, test.err) || time.Since(began) != test.took {
					t.Errorf("%d requests in %v, and %v; want %d in %v, and %v", made, time.Since(began), err, test.want, test.took, test.err)
				}
			})
		})
	}
}

func TestNothingIsSentAgainWhenItIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		made := 0
		h := Middleware(Options{Times: func(*mcp.Request) int { return 100 }})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			made++
			return mcp.Result{}, errors.New("lost")
		}))
		if _, err := h.Handle(ctx, mcp.NewRequest("resources/read", []byte(`{"uri":"a:b"}`))); err == nil || made != 3 {
			t.Errorf("%d requests, %v", made, err)
		}
	})
}

// A repeats counts the notes about repeated requests.
type repeats struct{ atomic.Int32 }

func (r *repeats) Note(kind string, _ any) {
	if kind == note.Retry {
		r.Add(1)
	}
}
