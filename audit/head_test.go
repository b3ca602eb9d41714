package audit

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// With NoSync the head follows the lines within headTime; the ends of a file and of the log wait
// for it.
func TestHeadFollowsLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "audit")
		l, err := Open(dir, Options{Key: testKey(t), NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		seq := func() uint64 {
			h, err := readHead(l.root)
			if err != nil {
				t.Fatal(err)
			}
			return h.Seq
		}
		for range 3 {
			if err := l.Append(&Record{Kind: KindCall, Name: "echo"}); err != nil {
				t.Fatal(err)
			}
		}
		if seq() != 2 { // the first line, and the checkpoint that begins a file
			t.Errorf("the head says %d before its time", seq())
		}
		time.Sleep(headTime)
		synctest.Wait()
		if seq() != 4 {
			t.Errorf("after %v the head says %d, and not 4", headTime, seq())
		}
		if err := l.Append(&Record{Kind: KindCall, Name: "echo"}); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if report, err := Verify(dir, testKey(t)); err != nil || len(report.Faults) > 0 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}
