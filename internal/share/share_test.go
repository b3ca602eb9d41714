package share

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestKey(t *testing.T) {
	for _, c := range []struct{ issuer, subject, address, want string }{
		{"i", "ada", "192.0.2.1:1", "principal i\x00ada"},
		{"", "", "192.0.2.1:1", "192.0.2.1"},
		{"", "", "192.0.2.1:2", "192.0.2.1"},
		{"", "", "[::ffff:192.0.2.1]:2", "192.0.2.1"},
		{"", "", "[2001:db8:1:2:3::4]:2", "2001:db8:1:2::"},
		{"", "", "[2001:db8:1:2:ffff::]:2", "2001:db8:1:2::"},
		{"", "", "[fe80::1%eth0]:2", "fe80::"},
		{"", "", "@", "unknown address"},
		{"", "", "", "unknown address"},
	} {
		if got := Key(c.issuer, c.subject, c.address); got != c.want {
			t.Errorf("%q %q %q: got %q, want %q", c.issuer, c.subject, c.address, got, c.want)
		}
	}
}

func TestSite(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:1":           "192.0.2.1",
		"[2001:db8:1:2:3::4]:2": "2001:db8:1::",
		"[2001:db8:1:ffff::]:2": "2001:db8:1::",
		"[::ffff:192.0.2.1]:2":  "192.0.2.1",
		"@":                     "unknown address",
	} {
		if got := Site(address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}

func TestBytesLeaveSomeForOthers(t *testing.T) {
	b := Bytes(3000) // and 1000 for others, of which each gets 250
	for _, c := range []struct {
		key  string
		n    int
		want bool
	}{
		{"eve", 3000, true},
		{"eve", 1, false},
		{"ada", 251, false},
		{"ada", 100, true},
		{"ada", 150, true},
		{"ada", 1, false},
		{"ben", 250, true},
		{"", 500, true},
		{"carl", 1, false},
	} {
		if got := b.TakeN(c.key, c.n); got != c.want {
			t.Errorf("%q takes %d: %t", c.key, c.n, got)
		}
	}
	b.GiveN("eve", 3000)
	if b.TakeN("eve", 2800) || b.TakeN("ada", 3500) {
		t.Error("more than one key may hold is taken while others hold some")
	}
	b.GiveN("ada", 250)
	b.GiveN("ben", 250)
	b.GiveN("", 500)
	if !b.TakeN("ada", 5000) {
		t.Error("more than one key may hold is not taken while nothing is held")
	}
	b.GiveN("ada", 5000)
	if len(b.held.by) != 0 || b.held.Used() != 0 {
		t.Errorf("%d keys hold %d", len(b.held.by), b.held.Used())
	}
}

// takes returns the number of granted tries.
func takes(b *Budget, key string, tries int) (n int) {
	for range tries {
		if b.Take(key) {
			n++
		}
	}
	return n
}

func TestTakeLeavesSharesForOthers(t *testing.T) {
	for _, c := range []struct {
		total int
		keys  []string
		want  []int
	}{
		{100, []string{"eve", "ada"}, []int{25, 25}},
		{100, []string{"a", "b", "c", "d", "e"}, []int{25, 25, 25, 1, 1}},
		{10, []string{"eve", "ada"}, []int{2, 2}},
		{1, []string{"eve", "ada"}, []int{1, 0}},
		{3, []string{"eve", "ada"}, []int{3, 0}},
		{100, []string{"", "ada"}, []int{100, 0}},
	} {
		b := New(c.total)
		for i, key := range c.keys {
			if got := takes(b, key, 200); got != c.want[i] {
				t.Errorf("of %d %q takes %d, want %d", c.total, key, got, c.want[i])
			}
		}
	}
	if b := Each(100, 3); takes(b, "eve", 10) != 3 || takes(b, "ada", 10) != 3 {
		t.Error("of 100 a key does not take 3 that it has")
	}
	b := New(8)
	for range 1000 { // returned items are available again, and no key is stored
		if takes(b, "eve", 8) != 2 {
			t.Fatal("eve does not get her share")
		}
		b.Give("eve")
		b.Give("eve")
	}
	if len(b.held.by) != 0 || b.held.Used() != 0 {
		t.Errorf("%d keys hold %d", len(b.held.by), b.held.Used())
	}
}

func TestBorrowTakesFromTheLargestHolder(t *testing.T) {
	const total = 1000
	b := New(total)
	held := map[string]int{}
	want := func(key string) bool {
		ok, from := b.Borrow(key)
		if from != "" {
			b.Give(from)
			held[from]--
			if ok, _ = b.Borrow(key); !ok {
				t.Fatalf("%s does not get what %s gave back", key, from)
			}
		}
		if ok {
			held[key]++
		}
		return ok
	}
	for range 2 * total {
		want("eve")
	}
	if held["eve"] != total {
		t.Errorf("eve alone holds %d of %d", held["eve"], total)
	}
	for i := range 9 {
		for range total {
			want(fmt.Sprint("user ", i))
		}
	}
	for key, n := range held {
		if n < total/10-2 || n > total/10+2 {
			t.Errorf("%s holds %d of %d, where ten want some", key, n, total)
		}
	}
}

func TestTurnsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(32)
		work := func(key string) error {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			done, err := turns.Wait(ctx, key)
			if err != nil {
				return err
			}
			defer done()
			time.Sleep(100 * time.Millisecond)
			return nil
		}
		for range 4000 {
			go func() { _ = work("eve") }()
		}
		synctest.Wait()
		for _, key := range []string{"ada", "eve"} { // the newest call of a caller is next, too
			began := time.Now()
			if err := work(key); err != nil || time.Since(began) > 300*time.Millisecond {
				t.Errorf("%s waits %v: %v", key, time.Since(began), err)
			}
		}
		time.Sleep(time.Minute)
		turns.mu.Lock()
		if turns.running != 0 || len(turns.of) != 0 || len(turns.order) != 0 {
			t.Errorf("%d run, %d keys are remembered, %d wait", turns.running, len(turns.of), len(turns.order))
		}
		turns.mu.Unlock()
		for _, key := range []string{"", "eve"} {
			for range 200 {
				go func() { _ = work(key) }()
			}
			synctest.Wait()
			turns.mu.Lock()
			if want := map[string]int{"": 32, "eve": 24}[key]; turns.running != want {
				t.Errorf("of %q %d run, want %d", key, turns.running, want)
			}
			turns.mu.Unlock()
			time.Sleep(time.Minute)
		}
	})
}

func TestTurnsEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		done, err := turns.Wait(t.Context(), "eve")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := turns.Wait(ctx, "ada"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		done()
		if done, err = turns.Wait(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		done()
		if len(turns.of) != 0 || len(turns.order) != 0 {
			t.Errorf("%d keys are remembered, %d wait", len(turns.of), len(turns.order))
		}
	})
}

func TestRecent(t *testing.T) {
	r := NewRecent[string](time.Minute, 3)
	now := time.Unix(1_000, 0)
	r.Add("a", now)
	for after, want := range map[time.Duration]bool{0: true, 59 * time.Second: true} {
		if got := r.Has("a", now.Add(after)); got != want {
			t.Errorf("after %v: %t", after, got)
		}
	}
	if now = now.Add(3 * time.Minute); r.Has("a", now) {
		t.Error("it is remembered for too long")
	}
	for i := range 100 {
		r.Add(fmt.Sprint(i), now)
	}
	if !r.Has("99", now) || r.Has("1", now) || len(r.now)+len(r.before) > 6 {
		t.Errorf("%d are remembered", len(r.now)+len(r.before))
	}
	if r.Forget("99"); r.Has("99", now) {
		t.Error("it is not forgotten")
	}
}
