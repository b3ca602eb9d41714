package audit_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
)

// Large lines that come while others are written wait, and none is lost.
func TestManyLinesAtOnceWait(t *testing.T) {
	const calls = 400
	dir, slow := t.TempDir(), sync.OnceFunc(func() { time.Sleep(300 * time.Millisecond) })
	l, err := audit.Open(dir, audit.Options{Key: newKey(t), NoSync: true, Written: func([]byte) { slow() }})
	if err != nil {
		t.Fatal(err)
	}
	large, err := json.Marshal(strings.Repeat("x", 60<<10))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			r := &audit.Record{Kind: audit.KindCall, Name: "large", Arguments: large}
			add := l.Append
			if i%2 == 0 {
				add = l.Note
			}
			if err := add(r); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range audit.Read(dir, audit.Filter{Name: "large"}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != calls {
		t.Errorf("%d lines are written, want %d", n, calls)
	}
}
