package audit

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/state"
)

// A faultyStore counts writes, and is away for a while.
type faultyStore struct {
	*state.Memory
	away   atomic.Bool
	writes atomic.Int64
}

func (f *faultyStore) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	if f.away.Load() {
		return "", state.ErrUnavailable
	}
	f.writes.Add(1)
	return f.Memory.CompareAndSwap(ctx, key, old, value, w)
}

// A witnessedLog is the log of a replica whose end a store has.
type witnessedLog struct {
	*testing.T
	dir   string
	key   *Key
	store *faultyStore
}

func newWitnessed(t *testing.T) *witnessedLog {
	key, err := NewKey(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	return &witnessedLog{t, filepath.Join(t.TempDir(), "log"), key, &faultyStore{Memory: state.NewMemory(0)}}
}

// write opens the log, writes lines for some seconds, and closes it.
func (w *witnessedLog) write(seconds int) {
	w.Helper()
	l, err := Open(w.dir, Options{Key: w.key, NoSync: true, Logger: slog.New(slog.DiscardHandler), Witness: &Witness{w.store, "one", "host"}})
	if err != nil {
		w.Fatal(err)
	}
	for range seconds * 10 {
		if err := l.Append(&Record{Kind: KindCall, Name: "a"}); err != nil {
			w.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := l.Close(); err != nil {
		w.Fatal(err)
	}
}

// stored returns the only log that the store knows.
func (w *witnessedLog) stored() Witnessed {
	w.Helper()
	all, err := Witnesses(w.Context(), w.store)
	if err != nil || len(all) != 1 {
		w.Fatalf("%d logs, %v", len(all), err)
	}
	return all[0]
}

// verify returns the faults, with the store and without.
func (w *witnessedLog) verify() (with, without string) {
	w.Helper()
	known, err := Witnesses(w.Context(), w.store)
	if err != nil {
		w.Fatal(err)
	}
	r, err := VerifyWith(w.dir, VerifyOptions{Key: w.key, Witnessed: known, Host: "host"})
	if err != nil {
		w.Fatal(err)
	}
	text, err := json.Marshal(r.Faults)
	if err != nil {
		w.Fatal(err)
	}
	public, err := VerifyWith(w.dir, VerifyOptions{Public: w.key.Public(), Witnessed: known, Host: "host"})
	if err != nil || (public.Count == 0) != (r.Count == 0) {
		w.Errorf("with the public key: %+v, %v", public, err)
	}
	alone, err := Verify(w.dir, w.key)
	if err != nil {
		return string(text), err.Error()
	}
	other, err := json.Marshal(alone.Faults)
	if err != nil {
		w.Fatal(err)
	}
	return string(text), string(other)
}

// copied returns a copy of the folder.
func (w *witnessedLog) copied() string {
	w.Helper()
	dir := filepath.Join(w.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(w.dir)); err != nil {
		w.Fatal(err)
	}
	return dir
}

// use makes a copy the folder of the log.
func (w *witnessedLog) use(dir string) {
	w.Helper()
	if err := errors.Join(os.RemoveAll(w.dir), os.CopyFS(w.dir, os.DirFS(dir))); err != nil {
		w.Fatal(err)
	}
}

// A store has the end of a log each second in which it grew, and when it is closed.
func TestTheEndOfALogIsWitnessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWitnessed(t)
		w.write(10)
		first := w.stored()
		if n := w.store.writes.Load(); n < 9 || n > 12 {
			t.Errorf("%d writes in 10 seconds", n)
		}
		if with, without := w.verify(); with != "[]" || without != "[]" {
			t.Errorf("faults %s, and without the store %s", with, without)
		}
		w.store.away.Store(true)
		w.write(3)
		w.store.away.Store(false)
		if got := w.stored(); got.Seq != first.Seq {
			t.Errorf("the store has line %d", got.Seq)
		}
		if with, _ := w.verify(); with != "[]" { // the log has more than the store
			t.Errorf("faults %s", with)
		}
		w.write(1)
		last := w.stored()
		if last.Chain != first.Chain || last.Seq <= first.Seq+30 || last.Host != "host" || last.Folder != w.dir || last.Instance != "one" || len(last.Lost) > 0 {
			t.Errorf("the store has %+v after %+v", last, first)
		}
		if with, _ := w.verify(); with != "[]" {
			t.Errorf("faults %s", with)
		}
	})
}

// An older copy in place of the folder is found, also after the log was continued. The
// end in the store never goes back.
func TestAnOlderCopyIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWitnessed(t)
		w.write(2)
		older := w.copied()
		w.write(5)
		last := w.stored()
		w.use(older)
		with, without := w.verify()
		if without != "[]" || !strings.Contains(with, "which the store of the replicas has") || !strings.Contains(with, "is missing") {
			t.Errorf("faults %s, and without the store %s", with, without)
		}
		w.write(1)
		if got := w.stored(); got.End != last.End {
			t.Errorf("the store has line %d after line %d", got.Seq, last.Seq)
		}
		lines, err := os.ReadFile(filepath.Join(w.dir, fileName(1)))
		if err != nil || !strings.Contains(string(lines), "lines were removed, or a copy of the folder is in use") {
			t.Errorf("the log has no line about that: %v", err)
		}
		w.write(10)
		got := w.stored()
		if got.Seq <= last.Seq || len(got.Lost) != 1 || got.Lost[0] != last.End {
			t.Errorf("the store has %+v after %+v", got, last)
		}
		with, without = w.verify()
		if without != "[]" || !strings.Contains(with, "a part of the log was replaced") {
			t.Errorf("faults %s, and without the store %s", with, without)
		}
	})
}

// A folder that was removed is found by its name, and so is another log in its place.
func TestAMissingLogIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWitnessed(t)
		w.write(2)
		if err := os.RemoveAll(w.dir); err != nil {
			t.Fatal(err)
		}
		if with, without := w.verify(); !strings.Contains(with, "the log is missing: the store of the replicas has its line") || !strings.Contains(without, "no such file") {
			t.Errorf("faults %s, and without the store %s", with, without)
		}
		known, err := Witnesses(t.Context(), w.store)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := VerifyWith(w.dir, VerifyOptions{Key: w.key, Witnessed: known, Host: "another"}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("on another machine: %v", err)
		}
		w.write(5)
		if with, without := w.verify(); !strings.Contains(with, "a part of the log was replaced") || without != "[]" {
			t.Errorf("another log: faults %s, and without the store %s", with, without)
		}
	})
}

// An end without the signature of the log's key is no evidence against the log, but a fault.
func TestAForgedEndIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWitnessed(t)
		w.write(2)
		forged := w.stored()
		forged.Seq += 100
		text, err := json.Marshal(forged)
		if err == nil {
			_, err = w.store.Put(t.Context(), endPrefix+forged.Chain, text, state.Write{})
		}
		if err != nil {
			t.Fatal(err)
		}
		if with, _ := w.verify(); !strings.Contains(with, "without a signature of its key") || strings.Contains(with, "is missing") {
			t.Errorf("faults %s", with)
		}
	})
}

// Lines that the log itself removed are no fault.
func TestWitnessedLinesCanExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWitnessed(t)
		w.write(2)
		old := w.stored()
		for range 5 {
			l, err := Open(w.dir, Options{Key: w.key, NoSync: true, MaxFile: 2000, Keep: 4000, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				if err := l.Append(&Record{Kind: KindCall, Name: "a"}); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		w.write(1)
		if got := w.stored(); got.Seq <= old.Seq || len(got.Lost) > 0 {
			t.Errorf("the store has %+v", got)
		}
		if with, _ := w.verify(); with != "[]" {
			t.Errorf("faults %s", with)
		}
	})
}
