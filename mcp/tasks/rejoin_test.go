package tasks_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

var errGone = errors.New("the program ends")

// waiting returns the options of a client that waits, and leaves its tasks running when the program
// ends.
func waiting(began chan<- string, look func(status string)) mcp.ClientOptions {
	return mcp.ClientOptions{
		OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"Ada"}`)}, nil
		},
		Middleware: []mcp.Middleware{tasks.Wait(tasks.WaitOptions{
			OnTask: func(_ context.Context, _, id string, over bool) {
				if !over {
					began <- id
				}
			},
			OnLook: func(_ context.Context, _, status, _ string) { look(status) },
			Leave:  func(cause error) bool { return errors.Is(cause, errGone) },
		})},
	}
}

func TestATaskIsWaitedForAgainByItsID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer("long", "1")
		proceed := make(chan struct{})
		calls := 0
		mcp.AddTool(s, "greet", func(ctx context.Context, _ struct{}) (string, error) {
			calls++
			select {
			case <-proceed:
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
			who, err := mcp.Elicit[form](ctx, "Who are you?")
			return "hello " + who.Name, err
		})
		long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"greet": {}}, Store: state.NewMemory(0)})
		if err != nil {
			t.Fatal(err)
		}
		defer long.Close()
		h := long.Middleware()(s)

		began := make(chan string, 1)
		ctx, end := context.WithCancelCause(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := mcp.NewClientWith(h, waiting(began, func(string) {})).CallTool(ctx, "greet", struct{}{})
			gone <- err
		}()
		id := <-began
		end(errGone)
		if err := <-gone; !errors.Is(err, errGone) {
			t.Errorf("the call that was left ended with %v", err)
		}

		var seen []string
		again := mcp.NewClientWith(h, waiting(began, func(status string) {
			if !slices.Contains(seen, status) {
				seen = append(seen, status)
			}
		}))
		time.AfterFunc(3*time.Second, func() { close(proceed) })
		result, err := tasks.Rejoin(t.Context(), again, "greet", id)
		if err != nil || result.Text() != "hello Ada" || calls != 1 {
			t.Errorf("got %+v, %v after %d calls", result, err, calls)
		}
		if want := []string{"working", "input_required", "completed"}; !slices.Equal(seen, want) {
			t.Errorf("saw %v, want %v", seen, want)
		}
		if result, err := tasks.Rejoin(t.Context(), again, "greet", id); err != nil || result.Text() != "hello Ada" {
			t.Errorf("of a task that is over: %+v, %v", result, err)
		}
		if len(began) != 0 {
			t.Error("a task that is waited for again is said to begin")
		}
		if _, err := tasks.Rejoin(t.Context(), again, "greet", "none"); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
			t.Errorf("a task that there is not: %v", err)
		}
		if err := tasks.Cancel(t.Context(), again, id); err != nil {
			t.Errorf("cancel a task that is over: %v", err)
		}
		if err := tasks.Cancel(t.Context(), again, "none"); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
			t.Errorf("cancel a task that there is not: %v", err)
		}
		if _, err := tasks.Rejoin(t.Context(), mcp.NewClient(h), "greet", id); err == nil || !strings.Contains(err.Error(), "tasks.Wait") {
			t.Errorf("a client that does not wait: %v", err)
		}
	})
}

// Rejoin works with both forms of tasks.
func TestATaskIsWaitedForAgainInBothForms(t *testing.T) {
	for _, revision := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(revision, func(t *testing.T) {
			url, _ := site(t, tasks.Options{}, nil)
			began := make(chan string, 1)
			o := waiting(began, func(string) {})
			o.Revision = revision
			asked := make(chan struct{})
			first := o
			first.OnElicit = func(ctx context.Context, _ mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				close(asked)
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			ctx, end := context.WithCancelCause(t.Context())
			c := dialAs(t, url, first)
			gone := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, "greet", struct{}{})
				gone <- err
			}()
			id := <-began
			<-asked
			end(errGone)
			<-gone
			c.Close()
			result, err := tasks.Rejoin(t.Context(), dialAs(t, url, o), "greet", id)
			if err != nil || result.Text() != "hello Ada" {
				t.Errorf("got %+v, %v", result, err)
			}
		})
	}
}

func dialAs(t *testing.T, url string, o mcp.ClientOptions) *mcp.Client {
	t.Helper()
	c, err := mcp.DialWith(t.Context(), streamable.Client(url), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
