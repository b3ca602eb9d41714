package audit

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func testKey(t testing.TB) *Key {
	t.Helper()
	k, err := NewKey([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// written returns a folder with a log of n calls and its checkpoints, in groups of one.
func written(t *testing.T, n int, o Options) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "audit")
	add(t, dir, n, o)
	return dir
}

func add(t *testing.T, dir string, n int, o Options) {
	t.Helper()
	o.Key = testKey(t)
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := l.Append(&Record{Kind: KindCall, Name: fmt.Sprintf("tool-%d", i), Arguments: []byte(`{"seq":7,"hash":"x","text":"a\",\"seq\":1"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func faults(t *testing.T, dir string) string {
	t.Helper()
	r, err := Verify(dir, testKey(t))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range r.Faults {
		all = append(all, f.String())
	}
	return strings.Join(all, "\n")
}

func readLines(t *testing.T, dir string) (path string, lines [][]byte) {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	path = paths[len(paths)-1]
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines = bytes.SplitAfter(data, []byte("\n"))
	return path, lines[:len(lines)-1]
}

func TestALogIsWhole(t *testing.T) {
	dir := written(t, 20, Options{})
	r, err := Verify(dir, testKey(t))
	if err != nil {
		t.Fatal(err)
	}
	if r.Count != 0 || r.Lines < 22 || r.Checkpoints < 2 || r.Unsigned != 0 || r.First != 1 {
		t.Errorf("got %+v", r)
	}
	add(t, dir, 5, Options{})
	if got := faults(t, dir); got != "" {
		t.Error(got)
	}
	r, err = VerifyPublic(dir, testKey(t).Public())
	if err != nil || r.Count != 0 || r.Unsigned != 0 || r.Lines < 28 {
		t.Errorf("with the public key: %+v, %v", r, err)
	}
}

// Possible changes of a log, and the faults that Verify reports.
func TestEveryChangeIsFound(t *testing.T) {
	// forged returns the lines with new numbers and hashes from index at on, as a writer without
	// the key could write them.
	forged := func(lines [][]byte, at int, macs bool) [][]byte {
		before, _ := parseLine(lines[at-1])
		for i := at; i < len(lines); i++ {
			l, _ := parseLine(lines[i])
			l.seq, l.digest = before.seq+1, before.digest.follows(before.seq+1, l.object)
			if !macs {
				l.seal = nil
			}
			lines[i] = appendLine(nil, l.object, l.seq, l.digest, l.seal)
			before = l
		}
		return lines
	}
	for _, test := range []struct {
		name   string
		change func(lines [][]byte) [][]byte
		want   string
	}{
		{"a byte", func(l [][]byte) [][]byte { l[5][30] ^= 1; return l }, ":6: this line, or the line before it, was changed"},
		{"a name", func(l [][]byte) [][]byte { l[5] = bytes.Replace(l[5], []byte("tool-4"), []byte("tool-9"), 1); return l }, ":6: this line, or the line before it, was changed"},
		{"a name, with all hashes behind it", func(l [][]byte) [][]byte {
			l[5] = bytes.Replace(l[5], []byte("tool-4"), []byte("tool-9"), 1)
			return forged(l, 5, true)
		}, ":6: its mac does not fit the key"},
		{"a name, with all hashes and without macs", func(l [][]byte) [][]byte {
			l[5] = bytes.Replace(l[5], []byte("tool-4"), []byte("tool-9"), 1)
			return forged(l, 5, false)
		}, "the signature of this checkpoint does not fit the key"},
		{"a line removed", func(l [][]byte) [][]byte { return append(l[:5:5], l[6:]...) }, ":6: line 7 follows line 5: 1 lines are missing"},
		{"a line removed, with new numbers", func(l [][]byte) [][]byte { return forged(append(l[:5:5], l[6:]...), 5, true) }, "mac does not fit the key"},
		{"a line doubled", func(l [][]byte) [][]byte { return append(l[:6:6], l[5:]...) }, ":7: line 6 follows line 6: it was repeated or moved"},
		{"lines swapped", func(l [][]byte) [][]byte { l[5], l[6] = l[6], l[5]; return l }, ":6: line 7 follows line 5"},
		{"a line added", func(l [][]byte) [][]byte {
			return append(append(l[:5:5], []byte(`{"kind":"call","name":"x"}`+"\n")), l[5:]...)
		}, ":6: this is not a complete line of an audit log"},
		{"a line added at the end", func(l [][]byte) [][]byte { return forged(append(l, l[5]), len(l), false) }, "the last 1 lines are not a complete group"},
		{"a line added at the end, with a mac of another", func(l [][]byte) [][]byte { return forged(append(l, l[5]), len(l), true) }, "mac does not fit the key"},
		{"the end cut off", func(l [][]byte) [][]byte { return l[:6] }, "the last one when the log was written, is missing; the last one here is 6"},
		{"half a line cut off", func(l [][]byte) [][]byte { l[len(l)-1] = l[len(l)-1][:40]; return l }, "this is not a complete line of an audit log"},
		{"the last line break cut off", func(l [][]byte) [][]byte {
			l[len(l)-1] = bytes.TrimSuffix(l[len(l)-1], []byte("\n"))
			return l
		}, "this is not a complete line of an audit log"},
		{"the beginning cut off", func(l [][]byte) [][]byte { return l[3:] }, "the first lines, 1 to 3, are missing"},
		{"the first line", func(l [][]byte) [][]byte { l[0] = bytes.Replace(l[0], []byte("tool-0"), []byte("tool-1"), 1); return l }, "the first line, 1, was changed"},
		{"everything", func([][]byte) [][]byte { return nil }, "is missing; the last one here is 0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := written(t, 20, Options{})
			path, lines := readLines(t, dir)
			if err := os.WriteFile(path, bytes.Join(test.change(lines), nil), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := faults(t, dir); !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q in it", got, test.want)
			}
			// A later process that continues the log leaves the traces in it.
			add(t, dir, 3, Options{})
			_, lines = readLines(t, dir)
			if got := faults(t, dir); got == "" && !bytes.Contains(bytes.Join(lines, nil), []byte("were removed, because their group")) {
				t.Error("after three lines more nothing is found")
			}
		})
	}
	t.Run("a file replaced by that of another log", func(t *testing.T) {
		dir, other := written(t, 20, Options{}), written(t, 20, Options{})
		path, _ := readLines(t, dir)
		from, _ := readLines(t, other)
		if err := os.Rename(from, path); err != nil {
			t.Fatal(err)
		}
		if got := faults(t, dir); !strings.Contains(got, "it is not the original line at this place") {
			t.Error(got)
		}
	})
	t.Run("a file replaced by an older copy of itself", func(t *testing.T) {
		dir := written(t, 5, Options{})
		path, lines := readLines(t, dir)
		add(t, dir, 5, Options{})
		if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := faults(t, dir); !strings.Contains(got, "is missing; the last one here is") {
			t.Error(got)
		}
	})
	t.Run("the head removed", func(t *testing.T) {
		dir := written(t, 5, Options{})
		if err := os.Remove(filepath.Join(dir, headFile)); err != nil {
			t.Fatal(err)
		}
		if got := faults(t, dir); !strings.Contains(got, "the end of the log is not known") {
			t.Error(got)
		}
		add(t, dir, 1, Options{})
		if _, lines := readLines(t, dir); !bytes.Contains(bytes.Join(lines, nil), []byte("the end of the log is not known")) {
			t.Error("the log does not say so")
		}
	})
	t.Run("the head forged", func(t *testing.T) {
		dir := written(t, 5, Options{})
		path := filepath.Join(dir, headFile)
		data, _ := os.ReadFile(path)
		if err := os.WriteFile(path, bytes.Replace(data, []byte(`"seq":`), []byte(`"seq":1`), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := faults(t, dir); !strings.Contains(got, "is not authentic") {
			t.Error(got)
		}
	})
}

func TestManyWritersShareGroups(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l, err := Open(dir, Options{Key: testKey(t)})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	for i := range 50 {
		running.Go(func() {
			for j := range 20 {
				if err := l.Note(&Record{Kind: KindDecision, Name: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
				if err := l.Append(&Record{Kind: KindCall, Name: fmt.Sprint(i, j)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if _, err := Open(dir, Options{Key: testKey(t)}); err == nil || !strings.Contains(err.Error(), ErrInUse.Error()) {
		t.Errorf("opened twice: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(&Record{}); err == nil {
		t.Error("a closed log takes lines")
	}
	if got := faults(t, dir); got != "" {
		t.Error(got)
	}
	_, lines := readLines(t, dir)
	if calls := bytes.Count(bytes.Join(lines, nil), []byte(`"kind":"call"`)); calls != 1000 {
		t.Errorf("%d calls are written", calls)
	}
}

func TestOldFilesAreRemovedAndNotMissed(t *testing.T) {
	dir := written(t, 200, Options{MaxFile: 4_000, Keep: 20_000})
	paths, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if len(paths) < 3 || len(paths) > 8 {
		t.Fatalf("%d files", len(paths))
	}
	r, err := Verify(dir, testKey(t))
	if err != nil || r.Count != 0 || r.First == 1 || r.Lines < 20 {
		t.Errorf("got %+v, %v", r, err)
	}
	if r, err := VerifyPublic(dir, testKey(t).Public()); err != nil || r.Count != 0 {
		t.Errorf("with the public key: %+v, %v", r, err)
	}
	if err := os.Remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	if got := faults(t, dir); !strings.Contains(got, "the first lines, ") || !strings.Contains(got, ", are missing") {
		t.Errorf("the oldest file is gone: %q", got)
	}
	if err := os.Remove(paths[2]); err != nil {
		t.Fatal(err)
	}
	if got := faults(t, dir); !strings.Contains(got, "lines are missing") {
		t.Errorf("a file is gone: %q", got)
	}
}

func TestACheckpointFollowsWithinASecond(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l, err := Open(dir, Options{Key: testKey(t), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3 {
		if err := l.Append(&Record{Kind: KindCall}); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		r, err := VerifyPublic(dir, testKey(t).Public())
		if err == nil && r.Count == 0 && r.Unsigned == 0 && r.Checkpoints >= 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, %v", r, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestArgumentsInLines(t *testing.T) {
	for data, want := range map[string]string{
		`{"path":"/tmp/x","password":"hunter2","n":9007199254740993}`:          `{"path":"/tmp/x","password":"***","n":9007199254740993}`,
		`{"credentials":{"user":"ada","pass":"x"},"tokens":["a"],"auth":true}`: `{"credentials":"***","tokens":"***","auth":true}`,
		`{"list":[{"api_key":"x"},"ghp_0123456789abcdef"],"ok":true}`:          `{"list":[{"api_key":"***"},"***"],"ok":true}`,
		`{"url":"see https://u:p@example.com/a?token=abc#x for more"}`:         `{"url":"see https://***@example.com/a?token=***#*** for more"}`,
		`{"text":"` + strings.Repeat("ä", 300) + `"}`:                          `{"text":"` + strings.Repeat("ä", 200) + `…"}`,
		`{"x":[` + strings.Repeat(`"aaaaaaaaaaaaaaaaaaa",`, 500) + `1]}`:       `"too long to be kept"`,
	} {
		if got := string(Redacted([]byte(data))); got != want {
			t.Errorf("%.60s\n got %s\nwant %s", data, got, want)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"time":"x","seq":1,"hash":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}`))
	f.Add(appendLine(nil, []byte(`{"a":1}`), 7, digest{1}, &digest{2}))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, ok := parseLine(text)
		if !ok {
			return
		}
		again := appendLine(nil, l.object, l.seq, l.digest, l.seal)
		if string(again) != string(bytes.TrimSuffix(text, []byte("\n")))+"\n" {
			t.Errorf("got %q of %q", again, text)
		}
	})
}

func TestALogOfAnotherKeyIsNotGoneOnWith(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	first := testKey(t)
	l, err := Open(dir, Options{Key: first})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Append(&Record{Kind: KindCall}), l.Close()); err != nil {
		t.Fatal(err)
	}
	seed := make([]byte, 32)
	seed[0] = 1
	second, err := NewKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{Key: second}); !errors.Is(err, ErrOtherKey) || !strings.Contains(err.Error(), dir) {
		t.Errorf("opened with another key: %v", err)
	}
	if report, err := Verify(dir, second); err != nil || !report.OtherKey || len(report.Faults) == 0 || !strings.Contains(report.Faults[0].String(), ErrOtherKey.Error()) {
		t.Errorf("verified with another key: %+v, %v", report, err)
	}
	if report, err := Verify(dir, first); err != nil || len(report.Faults) > 0 {
		t.Errorf("after that: %+v, %v", report, err)
	}
	if l, err = Open(dir, Options{Key: first}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
