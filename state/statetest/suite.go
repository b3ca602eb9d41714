package statetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/state"
)

var tests = map[string]func(*testing.T, Driver, func() state.Shared){
	"what is put is got, by others too":                      putAndGet,
	"a version never comes back":                             versions,
	"of many who swap at once one wins each time":            swaps,
	"a value is gone when its time is over":                  expires,
	"a list is in order, of a prefix, and goes on after":     list,
	"keys and values are any bytes, up to a limit":           limits,
	"one has a lease at a time":                              leases,
	"a lease that is not renewed ends":                       leaseEnds,
	"who lost a lease cannot write":                          fences,
	"many take turns":                                        turns,
	"work ends when its lease is taken away":                 lost,
	"who waits for a lease can stop":                         stops,
	"a lease outlives its time as long as the work goes on":  renews,
	"a value that is changed can be given another time":      extends,
	"what a caller does with a value stays its own business": copies,
	"a log is read in order, and goes on after":              logs,
	"a log keeps what it should":                             trims,
	"a log loses everything when its time is over":           logEnds,
	"who lost a lease cannot append or trim":                 logFences,
	"readers miss no record of many who append":              appends,
	"a read ends at so many bytes":                           readEnds,
	"subscribers get the hints of their topic":               signals,
	"a subscription ends with its context or its store":      signalsEnd,
	"views with prefixes do not meet":                        prefixes,
	"a lease protects no key of another group":               groups,
	"a list during writes has all that stays":                listsDuringWrites,
	"the time goes on, for all":                              clock,
	"of many who fight for a lease each writes in turn":      fights,
}

func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// is fails the test unless err is want.
func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func clock(t *testing.T, _ Driver, open func() state.Shared) {
	ctx, a, b := t.Context(), open(), open()
	before := must[time.Time](t)(a.Now(ctx))
	time.Sleep(20 * time.Millisecond)
	after := must[time.Time](t)(b.Now(ctx))
	if passed := after.Sub(before); passed < 15*time.Millisecond || passed > time.Minute || time.Since(after).Abs() > time.Hour {
		t.Errorf("%v passed until %v", passed, after)
	}
}

func putAndGet(t *testing.T, d Driver, open func() state.Shared) {
	ctx, a, b := t.Context(), open(), open()
	_, err := a.Get(ctx, "k")
	is(t, "get nothing", err, state.ErrNotFound)
	for _, value := range []string{"one", "two", ""} {
		v := must[state.Version](t)(a.Put(ctx, "k", []byte(value), state.Write{}))
		e := must[state.Entry](t)(b.Get(ctx, "k"))
		if e.Key != "k" || string(e.Value) != value || e.Version != v {
			t.Errorf("got %+v, want %q of version %s", e, value, v)
		}
	}
	is(t, "delete", b.Delete(ctx, "k", state.Hold{}), nil)
	is(t, "delete what is not there", b.Delete(ctx, "k", state.Hold{}), nil)
	_, err = a.Get(ctx, "k")
	is(t, "get what was deleted", err, state.ErrNotFound)
	must[state.Version](t)(a.Put(ctx, "nothing", nil, state.Write{}))
	must[state.Entry](t)(a.Get(ctx, "nothing"))
}

func versions(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	seen := map[state.Version]bool{"": true}
	for range 5 {
		v := must[state.Version](t)(s.Put(ctx, "k", []byte("same"), state.Write{}))
		if seen[v] {
			t.Errorf("version %q came twice", v)
		}
		seen[v] = true
		is(t, "delete", s.Delete(ctx, "k", state.Hold{}), nil)
	}
}

func swaps(t *testing.T, d Driver, open func() state.Shared) {
	ctx := t.Context()
	first := open()
	_, err := first.CompareAndSwap(ctx, "n", "1", []byte("x"), state.Write{})
	is(t, "swap what is not there", err, state.ErrConflict)
	must[state.Version](t)(first.CompareAndSwap(ctx, "n", "", nil, state.Write{}))
	_, err = first.CompareAndSwap(ctx, "n", "", []byte("x"), state.Write{})
	is(t, "make what is there", err, state.ErrConflict)

	const workers, times = 4, 10
	var all sync.WaitGroup
	for range workers {
		s := open()
		all.Go(func() {
			for done := 0; done < times; {
				e, err := s.Get(ctx, "n")
				if err != nil {
					t.Error(err)
					return
				}
				switch _, err := s.CompareAndSwap(ctx, "n", e.Version, append(e.Value, '.'), state.Write{}); {
				case err == nil:
					done++
				case !errors.Is(err, state.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if e := must[state.Entry](t)(first.Get(ctx, "n")); len(e.Value) != workers*times {
		t.Errorf("%d changes are left of %d", len(e.Value), workers*times)
	}
}

func expires(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	must[state.Version](t)(s.Put(ctx, "short", []byte("x"), state.Write{TTL: d.of(time.Second)}))
	must[state.Version](t)(s.Put(ctx, "long", []byte("x"), state.Write{TTL: d.of(time.Hour)}))
	must[state.Version](t)(s.Put(ctx, "ever", []byte("x"), state.Write{}))
	if d.Served {
		d.sleep(time.Second)
	} else {
		d.sleep(time.Second - time.Nanosecond)
		must[state.Entry](t)(s.Get(ctx, "short"))
		d.sleep(time.Nanosecond)
	}
	_, err := s.Get(ctx, "short")
	is(t, "get after its time", err, state.ErrNotFound)
	if l := must[[]state.Entry](t)(s.List(ctx, "", "", 10)); len(l) != 2 {
		t.Errorf("a list has %d entries, want 2", len(l))
	}
	must[state.Version](t)(s.CompareAndSwap(ctx, "short", "", []byte("y"), state.Write{}))
	d.sleep(time.Hour)
	d.sleep(time.Hour)
	must[state.Version](t)(s.Put(ctx, "another", nil, state.Write{}))
	for key, want := range map[string]error{"short": nil, "long": state.ErrNotFound, "ever": nil} {
		_, err := s.Get(ctx, key)
		is(t, key, err, want)
	}
}

func extends(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	v := must[state.Version](t)(s.Put(ctx, "k", nil, state.Write{TTL: d.of(time.Second)}))
	must[state.Version](t)(s.CompareAndSwap(ctx, "k", v, nil, state.Write{TTL: d.of(time.Minute)}))
	d.sleep(40 * time.Second)
	must[state.Entry](t)(s.Get(ctx, "k"))
	must[state.Version](t)(s.Put(ctx, "k", nil, state.Write{}))
	d.sleep(time.Hour)
	must[state.Entry](t)(s.Get(ctx, "k"))
}

func list(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	for _, key := range []string{"b/2", "a", "b/10", "b/", "b/\xff", "b/\xff\xff", "b/\xfe1", "c", "b%_", "B/1"} {
		must[state.Version](t)(s.Put(ctx, key, []byte("of "+key), state.Write{}))
	}
	for _, test := range []struct {
		prefix, after string
		limit         int
		want          string
	}{
		{"b/", "", 10, "b/,b/10,b/2,b/\xfe1,b/\xff,b/\xff\xff"},
		{"b/", "", 2, "b/,b/10"},
		{"b/", "b/10", 10, "b/2,b/\xfe1,b/\xff,b/\xff\xff"},
		{"b/\xfe", "", 10, "b/\xfe1"},
		{"b/\xff", "", 10, "b/\xff,b/\xff\xff"},
		{"b%", "", 10, "b%_"},
		{"", "b/\xff\xff", 10, "c"},
		{"d", "", 10, ""},
		{"", "", 0, ""},
	} {
		var keys []string
		for _, e := range must[[]state.Entry](t)(s.List(ctx, test.prefix, test.after, test.limit)) {
			if string(e.Value) != "of "+e.Key || e.Version == "" {
				t.Errorf("entry %+v", e)
			}
			keys = append(keys, e.Key)
		}
		if got := strings.Join(keys, ","); got != test.want {
			t.Errorf("list %q after %q up to %d: got %q, want %q", test.prefix, test.after, test.limit, got, test.want)
		}
	}
}

func limits(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	key, value := strings.Repeat("\x00\xff", state.MaxKey/2), bytes.Repeat([]byte{0, 255}, state.MaxValue/2)
	must[state.Version](t)(s.Put(ctx, key, value, state.Write{}))
	if e := must[state.Entry](t)(s.Get(ctx, key)); !bytes.Equal(e.Value, value) {
		t.Error("the value changed")
	}
	for name, put := range map[string]func() error{
		"no key":          func() error { _, err := s.Put(ctx, "", nil, state.Write{}); return err },
		"a key too large": func() error { _, err := s.CompareAndSwap(ctx, key+"x", "", nil, state.Write{}); return err },
		"a value too large": func() error {
			_, err := s.Put(ctx, "k", append(value, 0), state.Write{})
			return err
		},
		"a lease without a name": func() error { _, err := s.Acquire(ctx, "", d.of(time.Second)); return err },
	} {
		is(t, name, put(), state.ErrTooLarge)
	}
}

func copies(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	value := []byte("abc")
	must[state.Version](t)(s.Put(ctx, "k", value, state.Write{}))
	value[0] = 'x'
	must[state.Entry](t)(s.Get(ctx, "k")).Value[1] = 'x'
	if e := must[state.Entry](t)(s.Get(ctx, "k")); string(e.Value) != "abc" {
		t.Errorf("the value is %q", e.Value)
	}
}

func leases(t *testing.T, d Driver, open func() state.Shared) {
	ctx, a, b := t.Context(), open(), open()
	first := must[state.Hold](t)(a.Acquire(ctx, "l", d.of(time.Minute)))
	_, err := b.Acquire(ctx, "l", d.of(time.Minute))
	is(t, "acquire what is held", err, state.ErrHeld)
	must[state.Hold](t)(b.Acquire(ctx, "another", d.of(time.Minute)))
	is(t, "release", a.Release(ctx, first), nil)
	is(t, "release again", a.Release(ctx, first), nil)
	is(t, "renew what was released", a.Renew(ctx, first, d.of(time.Minute)), state.ErrLost)
	second := must[state.Hold](t)(b.Acquire(ctx, "l", d.of(time.Minute)))
	if second.Token <= first.Token {
		t.Errorf("token %d comes after %d", second.Token, first.Token)
	}
	is(t, "release another's", a.Release(ctx, first), nil)
	_, err = a.Acquire(ctx, "l", d.of(time.Minute))
	is(t, "acquire what is held again", err, state.ErrHeld)
}

func leaseEnds(t *testing.T, d Driver, open func() state.Shared) {
	ctx, a, b := t.Context(), open(), open()
	first := must[state.Hold](t)(a.Acquire(ctx, "l", d.of(time.Minute)))
	d.sleep(40 * time.Second)
	is(t, "renew", a.Renew(ctx, first, d.of(time.Minute)), nil)
	d.sleep(40 * time.Second)
	_, err := b.Acquire(ctx, "l", d.of(time.Minute))
	is(t, "acquire what was renewed", err, state.ErrHeld)
	d.sleep(20 * time.Second)
	is(t, "renew what ended", a.Renew(ctx, first, d.of(time.Minute)), state.ErrLost)
	must[state.Hold](t)(b.Acquire(ctx, "l", d.of(time.Minute)))
}

func fences(t *testing.T, d Driver, open func() state.Shared) {
	ctx, a, b := t.Context(), open(), open()
	first := must[state.Hold](t)(a.Acquire(ctx, "l", d.of(time.Second)))
	must[state.Version](t)(a.Put(ctx, "k", []byte("of a"), state.Write{Hold: first}))
	d.sleep(time.Second)
	second := must[state.Hold](t)(b.Acquire(ctx, "l", d.of(time.Second)))
	v := must[state.Version](t)(b.Put(ctx, "k", []byte("of b"), state.Write{Hold: second}))
	_, err := a.Put(ctx, "k", []byte("late"), state.Write{Hold: first})
	is(t, "put without the lease", err, state.ErrLost)
	_, err = a.CompareAndSwap(ctx, "k", v, []byte("late"), state.Write{Hold: first})
	is(t, "swap without the lease", err, state.ErrLost)
	is(t, "delete without the lease", a.Delete(ctx, "k", first), state.ErrLost)
	is(t, "release", b.Release(ctx, second), nil)
	_, err = b.Put(ctx, "k", []byte("late"), state.Write{Hold: second})
	is(t, "put after the release", err, state.ErrLost)
	if e := must[state.Entry](t)(a.Get(ctx, "k")); string(e.Value) != "of b" {
		t.Errorf("the value is %q", e.Value)
	}
}

func turns(t *testing.T, d Driver, open func() state.Shared) {
	ctx := t.Context()
	inside := make(chan struct{}, 1)
	var all sync.WaitGroup
	const workers = 5
	for i := range workers {
		s := open()
		all.Go(func() {
			err := state.While(ctx, s, "did/l", d.of(time.Minute), func(ctx context.Context, hold state.Hold) error {
				select {
				case inside <- struct{}{}:
				default:
					return errors.New("two have the lease")
				}
				d.sleep(time.Second)
				<-inside
				_, err := s.Put(ctx, fmt.Sprint("did/", i), nil, state.Write{Hold: hold})
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if l := must[[]state.Entry](t)(open().List(ctx, "did/", "", 100)); len(l) != workers {
		t.Errorf("%d of %d had their turn", len(l), workers)
	}
}

func renews(t *testing.T, d Driver, open func() state.Shared) {
	ctx, a, b := t.Context(), open(), open()
	err := state.While(ctx, a, "l", d.of(time.Minute), func(ctx context.Context, hold state.Hold) error {
		d.sleep(time.Hour)
		_, err := b.Acquire(ctx, "l", d.of(time.Minute))
		is(t, "acquire while the work goes on", err, state.ErrHeld)
		return ctx.Err()
	})
	is(t, "the work", err, nil)
	must[state.Hold](t)(b.Acquire(ctx, "l", d.of(time.Minute)))
}

func lost(t *testing.T, d Driver, open func() state.Shared) {
	ctx, a, b := t.Context(), open(), open()
	err := state.While(ctx, a, "l", d.of(time.Minute), func(ctx context.Context, hold state.Hold) error {
		is(t, "release by another", b.Release(ctx, hold), nil)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Hour):
			return errors.New("the work went on")
		}
	})
	is(t, "the work", err, state.ErrLost)
}

func stops(t *testing.T, d Driver, open func() state.Shared) {
	a, b := open(), open()
	must[state.Hold](t)(a.Acquire(t.Context(), "l", d.of(time.Hour)))
	ctx, cancel := context.WithTimeout(t.Context(), d.of(time.Minute))
	defer cancel()
	err := state.While(ctx, b, "l", d.of(time.Minute), func(context.Context, state.Hold) error { return errors.New("ran") })
	is(t, "waiting", err, state.ErrHeld)
	is(t, "waiting", err, context.DeadlineExceeded)
}

func groups(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	hold := must[state.Hold](t)(s.Acquire(ctx, "a/lease", d.of(time.Minute)))
	must[state.Version](t)(s.Put(ctx, "a/b/c", nil, state.Write{Hold: hold}))
	for _, key := range []string{"a", "b/a", "a%2f/", "/a/", "{a}/", "a}/x"} {
		_, err := s.Put(ctx, key, nil, state.Write{Hold: hold})
		is(t, "put "+key, err, state.ErrGroup)
		_, err = s.CompareAndSwap(ctx, key, "", nil, state.Write{Hold: hold})
		is(t, "swap "+key, err, state.ErrGroup)
		is(t, "delete "+key, s.Delete(ctx, key, hold), state.ErrGroup)
		_, err = s.Append(ctx, key, nil, state.Write{Hold: hold})
		is(t, "append to "+key, err, state.ErrGroup)
		is(t, "trim "+key, s.Trim(ctx, key, state.Keep{Count: 1}, hold), state.ErrGroup)
		must[state.Version](t)(s.Put(ctx, key, nil, state.Write{}))
	}
	for prefix, want := range map[string]string{"": "/a/ a a%2f/ a/b/c a}/x b/a {a}/", "a": "a a%2f/ a/b/c a}/x", "/": "/a/", "a/": "a/b/c"} {
		var keys []string
		for after := ""; ; {
			entries := must[[]state.Entry](t)(s.List(ctx, prefix, after, 2))
			for _, e := range entries {
				keys = append(keys, e.Key)
				after = e.Key
			}
			if len(entries) < 2 {
				break
			}
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("the keys with %q are %q, want %q", prefix, got, want)
		}
	}
}

// listsDuringWrites lists page by page while others come and go.
func listsDuringWrites(t *testing.T, d Driver, open func() state.Shared) {
	ctx, s := t.Context(), open()
	const stay = 300 // more than a page of any driver
	for i := range stay {
		must[state.Version](t)(s.Put(ctx, fmt.Sprintf("k/%03d", i), nil, state.Write{}))
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	defer all.Wait()
	defer close(stop)
	other := open()
	all.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			key := fmt.Sprintf("k/%03d/", i%stay)
			if _, err := other.Put(ctx, key, nil, state.Write{TTL: d.of(time.Second)}); err != nil {
				t.Error(err)
				return
			}
			if err := other.Delete(ctx, key, state.Hold{}); i%2 == 0 && err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 3 {
		last, found := "", 0
		for {
			entries := must[[]state.Entry](t)(s.List(ctx, "k/", last, 50))
			for _, e := range entries {
				if e.Key <= last {
					t.Errorf("%q comes after %q", e.Key, last)
				}
				last = e.Key
				if !strings.HasSuffix(e.Key, "/") {
					found++
				}
			}
			if len(entries) < 50 {
				break
			}
		}
		if found != stay {
			t.Errorf("a list has %d of %d entries", found, stay)
		}
	}
}

// fights checks the history of writes under a lease whose holders often are too late.
func fights(t *testing.T, d Driver, open func() state.Shared) {
	ctx := t.Context()
	const workers, rounds = 4, 6
	ttl := d.of(100 * time.Millisecond)
	var all sync.WaitGroup
	var mu sync.Mutex
	owners, written, late := map[uint64]int{}, 0, 0
	for i := range workers {
		s := open()
		all.Go(func() {
			for round := 0; round < rounds; {
				hold, err := s.Acquire(ctx, "l", ttl)
				if errors.Is(err, state.ErrHeld) {
					time.Sleep(ttl / 10)
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if other, twice := owners[hold.Token]; twice {
					t.Errorf("token %d of %d went to %d too", hold.Token, other, i)
				}
				owners[hold.Token] = i
				mu.Unlock()
				for range 3 {
					_, err := s.Append(ctx, "l", fmt.Append(nil, hold.Token), state.Write{Hold: hold})
					mu.Lock()
					if err == nil {
						written++
					} else if late++; !errors.Is(err, state.ErrLost) {
						t.Error(err)
					}
					mu.Unlock()
					time.Sleep(ttl * time.Duration(1+(i+round)%3) / 4)
				}
				if round++; round%2 == 0 {
					is(t, "release", s.Release(ctx, hold), nil)
				}
			}
		})
	}
	all.Wait()
	records, last := must[[]state.Record](t)(open().Read(ctx, "l", 0, 200)), uint64(0)
	for _, r := range records {
		var token uint64
		if _, err := fmt.Sscan(string(r.Value), &token); err != nil || token < last || owners[token] >= workers {
			t.Errorf("the write with token %s comes after that with token %d (%v)", r.Value, last, err)
		}
		last = token
	}
	if len(records) != written || written == 0 || late == 0 {
		t.Errorf("there are %d records, %d were written and %d were too late", len(records), written, late)
	}
}
