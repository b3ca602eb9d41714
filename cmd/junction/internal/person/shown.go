package person

import (
	"fmt"
	"sync"
)

// maxShown is how many things are remembered to have been shown; then all are forgotten.
const maxShown = 1_000

// shown is what was shown in a run: a model that tries the same again and again, and a
// server that goes and comes, do not fill the screen. It may be used from many
// goroutines.
type shown struct {
	mu   sync.Mutex
	run  int
	text map[string]bool
}

// begin forgets what was shown when another run has begun. What belongs to no run, 0,
// belongs to the one that goes on.
func (t *shown) begin(run int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run != 0 && run != t.run {
		t.run = run
		clear(t.text)
	}
}

// first reports whether a text was not shown yet, and remembers it.
func (t *shown) first(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.text[text] {
		return false
	}
	if t.text == nil || len(t.text) >= maxShown {
		t.text = map[string]bool{}
	}
	t.text[text] = true
	return true
}

// once shows something that was not shown yet.
func (p *Plain) once(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); p.shown.first(text) {
		p.Screen.Printf("%s", text)
	}
}
