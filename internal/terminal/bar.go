package terminal

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	barCells    = 24
	barInterval = 50 * time.Millisecond
)

// A Bar shows the progress of one operation. It uses the transient line of a terminal or, without a
// terminal and if Lines is set, writes a line for each message. Only one goroutine at a time may
// use it, except that [Bar.Done] may be called concurrently.
type Bar struct {
	Screen *Screen
	Lines  bool // without a terminal, a line is written for each message

	mu    sync.Mutex
	shown time.Time
	done  bool
}

// Show shows the progress out of total, in any unit. A total of 0 means that it is unknown. Show
// drops updates that are too fast to be read.
func (b *Bar) Show(progress, total float64, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	if !b.Screen.Terminal() {
		if b.Lines {
			b.Screen.Printf("progress: %s\n", strings.TrimSpace(amount(progress, total)+" "+message))
		}
		return
	}
	if now := time.Now(); total > 0 && progress >= total || now.Sub(b.shown) >= barInterval {
		b.shown = now
		b.Screen.Transient(barLine(progress, total, message))
	}
}

// Done removes the bar.
func (b *Bar) Done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = true
	b.Screen.Transient("")
}

func barLine(progress, total float64, message string) string {
	if total <= 0 {
		return strings.TrimSpace("… " + amount(progress, total) + "  " + message)
	}
	share := max(0, min(progress/total, 1))
	full := int(share * barCells)
	return strings.TrimSpace(fmt.Sprintf("%s%s %3.0f %%  %s",
		strings.Repeat("█", full), strings.Repeat("░", barCells-full), share*100, message))
}

func amount(progress, total float64) string {
	text := strconv.FormatFloat(progress, 'f', -1, 64)
	if total > 0 {
		text += "/" + strconv.FormatFloat(total, 'f', -1, 64)
	}
	return text
}
