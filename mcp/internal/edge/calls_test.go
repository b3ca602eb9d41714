package edge

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

func begin(t *testing.T, calls *Calls[jsonrpc.ID], id jsonrpc.ID, listens bool) context.Context {
	t.Helper()
	ctx, fault := calls.Begin(t.Context(), id, listens, 2)
	if fault != nil {
		t.Fatal(fault)
	}
	return ctx
}

func TestTableRefusesExcessDuplicatesAndLateEntries(t *testing.T) {
	var calls Calls[jsonrpc.ID]
	begin(t, &calls, "1", false)
	if _, fault := calls.Begin(t.Context(), "1", false, 2); fault == nil || fault.Code != jsonrpc.InvalidRequest {
		t.Errorf("the same id twice: %v", fault)
	}
	begin(t, &calls, "2", true)
	if _, fault := calls.Begin(t.Context(), "3", false, 2); fault == nil || fault.Code != jsonrpc.InternalError {
		t.Errorf("a third of two: %v", fault)
	}
	calls.Close(ErrShutdown)
	calls.End("1")
	if _, fault := calls.Begin(t.Context(), "3", false, 2); fault == nil || fault.Message != ErrShutdown.Error() {
		t.Errorf("after Close: %v", fault)
	}
}

func TestDrainWaitsForRequestsAndWaitForListensToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls[jsonrpc.ID]
		request, listen := begin(t, &calls, "1", false), begin(t, &calls, "2", true)
		time.AfterFunc(time.Second, func() { calls.End("1") })
		began := time.Now()
		if err := calls.Drain(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("Drain returned %v after %v", err, time.Since(began))
		}
		if request.Err() == nil {
			t.Error("the context of a request that ended goes on")
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := calls.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait returned %v while a listen runs", err)
		}
		calls.CancelListens(ErrShutdown)
		if context.Cause(listen) != ErrShutdown {
			t.Errorf("the listen ended with %v", context.Cause(listen))
		}
		calls.End("2")
		if err := calls.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCancelEndsOneRequestAndCancelAllTheRest(t *testing.T) {
	var calls Calls[jsonrpc.ID]
	one, other := begin(t, &calls, "1", false), begin(t, &calls, "2", false)
	calls.Cancel("3", ErrCancelled)
	calls.Cancel("1", ErrCancelled)
	if context.Cause(one) != ErrCancelled || other.Err() != nil {
		t.Errorf("ended with %v and %v", context.Cause(one), context.Cause(other))
	}
	if _, fault := calls.Begin(t.Context(), "4", false, 0); fault != nil {
		t.Error(fault)
	}
	calls.CancelAll(ErrShutdown)
	if context.Cause(other) != ErrShutdown {
		t.Errorf("ended with %v", context.Cause(other))
	}
	calls.End("4")
}
