package audit

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestReadAllJoinsLogsByTime writes to two logs by turns.
func TestReadAllJoinsLogsByTime(t *testing.T) {
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	synctest.Test(t, func(t *testing.T) {
		logs := []*Log{opened(t, dirs[0], Options{}), opened(t, dirs[1], Options{})}
		for _, call := range []struct {
			log  int
			name string
		}{{1, "one"}, {0, "two"}, {0, "three"}, {1, "four"}, {0, "five"}} {
			appendCall(t, logs[call.log], call.name)
			time.Sleep(time.Millisecond)
		}
		for _, l := range logs {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
	type line struct{ Name, Log string }
	var got []line
	for raw, err := range ReadAll(dirs, Filter{Kind: KindCall}) {
		var l line
		if err == nil {
			err = json.Unmarshal(raw, &l)
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	want := []line{{"one", dirs[1]}, {"two", dirs[0]}, {"three", dirs[0]}, {"four", dirs[1]}, {"five", dirs[0]}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d is %v, want %v", i, got[i], want[i])
		}
	}
	for range ReadAll(dirs, Filter{}) {
		break // both files are closed, or the test's cleanup fails on Windows
	}
	for raw, err := range ReadAll([]string{dirs[0], filepath.Join(dirs[1], "none")}, Filter{}) {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a log that does not exist: %s, %v", raw, err)
		}
	}
}
