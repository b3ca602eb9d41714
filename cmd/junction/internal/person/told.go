package person

import (
	"fmt"
	"sync"
)

// maxTold is how many things are remembered to have been told; then all are forgotten.
const maxTold = 1_000

// told is what was told in a run: a model that tries the same again and again, and a
// server that goes and comes, do not fill the screen. It may be used from many
// goroutines.
type told struct {
	mu   sync.Mutex
	run  int
	text map[string]bool
}

// begin forgets what was told when another run has begun. What belongs to no run, 0,
// belongs to the one that goes on.
func (t *told) begin(run int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run != 0 && run != t.run {
		t.run = run
		clear(t.text)
	}
}

// first reports whether a text was not told yet, and remembers it.
func (t *told) first(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text[text] {
		return false
	}
	if t.text == nil || len(t.text) >= maxTold {
		t.text = map[string]bool{}
	}
	t.text[text] = true
	return true
}

// once tells something where it was not told yet.
func (p *Plain) once(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); p.told.first(text) {
		p.Screen.Printf("%s", text)
	}
}
