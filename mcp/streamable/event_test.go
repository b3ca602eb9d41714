package streamable

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/share"
)

func numbers(t *testing.T, m *MemoryEvents, session string, stream, after uint64) string {
	t.Helper()
	events, err := m.After(t.Context(), session, stream, after)
	if err != nil {
		t.Fatal(err)
	}
	var list []uint64
	for _, e := range events {
		list = append(list, e.Number)
	}
	return fmt.Sprint(list)
}

func fill(t *testing.T, m *MemoryEvents, session string, stream uint64, from, to, size int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := m.Append(t.Context(), session, Event{stream, uint64(n), make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMemoryEventsTellStreamsApart(t *testing.T) {
	m := &MemoryEvents{}
	fill(t, m, "a", 1, 1, 3, 10)
	fill(t, m, "a", 2, 1, 2, 10)
	fill(t, m, "b", 1, 1, 1, 10)
	for _, c := range []struct {
		session       string
		stream, after uint64
		want          string
	}{{"a", 1, 0, "[1 2 3]"}, {"a", 1, 2, "[3]"}, {"a", 1, 3, "[]"}, {"a", 2, 0, "[1 2]"}, {"b", 1, 0, "[1]"}, {"b", 2, 0, "[]"}, {"c", 1, 0, "[]"}} {
		if got := numbers(t, m, c.session, c.stream, c.after); got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
	m.Forget("a")
	m.Forget("b")
	m.Forget("c")
	if m.bytes.Used() != 0 || len(m.sessions) != 0 || m.order.Len() != 0 {
		t.Errorf("left: %d bytes, %d sessions", m.bytes.Used(), len(m.sessions))
	}
}

func TestMemoryEventsDropTheOldestFirst(t *testing.T) {
	const size = 100 - eventOverhead%100 + 900
	t.Run("of a stream with too many", func(t *testing.T) {
		m := &MemoryEvents{MaxEvents: 2}
		fill(t, m, "a", 2, 1, 1, 10)
		fill(t, m, "a", 1, 1, 5, 10)
		if got := numbers(t, m, "a", 1, 0) + numbers(t, m, "a", 2, 0); got != "[4 5][1]" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("of a session with too many bytes", func(t *testing.T) {
		m := &MemoryEvents{MaxSessionBytes: 3 * (size + eventOverhead)}
		fill(t, m, "a", 1, 1, 2, size)
		fill(t, m, "a", 2, 1, 3, size)
		fill(t, m, "b", 1, 1, 1, size)
		if got := numbers(t, m, "a", 1, 0) + numbers(t, m, "a", 2, 0) + numbers(t, m, "b", 1, 0); got != "[][1 2 3][1]" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("of the session that is silent longest", func(t *testing.T) {
		m := &MemoryEvents{MaxBytes: 4 * (size + eventOverhead)}
		fill(t, m, "a", 1, 1, 2, size)
		fill(t, m, "b", 1, 1, 2, size)
		fill(t, m, "a", 1, 3, 3, size)
		fill(t, m, "c", 1, 1, 2, size)
		if got := numbers(t, m, "a", 1, 0) + numbers(t, m, "b", 1, 0) + numbers(t, m, "c", 1, 0); got != "[2 3][][1 2]" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("but refuse one that is too large", func(t *testing.T) {
		m := &MemoryEvents{MaxSessionBytes: 1000}
		fill(t, m, "a", 1, 1, 1, 10)
		if err := m.Append(context.Background(), "a", Event{1, 2, make([]byte, 1000)}); err == nil {
			t.Error("no error")
		}
		if got := numbers(t, m, "a", 1, 0); got != "[1]" {
			t.Errorf("got %s", got)
		}
	})
}

func TestMemoryEventsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &MemoryEvents{Timeout: time.Minute}
		fill(t, m, "a", 1, 1, 1, 10)
		time.Sleep(40 * time.Second)
		fill(t, m, "a", 1, 2, 2, 10)
		time.Sleep(40 * time.Second)
		if got := numbers(t, m, "a", 1, 0); got != "[2]" {
			t.Errorf("got %s", got)
		}
		time.Sleep(40 * time.Second)
		fill(t, m, "b", 1, 1, 1, 10)
		if len(m.sessions) != 1 {
			t.Errorf("%d sessions are kept", len(m.sessions))
		}
	})
}

func TestMemoryEventsAreCopied(t *testing.T) {
	m := &MemoryEvents{}
	data := []byte("before")
	if err := m.Append(t.Context(), "a", Event{1, 1, data}); err != nil {
		t.Fatal(err)
	}
	copy(data, "after!")
	if events, _ := m.After(t.Context(), "a", 1, 0); string(events[0].Data) != "before" {
		t.Errorf("got %s", events[0].Data)
	}
}

func FuzzEventID(f *testing.F) {
	for _, seed := range []string{"p1-0", "g2s-17", "p-1", "-", "", "x1-1", "p1-", "p99999999999999999999-1", "p+1-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		fromGET, stream, number, ok := parseEventID(id)
		if !ok {
			return
		}
		again, stream2, number2, ok := parseEventID(string(appendEventID(nil, fromGET, stream, number)))
		if !ok || again != fromGET || stream2 != stream || number2 != number {
			t.Errorf("%q: %v %d %d, then %v %d %d", id, fromGET, stream, number, again, stream2, number2)
		}
	})
}

// A caller that fills the store loses its own oldest events, and one with few keeps them. A new
// caller has room at once.
func TestMemoryEventsAreShared(t *testing.T) {
	for name, keys := range map[string][2]string{
		"principals": {share.Key("i", "eve", ""), share.Key("i", "ada", "")},
		"addresses":  {share.Key("", "", "192.0.2.1:1"), share.Key("", "", "192.0.2.2:1")},
	} {
		const size, fit = 100, 10
		m := &MemoryEvents{MaxBytes: fit * (size + eventOverhead)}
		add := func(key int, session string, n uint64, size int) {
			if err := m.Append(share.With(t.Context(), keys[key]), session, Event{1, n, make([]byte, size)}); err != nil {
				t.Fatal(err)
			}
		}
		want := func(session, want string) {
			t.Helper()
			if got := numbers(t, m, session, 1, 0); got != want {
				t.Errorf("%s: of %s there are %s, want %s", name, session, got, want)
			}
		}
		add(1, "hers", 1, size)
		add(1, "hers", 2, size)
		for n := range uint64(3 * fit) {
			add(0, fmt.Sprint("s", n%3), n+1, size)
		}
		want("hers", "[1 2]")
		want("s2", "[24 27 30]")
		add(1, "another", 1, size)
		want("hers", "[1 2]")
		want("another", "[1]")
		add(1, "hers", 3, 2*size)
		want("hers", "[1 2 3]")
		for n := range uint64(fit) {
			add(1, "hers", 4+n, size)
		}
		want("hers", "[9 10 11 12 13]") // half of all
		if used := m.bytes.Used(); used > m.MaxBytes || used != m.bytes.Of(keys[0])+m.bytes.Of(keys[1]) {
			t.Errorf("%d bytes are counted", used)
		}
		for session := range m.sessions {
			m.Forget(session)
		}
		if m.bytes.Used() != 0 || m.order.Len() != 0 || len(m.of) != 0 {
			t.Errorf("left: %d bytes, %d sessions of %d callers", m.bytes.Used(), m.order.Len(), len(m.of))
		}
	}
}
