package changes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/changes"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

var tools = changes.Change{Method: "tools"}

func updated(uri string) changes.Change { return changes.Change{Method: "updated", URI: uri} }

// forward returns the pending changes, as method, URI and whether the mark is new, and the last
// mark. It must not be called without pending changes.
func forward(t *testing.T, l *changes.Listener, count int) (got, mark string) {
	t.Helper()
	enough, old := errors.New("enough"), l.Mark()
	err := l.Forward(t.Context(), func(_ context.Context, method string, params json.RawMessage) error {
		uri, _ := jsonrpc.Unquote(jsonrpc.Get(params, "uri"))
		mark, _ = jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(params, "_meta"), changes.MarkKey))
		if got += " " + method + uri; mark != old {
			got += "!"
		}
		if count--; count == 0 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	return strings.TrimSpace(got), mark
}

func TestAListenerGetsEachChangeOnceInOrderAndItsMarkWithTheLast(t *testing.T) {
	f := changes.NewFeed()
	l := f.Listen([]changes.Change{tools, updated("a"), updated("b")}, "")
	defer l.Close()
	for _, c := range []changes.Change{updated("b"), tools, updated("b"), updated("other"), tools} {
		f.Add(c)
	}
	if got, mark := forward(t, l, 2); got != "updatedb tools!" || mark != f.Mark() {
		t.Errorf("got %s up to %s of %s", got, mark, f.Mark())
	}
	l.Add(updated("of one client"))
	if got, _ := forward(t, l, 1); got != "updatedof one client" {
		t.Errorf("got %s", got)
	}
}

func TestReturningListenersGetMissedChanges(t *testing.T) {
	f, other := changes.NewFeed(), changes.NewFeed()
	f.Add(tools)
	then := f.Mark()
	f.Add(updated("a"))
	f.Add(updated("other"))
	wanted := []changes.Change{tools, updated("a"), updated("b")}
	for since, want := range map[string]string{then: "updateda!", other.Mark(): "tools updateda updatedb!", "nonsense": "tools updateda updatedb!"} {
		l := f.Listen(wanted, since)
		if l.Mark() != since {
			t.Errorf("since %s: already at %s", since, l.Mark())
		}
		if got, mark := forward(t, l, len(strings.Fields(want))); got != want || mark != f.Mark() {
			t.Errorf("since %s: got %s up to %s, want %s", since, got, mark, want)
		}
		l.Close()
	}
	for _, fresh := range []bool{true, false} {
		since := ""
		if !fresh {
			since = f.Mark()
		}
		l := f.Listen(wanted, since)
		if l.Mark() != f.Mark() {
			t.Errorf("since %q: at %s, want %s", since, l.Mark(), f.Mark())
		}
		f.Add(tools)
		if got, _ := forward(t, l, 1); got != "tools!" {
			t.Errorf("since %q: got %s", since, got)
		}
		l.Close()
	}
}

// More changes than a Feed stores must not lose one.
func TestAnOldMarkLosesNoChange(t *testing.T) {
	f := changes.NewFeed()
	then := f.Mark()
	f.Add(updated("a"))
	for i := range 5_000 {
		f.Add(updated(fmt.Sprint(i)))
	}
	l := f.Listen([]changes.Change{updated("a"), updated("4999")}, then)
	defer l.Close()
	if got, _ := forward(t, l, 2); got != "updateda updated4999!" {
		t.Errorf("got %s", got)
	}
}

func TestAListenerThatIsClosedGetsNothing(t *testing.T) {
	f := changes.NewFeed()
	l := f.Listen([]changes.Change{tools, tools}, "")
	l.Close()
	f.Add(tools)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Forward(ctx, func(context.Context, string, json.RawMessage) error {
		t.Error("a notification after Close")
		return nil
	}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A server that registers many features one after the other must not make each client read the
// lists as many times.
func TestNotificationsOfListsArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := changes.NewFeed()
		l := f.Listen([]changes.Change{tools, updated("a")}, "")
		ctx, cancel := context.WithCancel(t.Context())
		var at []time.Duration
		began, resources := time.Now(), 0
		ended := make(chan error)
		go func() {
			ended <- l.Forward(ctx, func(_ context.Context, method string, _ json.RawMessage) error {
				if method == tools.Method {
					at = append(at, time.Since(began))
				} else {
					resources++
				}
				return nil
			})
		}()
		for range 300 {
			f.Add(tools)
			synctest.Wait()
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		var want []time.Duration
		for i := range 17 {
			want = append(want, time.Duration(i)*100*time.Microsecond)
		}
		for i := range 3 {
			want = append(want, want[16]+time.Duration(i+1)*10*time.Millisecond)
		}
		if !slices.Equal(at, want) {
			t.Errorf("notified after %v, want %v", at, want)
		}
		for range 3 { // updates of resources are not delayed
			f.Add(updated("a"))
			synctest.Wait()
		}
		if resources != 3 {
			t.Errorf("%d updates", resources)
		}
		f.Add(tools)
		synctest.Wait()
		if len(at) != len(want)+1 {
			t.Error("a single change was not notified of at once")
		}
		cancel()
		<-ended
		l.Close()
	})
}

// BenchmarkAdd measures one change with many clients that listen for others.
func BenchmarkAdd(b *testing.B) {
	f := changes.NewFeed()
	for i := range 10_000 {
		defer f.Listen([]changes.Change{updated(fmt.Sprint(i))}, "").Close()
	}
	b.ResetTimer()
	for b.Loop() {
		f.Add(updated("7"))
	}
}
