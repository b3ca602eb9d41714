package statetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/state"
)

// add appends values to the log "l", and returns their positions.
func add(t *testing.T, s state.Log, values ...string) []uint64 {
	t.Helper()
	var positions []uint64
	for _, value := range values {
		positions = append(positions, must[uint64](t)(s.Append(t.Context(), "l", []byte(value), state.Write{})))
	}
	return positions
}

// reads fails the test unless the log "l" has the values, separated by spaces, after a position.
func reads(t *testing.T, s state.Log, after uint64, want string) {
	t.Helper()
	var values []string
	for _, r := range must[[]state.Record](t)(s.Read(t.Context(), "l", after, 100)) {
		values = append(values, string(r.Value))
	}
	if got := strings.Join(values, " "); got != want {
		t.Errorf("after %d: got %q, want %q", after, got, want)
	}
}

func logs(t *testing.T, d Driver, open func() state.Shared) {
	ctx, a, b := t.Context(), open(), open()
	reads(t, a, 0, "")
	_, err := a.Read(ctx, "l", 1, 10)
	is(t, "read on in no log", err, state.ErrTrimmed)
	p := add(t, a, "one", "two")
	p = append(p, add(t, b, "three", "")...)
	must[uint64](t)(a.Append(ctx, "another", []byte("x"), state.Write{}))
	last := uint64(0)
	for i, position := range p {
		if position <= last {
			t.Errorf("record %d has position %d after %d", i, position, last)
		}
		last = position
	}
	reads(t, b, 0, "one two three ")
	reads(t, a, p[0], "two three ")
	reads(t, b, p[1], "three ")
	reads(t, b, p[3], "")
	two := must[[]state.Record](t)(a.Read(ctx, "l", p[0], 2))
	if len(two) != 2 || two[0].Position != p[1] || two[1].Position != p[2] || string(two[1].Value) != "three" {
		t.Errorf("got %+v", two)
	}
	if none := must[[]state.Record](t)(a.Read(ctx, "l", 0, 0)); len(none) != 0 {
		t.Errorf("got %+v with a limit of 0", none)
	}
	_, err = a.Append(ctx, "", nil, state.Write{})
	is(t, "append to a log without a key", err, state.ErrTooLarge)
	_, err = a.Get(ctx, "l")
	is(t, "get the value with the key of a log", err, state.ErrNotFound)
	if l := must[[]state.Entry](t)(a.List(ctx, "", "", 10)); len(l) != 0 {
		t.Errorf("a list of values has %d logs", len(l))
	}
}

func trims(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	is(t, "trim no log", s.Trim(ctx, "l", state.Keep{Count: 1}, state.Hold{}), nil)
	p := add(t, s, "1", "22", "333")
	d.sleep(time.Minute)
	p = append(p, add(t, s, "4444", "55555")...)
	trim := func(keep state.Keep, want string) {
		t.Helper()
		is(t, "trim", s.Trim(ctx, "l", keep, state.Hold{}), nil)
		reads(t, s, 0, want)
	}
	trim(state.Keep{}, "1 22 333 4444 55555")
	trim(state.Keep{Count: 5, Bytes: 15, Age: d.of(time.Hour)}, "1 22 333 4444 55555")
	trim(state.Keep{Count: 4}, "22 333 4444 55555")
	reads(t, s, p[0], "22 333 4444 55555")
	trim(state.Keep{Bytes: 13}, "333 4444 55555")
	_, err := s.Read(ctx, "l", p[0], 10)
	is(t, "read after a record before one that is gone", err, state.ErrTrimmed)
	reads(t, s, p[1], "333 4444 55555")
	trim(state.Keep{Count: 4, Age: d.of(time.Minute)}, "4444 55555")
	trim(state.Keep{Bytes: 1}, "")
	reads(t, s, p[4], "")
	_, err = s.Read(ctx, "l", p[3], 10)
	is(t, "read after a record before the last one, which is gone", err, state.ErrTrimmed)
	p = append(p, add(t, s, "6")...)
	if p[5] <= p[4] {
		t.Errorf("position %d comes after %d", p[5], p[4])
	}
	reads(t, s, p[4], "6")
	trim(state.Keep{Count: -1}, "")
	_, err = s.Read(ctx, "l", p[5], 10)
	is(t, "read on in a log that was removed", err, state.ErrTrimmed)
	p = append(p, add(t, s, "7")...)
	if p[6] <= p[5] {
		t.Errorf("position %d comes after %d", p[6], p[5])
	}
	reads(t, s, 0, "7")
	_, err = s.Read(ctx, "l", p[4], 10)
	is(t, "read on in a log that is another one", err, state.ErrTrimmed)
}

func logEnds(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	put := func(ttl time.Duration) uint64 {
		return must[uint64](t)(s.Append(ctx, "l", []byte("x"), state.Write{TTL: d.of(ttl)}))
	}
	first := put(time.Minute)
	d.sleep(40 * time.Second)
	put(time.Minute)
	d.sleep(40 * time.Second)
	reads(t, s, 0, "x x")
	last := put(time.Minute)
	d.sleep(time.Minute)
	reads(t, s, 0, "")
	_, err := s.Read(ctx, "l", last, 10)
	is(t, "read on", err, state.ErrTrimmed)
	is(t, "trim", s.Trim(ctx, "l", state.Keep{Count: 1}, state.Hold{}), nil)
	if next := put(0); next <= last {
		t.Errorf("position %d comes after %d", next, last)
	}
	d.sleep(time.Hour)
	reads(t, s, 0, "x")
	_, err = s.Read(ctx, "l", first, 10)
	is(t, "read on in another log", err, state.ErrTrimmed)
}

func logFences(t *testing.T, d Driver, open func() state.Shared) {
	ctx, a, b := t.Context(), open(), open()
	first := must[state.Hold](t)(a.Acquire(ctx, "lease", d.of(time.Second)))
	must[uint64](t)(a.Append(ctx, "l", []byte("a"), state.Write{Hold: first}))
	d.sleep(time.Second)
	second := must[state.Hold](t)(b.Acquire(ctx, "lease", d.of(time.Minute)))
	_, err := a.Append(ctx, "l", []byte("late"), state.Write{Hold: first})
	is(t, "append without the lease", err, state.ErrLost)
	is(t, "trim without the lease", a.Trim(ctx, "l", state.Keep{Count: -1}, first), state.ErrLost)
	must[uint64](t)(b.Append(ctx, "l", []byte("b"), state.Write{Hold: second}))
	reads(t, a, 0, "a b")
	is(t, "trim", b.Trim(ctx, "l", state.Keep{Count: 1}, second), nil)
	reads(t, a, 0, "b")
}

// appends lets several append at once, while a reader follows.
func appends(t *testing.T, d Driver, open func() state.Shared) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const writers, times = 4, 25
	var all sync.WaitGroup
	for i := range writers {
		s := open()
		all.Go(func() {
			for j := range times {
				if _, err := s.Append(ctx, "l", fmt.Appendf(nil, "%d/%d", i, j), state.Write{}); err != nil {
					t.Error(err)
					cancel()
					return
				}
			}
		})
	}
	reader, after, next := open(), uint64(0), [writers]int{}
	for count := 0; count < writers*times && ctx.Err() == nil; {
		records := must[[]state.Record](t)(reader.Read(ctx, "l", after, 7))
		for _, r := range records {
			var i, j int
			if _, err := fmt.Sscanf(string(r.Value), "%d/%d", &i, &j); err != nil || r.Position <= after || j != next[i] {
				t.Fatalf("after %d comes %+v, %q, want %v (%v)", after, r, r.Value, next, err)
			}
			next[i]++
			count++
			after = r.Position
		}
	}
	all.Wait()
	reads(t, reader, after, "")
}

func readEnds(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	large := make([]byte, state.MaxValue)
	for range 3 {
		must[uint64](t)(s.Append(ctx, "l", large, state.Write{}))
	}
	var after uint64
	for i := range 3 {
		records := must[[]state.Record](t)(s.Read(ctx, "l", after, 3))
		size := 0
		for _, r := range records {
			size += len(r.Value)
			after = r.Position
		}
		if size > state.MaxRead+state.MaxValue {
			t.Errorf("read %d has %d bytes", i, size)
		}
		if size == 0 && i < 2 {
			t.Errorf("read %d is empty", i)
		}
	}
	reads(t, s, after, "")
}

func signals(t *testing.T, d Driver, open func() state.Shared) {
	ctx, a, b := t.Context(), open(), open()
	of := func(s state.Shared, topic string) <-chan struct{} {
		return must[<-chan struct{}](t)(s.Subscribe(ctx, topic))
	}
	here, there, again, other := of(a, "t"), of(b, "t"), of(b, "t"), of(b, "other")
	comes := func(hints <-chan struct{}, what string) {
		t.Helper()
		select {
		case _, open := <-hints:
			if !open {
				t.Errorf("%s: the channel is closed", what)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s: no hint", what)
		}
	}
	for range 3 {
		is(t, "publish", a.Publish(ctx, "t"), nil)
	}
	comes(here, "here")
	comes(there, "in another process")
	comes(again, "to a second subscriber")
	is(t, "publish to no subscriber", b.Publish(ctx, "nothing"), nil)
	is(t, "publish", b.Publish(ctx, "t"), nil)
	comes(here, "from another process")
	select {
	case <-other:
		t.Error("a hint came about another topic")
	case <-time.After(time.Second):
	}
	is(t, "publish without a topic", a.Publish(ctx, ""), state.ErrTooLarge)
	_, err := a.Subscribe(ctx, strings.Repeat("t", state.MaxKey+1))
	is(t, "subscribe to a topic that is too long", err, state.ErrTooLarge)
}

func signalsEnd(t *testing.T, d Driver, open func() state.Shared) {
	s := open()
	ctx, cancel := context.WithCancel(t.Context())
	ended := must[<-chan struct{}](t)(s.Subscribe(ctx, "t"))
	stays := must[<-chan struct{}](t)(s.Subscribe(t.Context(), "t"))
	closes := func(hints <-chan struct{}, what string) {
		t.Helper()
		for limit := time.After(10 * time.Second); ; {
			select {
			case _, open := <-hints:
				if !open {
					return
				}
			case <-limit:
				t.Errorf("%s: the channel is not closed", what)
				return
			}
		}
	}
	cancel()
	closes(ended, "after its context")
	is(t, "publish", s.Publish(t.Context(), "t"), nil)
	if _, open := <-stays; !open {
		t.Error("the other subscription ended too")
	}
	is(t, "close", s.Close(), nil)
	closes(stays, "after the store")
	if _, err := s.Subscribe(t.Context(), "t"); err == nil {
		t.Error("a closed store has subscriptions")
	}
}

func prefixes(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	a, b := state.Prefixed(s, "a/"), state.Prefixed(s, "b/")
	for _, view := range []state.Shared{a, b} {
		for _, key := range []string{"k/1", "k/2", "x"} {
			must[state.Version](t)(view.Put(ctx, key, []byte(key), state.Write{}))
		}
		hold := must[state.Hold](t)(view.Acquire(ctx, "lease", d.of(time.Minute)))
		if hold.Name != "lease" {
			t.Errorf("the lease has the name %q", hold.Name)
		}
		v := must[state.Version](t)(view.Put(ctx, "x", nil, state.Write{Hold: hold}))
		must[state.Version](t)(view.CompareAndSwap(ctx, "x", v, nil, state.Write{Hold: hold}))
		must[uint64](t)(view.Append(ctx, "l", []byte("x"), state.Write{Hold: hold}))
		reads(t, view, 0, "x")
		is(t, "renew", view.Renew(ctx, hold, d.of(time.Minute)), nil)
		is(t, "trim", view.Trim(ctx, "l", state.Keep{Count: -1}, hold), nil)
		reads(t, view, 0, "")
		is(t, "delete", view.Delete(ctx, "x", hold), nil)
		is(t, "release", view.Release(ctx, hold), nil)
		is(t, "write after the release", view.Delete(ctx, "x", hold), state.ErrLost)
		_, err := view.Put(ctx, "", nil, state.Write{})
		is(t, "put without a key", err, state.ErrTooLarge)
	}
	is(t, "delete", a.Delete(ctx, "k/1", state.Hold{}), nil)
	for _, test := range []struct {
		view                state.Shared
		prefix, after, want string
	}{
		{a, "", "", "k/2"},
		{b, "", "", "k/1 k/2"},
		{b, "k/", "k/1", "k/2"},
		{s, "", "", "a/k/2 b/k/1 b/k/2"},
	} {
		var keys []string
		for _, e := range must[[]state.Entry](t)(test.view.List(ctx, test.prefix, test.after, 10)) {
			keys = append(keys, e.Key)
		}
		if got := strings.Join(keys, " "); got != test.want {
			t.Errorf("list %q after %q: got %q, want %q", test.prefix, test.after, got, test.want)
		}
	}
	if e := must[state.Entry](t)(b.Get(ctx, "k/1")); e.Key != "k/1" {
		t.Errorf("the key is %q", e.Key)
	}
	hints := must[<-chan struct{}](t)(b.Subscribe(ctx, "t"))
	is(t, "publish", b.Publish(ctx, "t"), nil)
	<-hints
	is(t, "close a view", a.Close(), nil)
	if _, err := s.Get(ctx, "a/k/1"); !errors.Is(err, state.ErrNotFound) {
		t.Error(err)
	}
}
