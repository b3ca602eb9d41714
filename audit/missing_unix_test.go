//go:build unix

package audit

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Lines that are written to a moved or removed file are lost, without an error.
func TestALogWhoseFolderIsGoneRefusesUntilItIsBack(t *testing.T) {
	for name, take := range map[string]struct {
		do, undo func(dir string) error
		want     string
	}{
		"the folder was moved and is put back": {
			do:   func(dir string) error { return os.Rename(dir, dir+".x") },
			undo: func(dir string) error { return os.Rename(dir+".x", dir) },
			want: "was moved or removed: put it back",
		},
		"another folder is in its place, and goes again": {
			do: func(dir string) error { return errors.Join(os.Rename(dir, dir+".x"), os.Mkdir(dir, 0o700)) },
			undo: func(dir string) error {
				return errors.Join(os.Remove(dir), os.Rename(dir+".x", dir))
			},
			want: "another folder is at",
		},
		"the folder was removed": {do: os.RemoveAll, want: "was moved or removed: put it back"},
	} {
		for _, pause := range []time.Duration{0, time.Minute} { // a call comes at once, or after a while
			t.Run(name+" "+pause.String(), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "audit")
				synctest.Test(t, func(t *testing.T) {
					var said logged
					l := opened(t, dir, Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
					defer l.Close()
					appendCall(t, l, "before")
					if err := take.do(dir); err != nil {
						t.Fatal(err)
					}
					time.Sleep(pause)
					if err := l.Refused(); pause > 0 && !errors.Is(err, ErrUnavailable) {
						t.Errorf("a request is handled that cannot be written down: %v", err)
					}
					_ = l.Append(&Record{Kind: KindCall, Name: "may be lost within a second"})
					time.Sleep(1500 * time.Millisecond)
					if err := l.Refused(); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), take.want) {
						t.Fatalf("requests are refused: %v", err)
					}
					if !strings.Contains(said.String(), "audit: lines are not written") || !strings.Contains(said.String(), take.want) {
						t.Errorf("the program's log has %q", said.String())
					}
					if err := l.Append(&Record{Kind: KindCall, Name: "waits"}); !errors.Is(err, ErrUnavailable) {
						t.Errorf("a line: %v", err)
					}
					if take.undo == nil {
						return
					}
					if err := take.undo(dir); err != nil {
						t.Fatal(err)
					}
					if err := l.Refused(); err != nil {
						t.Fatalf("it is back: %v", err)
					}
					appendCall(t, l, "after")
					if err := l.Close(); err != nil {
						t.Fatal(err)
					}
					if _, text := files(t, dir); !bytes.Contains(text, []byte(`"waits"`)) || !bytes.Contains(text, []byte(`"after"`)) {
						t.Errorf("the log is %s", text)
					}
					isWhole(t, dir)
				})
			})
		}
	}
}

// The error of a refused request points to the program's log. That has the reason once, however
// many are refused, and the end of the refusals.
func TestTheProgramsLogSaysWhyRequestsAreRefusedAndUntilWhen(t *testing.T) {
	for name, idle := range map[string]time.Duration{"a call ran just before": 0, "no call ran for a while": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "audit")
			synctest.Test(t, func(t *testing.T) {
				var said logged
				l := opened(t, dir, Options{Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))})
				defer l.Close()
				counts := func(what string, failed, again int) {
					t.Helper()
					synctest.Wait()
					if text := said.String(); strings.Count(text, `level=ERROR msg="audit: lines are not written"`) != failed || strings.Count(text, "audit: lines are written again") != again {
						t.Errorf("%s: the program's log has %q", what, text)
					}
				}
				for times := 1; times <= 2; times++ {
					appendCall(t, l, "before")
					time.Sleep(idle)
					if err := os.Rename(dir, dir+".x"); err != nil {
						t.Fatal(err)
					}
					time.Sleep(lookPause)
					for range 3 {
						if err := l.Refused(); !errors.Is(err, ErrUnavailable) {
							t.Fatalf("requests are refused: %v", err)
						}
						counts("refused", times, times-1)
						time.Sleep(3 * time.Second)
					}
					if err := os.Rename(dir+".x", dir); err != nil {
						t.Fatal(err)
					}
					time.Sleep(2 * time.Second) // no request comes
					counts("put back", times, times)
				}
			})
		})
	}
}

// The loss of a folder is noticed even if no call comes.
func TestRemovedFoldersOfALogAreReportedWithoutCalls(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	synctest.Test(t, func(t *testing.T) {
		l := opened(t, dir, Options{Logger: slog.New(slog.DiscardHandler)})
		defer l.Close()
		appendCall(t, l, "before")
		time.Sleep(10 * time.Second)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if err := l.Err(); !errors.Is(err, ErrUnavailable) {
			t.Errorf("two minutes later: %v", err)
		}
	})
}

func TestALogGoesOnInTheNextFileWhereOneIsGone(t *testing.T) {
	const first, other = "0000000000000001.jsonl", "0000000000000001.jsonl.1"
	for name, test := range map[string]struct {
		take  func(dir string) error
		noted string // is in the next line
		whole bool
	}{
		"the file was removed": {func(dir string) error { return os.Remove(filepath.Join(dir, first)) }, first + " was moved or removed while it was written: it was there with line 2", false},
		"the file was moved":   {func(dir string) error { return os.Rename(filepath.Join(dir, first), filepath.Join(dir, other)) }, first + " was moved or removed", false},
		"another file took its place": {func(dir string) error {
			return errors.Join(os.Rename(filepath.Join(dir, first), filepath.Join(dir, other)), os.WriteFile(filepath.Join(dir, first), nil, 0o600))
		}, first + " was moved or removed", false},
		"all files were removed": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, first)), os.Remove(filepath.Join(dir, headFile)))
		}, first + " was moved or removed", false},
		"where it ends was removed": {func(dir string) error { return os.Remove(filepath.Join(dir, headFile)) }, headFile + " was moved or removed", true},
		"where it ends is another file": {func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, headFile)), os.WriteFile(filepath.Join(dir, headFile), []byte("{}"), 0o600))
		}, headFile + " was moved or removed", true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "audit")
			synctest.Test(t, func(t *testing.T) {
				var said logged
				l := opened(t, dir, Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
				defer l.Close()
				appendCall(t, l, "before")
				time.Sleep(2 * time.Second)
				if err := test.take(dir); err != nil {
					t.Fatal(err)
				}
				appendCall(t, l, "after")
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				if _, text := files(t, dir); !bytes.Contains(text, []byte(test.noted)) || !bytes.Contains(text, []byte(`"after"`)) {
					t.Errorf("the log is %s", text)
				}
				if !strings.Contains(said.String(), "level=ERROR") || !strings.Contains(said.String(), test.noted) {
					t.Errorf("the program's log has %q", said.String())
				}
				if got := faults(t, dir); (got == "") != test.whole {
					t.Errorf("it verifies with %q", got)
				}
				again := opened(t, dir, Options{})
				appendCall(t, again, "later")
				if err := again.Close(); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// logged is the output of a program's log, which can be read while it is written. The race detector
// does not know that a timer of a bubble runs after a sleep before it.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
