package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/dial"
)

// A faultyWay passes on bytes between stores and their server, until a test disturbs it.
type faultyWay struct {
	address, server string
	held            atomic.Bool // nothing passes, and connections stay open
	deaf            atomic.Bool // requests pass; the first answer ends its connection
}

func newFaultyWay(t testing.TB, server string) *faultyWay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &faultyWay{address: listener.Addr().String(), server: server}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { w.pass(ctx, client) })
		}
	})
	t.Cleanup(func() {
		stop()
		_ = listener.Close()
		all.Wait()
	})
	return w
}

func (w *faultyWay) pass(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() {
		_ = client.Close()
		_ = server.Close()
	})()
	var both sync.WaitGroup
	copyTo := func(to, from net.Conn, answers bool) {
		defer client.Close()
		defer server.Close()
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			for w.held.Load() && ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			if answers && w.deaf.Load() {
				return
			}
			if n > 0 {
				if _, err := to.Write(buffer[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	both.Go(func() { copyTo(server, client, false) })
	copyTo(client, server, true)
	both.Wait()
}

// faultyServers are servers with what their tests need.
var faultyServers = map[string]func(t *testing.T) (s *stateServer, url func(address string) string, kill os.Signal){
	"Valkey": func(t *testing.T) (*stateServer, func(string) string, os.Signal) {
		s := valkeyOf(t, "--appendonly", "yes", "--appendfsync", "always")
		return s, func(address string) string { return "valkey://" + address }, syscall.SIGKILL
	},
	"PostgreSQL": func(t *testing.T) (*stateServer, func(string) string, os.Signal) {
		s, _ := runningPostgres(t)
		return s, func(address string) string { return "postgres://owner:owning@" + address + "/postgres?sslmode=disable" }, syscall.SIGQUIT
	},
}

// TestStateOutlivesItsServer kills a server twice while callers count under versions, append and hold
// leases. Nothing that was confirmed is lost or there twice, no call waits for long, all know that
// the store is away, and all go on by themselves.
func TestStateOutlivesItsServer(t *testing.T) {
	t.Parallel()
	for name, begin := range faultyServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, url, kill := begin(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			h := storeHistory{longest: map[string]time.Duration{}}
			hinted := stateOf(t, url(server.address))
			hints, err := hinted.Subscribe(t.Context(), "t")
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for range 3 {
				s := stateOf(t, url(server.address))
				all.Go(func() { h.count(ctx, t, s) })
				all.Go(func() { h.append(ctx, t, s) })
				all.Go(func() { h.fight(ctx, t, s) })
			}
			for range 2 {
				before := h.done.Load()
				eventually(t, "work", func() bool { return h.done.Load() > before+100 })
				server.end(t, kill)
				failures := h.failed.Load()
				eventually(t, "failures", func() bool { return h.failed.Load() > failures+10 })
				server.start(t)
			}
			before := h.done.Load()
			eventually(t, "work after all", func() bool { return h.done.Load() > before+100 })
			cancel()
			all.Wait()
			h.check(t, stateOf(t, url(server.address)))
			hears(t, hinted, hints)
		})
	}
}

// A storeHistory is what callers of a store remember.
type storeHistory struct {
	done, failed atomic.Int64

	mu        sync.Mutex
	counted   int // confirmed increments
	maybe     int // increments that may have been done
	appended  map[string]uint64
	doubtful  map[string]bool
	longest   map[string]time.Duration
	uncertain int
}

// call runs an operation, and reports its failure as one of a store that is away.
func (h *storeHistory) call(ctx context.Context, t *testing.T, what string, do func() error) error {
	began := time.Now()
	err := do()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.longest[what] = max(h.longest[what], time.Since(began))
	switch {
	case ctx.Err() != nil || err == nil || errors.Is(err, state.ErrConflict) || errors.Is(err, state.ErrHeld) || errors.Is(err, state.ErrLost) || errors.Is(err, state.ErrNotFound):
	case errors.Is(err, state.ErrUnavailable):
		if h.failed.Add(1); errors.Is(err, state.ErrUncertain) {
			h.uncertain++
		}
		time.Sleep(5 * time.Millisecond)
	default:
		t.Errorf("%s: %v", what, err)
	}
	if err == nil {
		h.done.Add(1)
	}
	return err
}

func (h *storeHistory) count(ctx context.Context, t *testing.T, s state.Store) {
	for ctx.Err() == nil {
		var e state.Entry
		err := h.call(ctx, t, "get", func() (err error) { e, err = s.Get(ctx, "n"); return err })
		if err != nil && !errors.Is(err, state.ErrNotFound) {
			continue
		}
		n := 0
		if err == nil {
			if _, err := fmt.Sscan(string(e.Value), &n); err != nil {
				t.Error(err)
			}
		}
		err = h.call(ctx, t, "swap", func() error {
			_, err := s.CompareAndSwap(ctx, "n", e.Version, fmt.Append(nil, n+1), state.Write{})
			return err
		})
		h.mu.Lock()
		if err == nil {
			h.counted++
		} else if ctx.Err() != nil || errors.Is(err, state.ErrUncertain) {
			h.maybe++
		}
		h.mu.Unlock()
	}
}

func (h *storeHistory) append(ctx context.Context, t *testing.T, s state.Log) {
	for i := 0; ctx.Err() == nil; i++ {
		value, position := fmt.Sprintf("%p/%d", s, i), uint64(0)
		err := h.call(ctx, t, "append", func() (err error) {
			position, err = s.Append(ctx, "log", []byte(value), state.Write{})
			return err
		})
		h.mu.Lock()
		if h.appended == nil {
			h.appended, h.doubtful = map[string]uint64{}, map[string]bool{}
		}
		if err == nil {
			h.appended[value] = position
		} else if ctx.Err() != nil || errors.Is(err, state.ErrUncertain) {
			h.doubtful[value] = true
		}
		h.mu.Unlock()
	}
}

// fight writes its token under a lease, often too late.
func (h *storeHistory) fight(ctx context.Context, t *testing.T, s state.Shared) {
	for round := 0; ctx.Err() == nil; round++ {
		var hold state.Hold
		if h.call(ctx, t, "acquire", func() (err error) { hold, err = s.Acquire(ctx, "lease", 100*time.Millisecond); return err }) != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		for range 3 {
			_ = h.call(ctx, t, "append under a lease", func() error {
				_, err := s.Append(ctx, "tokens", fmt.Append(nil, hold.Token), state.Write{Hold: hold})
				return err
			})
			time.Sleep(time.Duration(10+round%5*20) * time.Millisecond)
		}
		if round%2 == 0 {
			_ = h.call(ctx, t, "release", func() error { return s.Release(ctx, hold) })
		}
	}
}

// records returns all of a log.
func records(t *testing.T, s state.Log, key string) (all []state.Record) {
	t.Helper()
	for after := uint64(0); ; {
		found, err := s.Read(t.Context(), key, after, 200)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 0 {
			return all
		}
		all, after = append(all, found...), found[len(found)-1].Position
	}
}

func (h *storeHistory) check(t *testing.T, s state.Shared) {
	t.Helper()
	e, err := s.Get(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscan(string(e.Value), &n); err != nil || n < h.counted || n > h.counted+h.maybe {
		t.Errorf("the count is %d, of %d to %d (%v)", n, h.counted, h.counted+h.maybe, err)
	}
	there := map[string]bool{}
	for _, r := range records(t, s, "log") {
		value := string(r.Value)
		if there[value] || h.appended[value] != r.Position && !h.doubtful[value] {
			t.Errorf("record %q has position %d, want %d (twice: %v)", value, r.Position, h.appended[value], there[value])
		}
		there[value] = true
	}
	for value := range h.appended {
		if !there[value] {
			t.Errorf("record %q is lost", value)
		}
	}
	last := uint64(0)
	for _, r := range records(t, s, "tokens") {
		var token uint64
		if _, err := fmt.Sscan(string(r.Value), &token); err != nil || token < last {
			t.Errorf("a write with token %s came after one with %d (%v)", r.Value, last, err)
		}
		last = token
	}
	for what, longest := range h.longest {
		if longest > 8*time.Second {
			t.Errorf("%s took %v", what, longest)
		}
	}
	if last == 0 || len(there) == 0 || h.counted == 0 {
		t.Errorf("tokens up to %d, %d records, %d counted", last, len(there), h.counted)
	}
	t.Logf("%d calls, %d failed, %d of them uncertain; longest %v", h.done.Load(), h.failed.Load(), h.uncertain, h.longest)
}

// TestStateTellsWhatMayHaveBeenDone cuts the connection after a write has reached the server, and lets
// nothing pass for a while.
func TestStateTellsWhatMayHaveBeenDone(t *testing.T) {
	t.Parallel()
	for name, begin := range faultyServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			server, url, _ := begin(t)
			way := newFaultyWay(t, server.address)
			s, direct := stateOf(t, url(way.address)), stateOf(t, url(server.address))
			version, err := s.Put(ctx, "k", nil, state.Write{})
			if err != nil {
				t.Fatal(err)
			}
			// A driver may ask the server more before the first such write.
			if version, err = s.CompareAndSwap(ctx, "k", version, []byte("before"), state.Write{}); err != nil {
				t.Fatal(err)
			}

			eventually(t, "a write that arrived", func() bool {
				way.deaf.Store(true)
				_, err := s.CompareAndSwap(ctx, "k", version, []byte("after"), state.Write{})
				if !errors.Is(err, state.ErrUncertain) || !errors.Is(err, state.ErrUnavailable) {
					t.Errorf("a write without an answer: %v", err)
				}
				e, err := direct.Get(ctx, "k")
				if err != nil {
					t.Error(err)
				}
				if string(e.Value) == "after" {
					return true
				}
				way.deaf.Store(false) // the answer to something else has ended the connection before
				eventually(t, "a connection again", func() bool { _, err := s.Get(ctx, "k"); return err == nil })
				return false
			})
			if _, err := s.Get(ctx, "k"); !errors.Is(err, state.ErrUnavailable) || errors.Is(err, state.ErrUncertain) {
				t.Errorf("a read without an answer: %v", err)
			}
			way.deaf.Store(false)
			eventually(t, "a connection again", func() bool {
				_, err := s.CompareAndSwap(ctx, "k", version, []byte("twice"), state.Write{})
				return errors.Is(err, state.ErrConflict)
			})
			if _, err := s.Append(ctx, "log", []byte("once"), state.Write{}); err != nil {
				t.Error(err)
			}
			if found := records(t, direct, "log"); len(found) != 1 {
				t.Errorf("there are %d records", len(found))
			}

			way.held.Store(true)
			began := time.Now()
			_, err = s.Put(ctx, "k", []byte("held"), state.Write{})
			if took := time.Since(began); !errors.Is(err, state.ErrUncertain) || took > 8*time.Second {
				t.Errorf("a write to a server that does not answer: %v after %v", err, took)
			}
			impatient, done := context.WithTimeout(ctx, 100*time.Millisecond)
			defer done()
			began = time.Now()
			if _, err = s.Get(impatient, "k"); err == nil || time.Since(began) > 2*time.Second {
				t.Errorf("an impatient read: %v after %v", err, time.Since(began))
			}
			way.held.Store(false)
			eventually(t, "an answer again", func() bool { _, err := s.Get(ctx, "k"); return err == nil })
		})
	}
}

// TestStateIsAway opens a store whose server does not run.
func TestStateIsAway(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"valkey", "postgres"} {
		began := time.Now()
		_, err := dial.Open(t.Context(), scheme+"://ann:hunter2@"+freeAddress(t)+"/0", dial.Options{})
		if !errors.Is(err, state.ErrUnavailable) || strings.Contains(err.Error(), "hunter2") || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %v after %v", scheme, err, time.Since(began))
		}
	}
}

// TestStateRefusesToLoseValues fills a server's memory, and finds one that would remove values then.
func TestStateRefusesToLoseValues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := valkeyOf(t, "--maxmemory", "16mb", "--maxmemory-policy", "noeviction")
	s := stateOf(t, "valkey://"+server.address)
	hold, err := s.Acquire(ctx, "lease", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	full := 0
	for ; err == nil && full < 100; full++ {
		_, err = s.Put(ctx, fmt.Sprint("k", full), make([]byte, 1<<20), state.Write{})
	}
	if !errors.Is(err, state.ErrFull) || errors.Is(err, state.ErrUncertain) {
		t.Fatalf("after %d values: %v", full, err)
	}
	if _, err := s.Append(ctx, "log", make([]byte, 1<<20), state.Write{}); !errors.Is(err, state.ErrFull) {
		t.Errorf("append: %v", err)
	}
	if entries, err := s.List(ctx, "k", "", 100); err != nil || len(entries) != full-1 {
		t.Errorf("a list has %d values, want %d: %v", len(entries), full-1, err)
	}
	if err := s.Renew(ctx, hold, time.Minute); err != nil {
		t.Errorf("renew: %v", err)
	}
	for i := range 4 {
		if err := s.Delete(ctx, fmt.Sprint("k", i), state.Hold{}); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := s.Put(ctx, "k", make([]byte, 1<<20), state.Write{Hold: hold}); err != nil {
		t.Errorf("with room again: %v", err)
	}
	server.ask(t, "config", "set", "maxmemory-policy", "allkeys-lru")
	if _, err := dial.Open(ctx, "valkey://"+server.address, dial.Options{}); err == nil || !strings.Contains(err.Error(), "noeviction") {
		t.Errorf("a server that removes values: %v", err)
	}
}

// sentinelsOf starts a primary with copies, and three Sentinels, and returns the servers and the addresses
// of the Sentinels.
func sentinelsOf(t testing.TB, copies int, arguments ...string) (servers []*stateServer, sentinels []string) {
	t.Helper()
	primary := redisOf(t, arguments...)
	host, port, err := net.SplitHostPort(primary.address)
	if err != nil {
		t.Fatal(err)
	}
	servers = []*stateServer{primary}
	for range copies {
		servers = append(servers, redisOf(t, append(slices.Clone(arguments), "--repl-diskless-sync-delay", "0", "--replicaof", host+" "+port)...))
	}
	for range 3 {
		dir := t.TempDir()
		address := freeAddress(t)
		file := dir + "/sentinel.conf"
		text := fmt.Sprintf("bind 127.0.0.1\nport %s\nsentinel monitor main %s %s 2\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n", portOf(t, address), host, port)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &stateServer{address: address, dir: dir, path: primary.path, argv: []string{"redis-sentinel", file, "--sentinel"}}
		s.start(t)
		t.Cleanup(func() { s.end(t, syscall.SIGKILL) })
		sentinels = append(sentinels, address)
	}
	for _, s := range servers[1:] {
		eventually(t, "a replica", func() bool { return strings.Contains(s.ask(t, "info", "replication"), "master_link_status:up") })
	}
	eventually(t, "the Sentinels", func() bool {
		s := &stateServer{address: sentinels[0]}
		return strings.Contains(s.ask(t, "info", "sentinel"), fmt.Sprintf("status=ok,address=%s,slaves=%d,sentinels=3", primary.address, copies))
	})
	return servers, sentinels
}

// portOf returns the port of an address.
func portOf(t testing.TB, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestStateFailsOver kills the primary of three servers with Sentinels.
func TestStateFailsOver(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	servers, sentinels := sentinelsOf(t, 1)
	primary, replica := servers[0], servers[1]
	s := stateOf(t, "redis://"+strings.Join(sentinels, ",")+"?sentinel=main")
	hints, err := s.Subscribe(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	first, err := s.Acquire(ctx, "lease", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	version, err := s.Put(ctx, "k", []byte("x"), state.Write{Hold: first})
	if err != nil {
		t.Fatal(err)
	}
	position, err := s.Append(ctx, "log", []byte("x"), state.Write{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the copy", func() bool { return replica.ask(t, "exists", "{junction/}:s:log") == "1" })
	// The replica loses what comes now, the numbers included.
	replica.ask(t, "replicaof", "no", "one")
	replica.ask(t, "del", "{junction/}:clock", "{junction/}:l:lease")
	primary.end(t, syscall.SIGKILL)

	failures := 0
	var second state.Hold
	eventually(t, "a new primary", func() bool {
		if second, err = s.Acquire(ctx, "lease", time.Hour); err == nil {
			return true
		}
		if failures++; !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("while there is no primary: %v", err)
		}
		return false
	})
	if second.Token <= first.Token {
		t.Errorf("token %d comes after %d", second.Token, first.Token)
	}
	if _, err := s.Put(ctx, "k", []byte("late"), state.Write{Hold: first}); !errors.Is(err, state.ErrLost) {
		t.Errorf("the lease from before writes: %v", err)
	}
	next, err := s.CompareAndSwap(ctx, "k", version, []byte("y"), state.Write{Hold: second})
	if err != nil || next <= version {
		t.Errorf("version %s comes after %s: %v", next, version, err)
	}
	if after, err := s.Append(ctx, "log", []byte("y"), state.Write{}); err != nil || after <= position {
		t.Errorf("position %d comes after %d: %v", after, position, err)
	}
	if found := records(t, s, "log"); len(found) != 2 {
		t.Errorf("there are %d records", len(found))
	}
	hears(t, s, hints)
	t.Logf("%d calls failed", failures)
}

// TestStateOfAClusterFailsOver kills one of the primaries of a Cluster while callers work.
func TestStateOfAClusterFailsOver(t *testing.T) {
	t.Parallel()
	servers, url := valkeyCluster(t, 1)
	ctx := t.Context()
	lost, other := "", ""
	for i := 0; lost == "" || other == ""; i++ { // a group on the server that is killed, and one elsewhere
		group := fmt.Sprint("g", i)
		var slot int
		if _, err := fmt.Sscan(servers[0].ask(t, "cluster", "keyslot", "{junction/"+group+"}"), &slot); err != nil {
			t.Fatal(err)
		}
		if slot <= 5460 {
			lost = group
		} else {
			other = group
		}
	}
	s := stateOf(t, url)
	position, err := s.Append(ctx, lost+"/log", []byte("x"), state.Write{})
	if err != nil {
		t.Fatal(err)
	}
	hints, err := s.Subscribe(ctx, "t")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the copy", func() bool {
		return servers[3].ask(t, "cluster", "countkeysinslot", servers[3].ask(t, "cluster", "keyslot", "{junction/"+lost+"}")) == "3"
	})
	servers[0].end(t, syscall.SIGKILL)
	failures := 0
	eventually(t, "a new primary", func() bool {
		if _, err := s.Put(ctx, other+"/k", nil, state.Write{}); err != nil && !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("a put elsewhere: %v", err)
		}
		began := time.Now()
		next, err := s.Append(ctx, lost+"/log", []byte("y"), state.Write{})
		if time.Since(began) > 8*time.Second {
			t.Errorf("an append took %v", time.Since(began))
		}
		if err == nil && next <= position {
			t.Errorf("position %d comes after %d", next, position)
		}
		if failures++; err != nil && !errors.Is(err, state.ErrUnavailable) {
			t.Errorf("while there is no primary: %v", err)
		}
		return err == nil
	})
	hears(t, s, hints)
	if found := records(t, s, lost+"/log"); len(found) < 2 || string(found[0].Value) != "x" {
		t.Errorf("the log is %v", found)
	}
	t.Logf("%d calls failed", failures-1)
}

// moveSlot moves a slot from the one of two servers of a Cluster that has it to the other one, key by key,
// as redis-cli does. It does nothing if neither has it.
func moveSlot(t testing.TB, servers []*stateServer, slot string) {
	t.Helper()
	from, to := servers[0], servers[1]
	switch {
	case ownsSlot(t, from, slot):
	case ownsSlot(t, to, slot):
		from, to = to, from
	default:
		return
	}
	host, port, err := net.SplitHostPort(to.address)
	if err != nil {
		t.Fatal(err)
	}
	next := to.ask(t, "cluster", "myid")
	to.ask(t, "cluster", "setslot", slot, "importing", from.ask(t, "cluster", "myid"))
	from.ask(t, "cluster", "setslot", slot, "migrating", next)
	for {
		keys := strings.Fields(from.ask(t, "cluster", "getkeysinslot", slot, "20"))
		if len(keys) == 0 {
			break
		}
		for _, key := range keys {
			if said := from.ask(t, "migrate", host, port, key, "0", "5000"); said != "OK" && said != "NOKEY" {
				t.Errorf("the key %s cannot be moved: %s", key, said)
				return
			}
		}
	}
	for _, s := range []*stateServer{to, from} {
		s.ask(t, "cluster", "setslot", slot, "node", next)
	}
}

// ownsSlot reports whether a server has a slot.
func ownsSlot(t testing.TB, s *stateServer, slot string) bool {
	t.Helper()
	n, err := strconv.Atoi(slot)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(s.ask(t, "cluster", "nodes")) {
		words := strings.Fields(line)
		if len(words) < 3 || !strings.Contains(words[2], "myself") {
			continue
		}
		for _, part := range words[min(8, len(words)):] {
			first, last, found := strings.Cut(part, "-")
			if !found {
				last = first
			}
			from, err1 := strconv.Atoi(first)
			to, err2 := strconv.Atoi(last)
			if err1 == nil && err2 == nil && from <= n && n <= to { // others are on their way
				return true
			}
		}
	}
	return false
}

// TestStateOfAClusterMoves moves the slot of the keys with which callers count, append and fight for a
// lease. They may be refused meanwhile, and nothing is lost or there twice.
func TestStateOfAClusterMoves(t *testing.T) {
	t.Parallel()
	servers, url := valkeyCluster(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	all := stateOf(t, url)
	for i := range 50 {
		if _, err := all.Put(ctx, fmt.Sprint("k", i), nil, state.Write{TTL: time.Hour * time.Duration(i%2)}); err != nil {
			t.Fatal(err)
		}
	}
	h := storeHistory{longest: map[string]time.Duration{}}
	var working sync.WaitGroup
	for range 3 {
		s := stateOf(t, url)
		working.Go(func() { h.count(ctx, t, s) })
		working.Go(func() { h.append(ctx, t, s) })
		working.Go(func() { h.fight(ctx, t, s) })
		working.Go(func() {
			for ctx.Err() == nil {
				var found []state.Entry
				err := h.call(ctx, t, "list", func() (err error) { found, err = s.List(ctx, "k", "", 100); return err })
				if err == nil && len(found) != 50 {
					t.Errorf("a list has %d values, want 50", len(found))
				}
			}
		})
	}
	slot := servers[0].ask(t, "cluster", "keyslot", "{junction/}")
	var pair []*stateServer
	for _, s := range servers {
		if ownsSlot(t, s, slot) {
			pair = append([]*stateServer{s}, pair...)
		} else if len(pair) < 2 {
			pair = append(pair, s)
		}
	}
	for range 4 {
		before := h.done.Load()
		eventually(t, "work", func() bool { return h.done.Load() > before+100 })
		moveSlot(t, pair[:2], slot)
	}
	before := h.done.Load()
	eventually(t, "work after all", func() bool { return h.done.Load() > before+100 })
	cancel()
	working.Wait()
	h.check(t, all)
}

// hears fails the test unless hints still arrive.
func hears(t *testing.T, s state.Signal, hints <-chan struct{}) {
	t.Helper()
	for len(hints) > 0 {
		<-hints
	}
	eventually(t, "a hint", func() bool {
		if err := s.Publish(t.Context(), "t"); err != nil && !errors.Is(err, state.ErrUnavailable) {
			t.Error(err)
		}
		return len(hints) > 0
	})
}

// TestStateIgnoresTheClocksOfClients lets a client whose clock is decades behind work with another one.
func TestStateIgnoresTheClocksOfClients(t *testing.T) {
	t.Parallel()
	for name, begin := range faultyServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, url, _ := begin(t)
			ctx, right := t.Context(), stateOf(t, url(server.address))
			write := func(t *testing.T, s state.Shared, key string) {
				t.Helper()
				hold, err := s.Acquire(t.Context(), key, time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := s.Put(t.Context(), key, nil, state.Write{TTL: time.Minute, Hold: hold}); err != nil {
					t.Error(err)
				}
				if _, err := s.Append(t.Context(), "log", []byte(key), state.Write{TTL: time.Minute, Hold: hold}); err != nil {
					t.Error(err)
				}
			}
			sees := func(t *testing.T, s state.Shared, key string) {
				t.Helper()
				if _, err := s.Get(t.Context(), key); err != nil {
					t.Error(err)
				}
				if _, err := s.Acquire(t.Context(), key, time.Minute); !errors.Is(err, state.ErrHeld) {
					t.Errorf("acquire: %v", err)
				}
			}
			write(t, right, "right")
			synctest.Test(t, func(t *testing.T) {
				if time.Since(time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)) > 0 {
					t.Fatal("the clock is right")
				}
				wrong, err := dial.Open(t.Context(), url(server.address), dial.Options{})
				if err != nil {
					t.Fatal(err)
				}
				sees(t, wrong, "right")
				write(t, wrong, "wrong")
				if err := wrong.Trim(t.Context(), "log", state.Keep{Age: time.Minute}, state.Hold{}); err != nil {
					t.Error(err)
				}
				if err := wrong.Close(); err != nil {
					t.Error(err)
				}
			})
			sees(t, right, "wrong")
			if found, err := right.Read(ctx, "log", 0, 10); err != nil || len(found) != 2 || found[1].Position <= found[0].Position {
				t.Errorf("the log is %v, %v", found, err)
			}
		})
	}
}

// TestStateRemovesWhatHasExpired looks for the traces of values and logs whose time is over.
func TestStateRemovesWhatHasExpired(t *testing.T) {
	t.Parallel()
	const ttl = 300 * time.Millisecond
	fill := func(t *testing.T, s state.Shared) {
		t.Helper()
		for i := range 30 {
			if _, err := s.Put(t.Context(), fmt.Sprint("k", i), nil, state.Write{TTL: ttl}); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Append(t.Context(), fmt.Sprint("log", i%2), nil, state.Write{TTL: ttl}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * ttl)
		for range 2 { // a write removes a limited number
			if _, err := s.Put(t.Context(), "stays", nil, state.Write{TTL: time.Hour}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Append(t.Context(), "log1", nil, state.Write{TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("Valkey", func(t *testing.T) {
		t.Parallel()
		server := valkeyOf(t)
		fill(t, stateOf(t, "valkey://"+server.address))
		for key, want := range map[string]string{"index": "1", "expiry": "1"} {
			if got := server.ask(t, "zcard", "{junction/}:"+key); got != want {
				t.Errorf("%s has %s keys, want %s", key, got, want)
			}
		}
		eventually(t, "only what stays", func() bool {
			return server.ask(t, "dbsize") == "7" // value, index, expiry, clock, groups, log and its end
		})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		_, p := runningPostgres(t)
		url := "postgres://owner:owning@" + p.address + "/postgres"
		fill(t, stateOf(t, url))
		count := func() string {
			return run(t, os.Environ(), append(p.owner, "--command=SELECT (SELECT count(*) FROM junction_entries), (SELECT count(*) FROM junction_logs), (SELECT count(*) FROM junction_records), (SELECT count(*) FROM junction_logs WHERE stale)")...)
		}
		if got := strings.TrimSpace(count()); !strings.HasPrefix(got, "31|2|31|") {
			t.Errorf("before there are %s", got)
		}
		eventually(t, "only what stays", func() bool {
			stateOf(t, url) // it removes something when it is opened
			return strings.TrimSpace(count()) == "1|1|1|0"
		})
	})
}
