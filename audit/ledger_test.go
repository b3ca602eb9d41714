package audit

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOnlyFilesThatAreAsWrittenExpire changes a log while it is written or between two processes.
// Only the ledger decides which files are removed, and how many bytes count.
func TestOnlyFilesThatAreAsWrittenExpire(t *testing.T) {
	const first = "0000000000000001.jsonl"
	change := func(name string, do func(data []byte) []byte) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, name)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, do(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(which int) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			paths, _ := files(t, dir)
			if err := os.Remove(paths[which]); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		name   string
		change func(t *testing.T, dir string)
		kept   bool   // reports whether the first file stays
		noted  string // is in a line, while it is written
		later  string // is in a line of a process that opened it after the change
		whole  bool
		// missing is the reported range of missing lines, although expired ones are missing, too.
		missing string
	}{
		{name: "nothing", change: func(*testing.T, string) {}, whole: true},
		{"a file is lengthened", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, first), 64<<10); err != nil {
				t.Fatal(err)
			}
		}, true, "it was written with", "", false, ""},
		{"a file is shortened", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, first), 900); err != nil {
				t.Fatal(err)
			}
		}, true, "and has 900", "", false, "follows line 4: 7 lines are missing"},
		{"a last line is changed", change(first, func(data []byte) []byte {
			at := bytes.LastIndex(data, []byte(`"seq"`))
			data[at-2] ^= 1
			return data
		}), true, "it does not end with the original line", "", false, "follows line 10: 1 lines are missing"},
		{"the file behind it is removed", remove(1), true, "does not follow in the next file", "is missing, and this log did not remove it", false, "lines are missing"},
		{"it is removed", remove(0), false, "is missing, and this log did not remove it", "is missing, and this log did not remove it", false, "the first lines, 1 to 11, are missing"},
		{name: "the ledger is removed", change: func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, ledgerFile)); err != nil {
				t.Fatal(err)
			}
		}, whole: true},
		{name: "the ledger is forged", change: change(ledgerFile, func(data []byte) []byte {
			return bytes.ReplaceAll(data, []byte(`"bytes":`), []byte(`"bytes":9`))
		}), later: "of files.ledger do not belong to this log", whole: true},
		{name: "the ledger ends within an entry", change: change(ledgerFile, func(data []byte) []byte {
			return data[:len(data)-30]
		}), later: "1 lines of files.ledger do not belong to this log", whole: true},
	} {
		for _, live := range []bool{true, false} {
			t.Run(fmt.Sprint(test.name, ", while it is written: ", live), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "audit")
				o := Options{Key: testKey(t), MaxFile: 2 << 10, Keep: 12 << 10, NoSync: true, Logger: slog.New(slog.DiscardHandler)}
				l := opened(t, dir, o)
				for range 35 {
					appendCall(t, l, "what-was-done")
				}
				if paths, _ := files(t, dir); len(paths) < 3 || filepath.Base(paths[0]) != first {
					t.Fatalf("it begins with %v", paths)
				}
				reopen := func() {
					if err := l.Close(); err != nil {
						t.Fatal(err)
					}
				}
				if !live {
					reopen()
				}
				test.change(t, dir)
				if !live {
					l = opened(t, dir, o)
				}
				appendCall(t, l, "later")
				if _, text := files(t, dir); !live && !bytes.Contains(text, []byte(test.later)) {
					t.Errorf("the log does not say %q", test.later)
				}
				noted := false
				for range 150 {
					appendCall(t, l, "later")
					_, text := files(t, dir)
					noted = noted || bytes.Contains(text, []byte(test.noted))
				}
				if !noted && (live || test.kept) {
					t.Errorf("the log does not say %q", test.noted)
				}
				reopen()
				paths, text := files(t, dir)
				if kept := bytes.Contains(text, []byte("what-was-done")); kept != test.kept {
					t.Errorf("the first file is kept: %v, want %v, of %v", kept, test.kept, paths)
				}
				if n := len(paths); n < 5 || n > 9 {
					t.Errorf("there are %d files", n)
				}
				report, err := Verify(dir, testKey(t))
				if err != nil {
					t.Fatal(err)
				}
				if (report.Count == 0) != test.whole {
					t.Errorf("it verifies with %v", report.Faults)
				}
				if len(report.Expired) == 0 || test.whole && (report.Expired[0].First != 1 || report.Expired[0].Last != report.First-1) {
					t.Errorf("lines %v expired, the first one is %d", report.Expired, report.First)
				}
				if got := fmt.Sprint(report.Faults); test.missing != "" && !strings.Contains(got, test.missing) || strings.Contains(got, "lines are missing") && test.missing == "" {
					t.Errorf("it verifies with %s, want %q in it", got, test.missing)
				}
			})
		}
	}
}

// TestALogWithoutALedgerGoesOn opens a log of an older version.
func TestALogWithoutALedgerGoesOn(t *testing.T) {
	o := Options{MaxFile: 2 << 10, Keep: 12 << 10}
	dir := written(t, 100, o)
	if err := os.Remove(filepath.Join(dir, ledgerFile)); err != nil {
		t.Fatal(err)
	}
	before, _ := files(t, dir)
	add(t, dir, 3, o)
	isWhole(t, dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l, foreign, err := readLedger(root, testKey(t))
	if err != nil || foreign > 0 || len(l.files) < len(before)-2 || len(l.runs) != 1 || l.runs[0].First != 1 {
		t.Errorf("the ledger has %+v, %d of others, %v", l, foreign, err)
	}
	add(t, dir, 300, o)
	isWhole(t, dir)
	if paths, _ := files(t, dir); slices.Contains(paths, before[len(before)-1]) {
		t.Errorf("%v are left of %v", paths, before)
	}
	if info, err := os.Stat(filepath.Join(dir, ledgerFile)); err != nil || info.Size() > 400*maxEntry {
		t.Errorf("the ledger: %v, %v", info, err)
	}
}

// TestTheLedgerIsWrittenAnew checks that the ledger does not grow with the removed files.
func TestTheLedgerIsWrittenAnew(t *testing.T) {
	dir := written(t, 1500, Options{MaxFile: 1 << 10, Keep: 4 << 10, NoSync: true})
	isWhole(t, dir)
	text, err := os.ReadFile(filepath.Join(dir, ledgerFile))
	if n := bytes.Count(text, []byte("\n")); err != nil || n > 3*maxRuns {
		t.Errorf("it has %d lines, %v", n, err)
	}
	add(t, dir, 1, Options{})
	isWhole(t, dir)
}

// TestAFileThatWasNotRemovedInTimeIsRemovedLater leaves a file that the log reports as removed,
// like a process that ended too early.
func TestAFileThatWasNotRemovedInTimeIsRemovedLater(t *testing.T) {
	o := Options{MaxFile: 2 << 10, Keep: 8 << 10}
	dir := written(t, 20, o)
	paths, _ := files(t, dir)
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	l := opened(t, dir, o)
	for i := 0; ; i++ { // until the first file is gone
		appendCall(t, l, "later")
		if _, err := os.Stat(paths[0]); err != nil {
			break
		}
		if i > 200 {
			t.Fatal("nothing was removed")
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	add(t, dir, 1, o)
	if _, err := os.Stat(paths[0]); err == nil {
		t.Errorf("%s is still there", paths[0])
	}
	isWhole(t, dir)
}

// TestALineThatNoKeySignedExcusesNothing adds a line without a signature about removed lines.
func TestALineThatNoKeySignedExcusesNothing(t *testing.T) {
	dir := written(t, 100, Options{MaxFile: 4 << 10})
	paths, _ := files(t, dir)
	data, err := os.ReadFile(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	var from, to line
	for text := range bytes.Lines(data) {
		if to, _ = parseLine(text); from.seq == 0 {
			from = to
		}
	}
	if err := os.Remove(paths[1]); err != nil {
		t.Fatal(err)
	}
	path, lines := readLines(t, dir)
	end, _ := parseLine(lines[len(lines)-1])
	object := fmt.Appendf(nil, `{"kind":"expired","expired":[{"first":%d,"last":%d,"digest":%q}]}`, from.seq, to.seq, to.digest)
	lines = append(lines, appendLine(nil, object, end.seq+1, end.digest.follows(end.seq+1, object), nil))
	if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, verify := range map[string]func() (*Report, error){
		"key":        func() (*Report, error) { return Verify(dir, testKey(t)) },
		"public key": func() (*Report, error) { return VerifyPublic(dir, testKey(t).Public()) },
	} {
		r, err := verify()
		if err != nil || len(r.Expired) > 0 || !slices.ContainsFunc(r.Faults, func(f Fault) bool { return strings.Contains(f.What, "lines are missing") }) {
			t.Errorf("with the %s: %+v, %v", name, r, err)
		}
	}
}

// TestTheClockIsSetAhead checks that files are not removed by their age at once.
func TestTheClockIsSetAhead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	synctest.Test(t, func(t *testing.T) {
		l := opened(t, dir, Options{MaxAge: time.Hour, KeepFor: 30 * 24 * time.Hour})
		defer l.Close()
		for range 5 {
			appendCall(t, l, "one")
			time.Sleep(2 * time.Hour)
		}
		before, _ := files(t, dir)
		l.turn <- struct{}{} // as if the log had been written a year ago, and then the clock was set
		const year = 365 * 24 * time.Hour
		l.disk.clock.wall = l.disk.clock.wall.Add(-year)
		for i := range l.disk.ledger.files {
			l.disk.ledger.files[i].Time -= year.Microseconds()
		}
		<-l.turn
		time.Sleep(23 * time.Hour)
		if paths, text := files(t, dir); !bytes.Contains(text, []byte("the clock was set ahead by 8760h")) || len(paths) < len(before) {
			t.Errorf("23 hours later %d of %d files are left: %s", len(paths), len(before), text)
		}
		time.Sleep(2 * time.Hour)
		if paths, text := files(t, dir); !bytes.Contains(text, []byte(`expired, by age"`)) || len(paths) > 3 {
			t.Errorf("25 hours later there are %v", paths)
		}
		isWhole(t, dir)
	})
}

func TestClock(t *testing.T) {
	start := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name          string
		wall, ran     time.Duration
		ahead         time.Duration
		trusted, also bool // at once, and an hour later
	}{
		{"it runs", time.Minute, time.Minute, 0, true, true},
		{"it is a little fast", time.Hour, time.Minute, 0, true, true},
		{"it is set back", -time.Hour, time.Minute, 0, true, true},
		{"it is set ahead", 25 * time.Hour, time.Hour, 24 * time.Hour, false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var c clock
			if ahead := c.look(start, time.Hour, time.Hour); ahead != 0 || !c.trusted() {
				t.Errorf("the first look: %v", ahead)
			}
			if ahead := c.look(start.Add(test.wall), time.Hour+test.ran, time.Hour); ahead != test.ahead || c.trusted() != test.trusted {
				t.Errorf("ahead by %v, trusted: %v", ahead, c.trusted())
			}
			if ahead := c.look(start.Add(test.wall+time.Hour), 2*time.Hour+test.ran, time.Hour); ahead != 0 || c.trusted() != test.also {
				t.Errorf("later ahead by %v, trusted: %v", ahead, c.trusted())
			}
		})
	}
}
