package person

import (
	"fmt"
	"sync"
)

// maxShown is the largest number of remembered texts. Above it, all are dropped.
const maxShown = 1_000

// shown holds the texts that were shown in a run. Because of it, a model that repeats a call or a
// server that reconnects does not fill the screen. It is safe for concurrent use.
type shown struct {
	mu   sync.Mutex
	run  int
	text map[string]bool
}

// begin drops the texts of an earlier run. Run 0 is not a run, and changes nothing.
func (t *shown) begin(run int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if run != 0 && run != t.run {
		t.run = run
		clear(t.text)
	}
}

// first reports whether a text has not been shown yet, and remembers it.
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

// once shows a text unless it has been shown before.
func (p *Plain) once(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); p.shown.first(text) {
		p.Screen.Printf("%s", text)
	}
}
