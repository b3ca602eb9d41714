package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/junction-mcp/junction/internal/plaintext"
	"golang.org/x/term"
)

// Widths for the layout of text.
const (
	defaultWidth = 80
	maxWidth     = 100
	minWidth     = 40
	notWrapped   = 1 << 16 // of lines that a program reads
)

// maxWaiting limits the text written while a user is asked, in bytes.
const maxWaiting = 64 << 10

// A Screen is a place that a user reads, such as standard error. All text written to it is cleaned
// (see [plaintext.Clean]). One transient line may follow it, such as a bar of progress. While a
// [Person] is asked, the output of others waits for the reply. It is safe for concurrent use.
type Screen struct {
	mu        sync.Mutex
	out       io.Writer
	terminal  bool
	file      *os.File // the terminal, which has a width; nil without one
	width     int      // used without a file
	transient string
	held      bool     // a user is being asked and reads nothing else
	waiting   []string // texts written during that time
	size      int      // of waiting, in bytes
	dropped   int      // texts without room
	diverted  func(text string)
}

// NewScreen returns a Screen that writes to out. It is a terminal if out is one.
func NewScreen(out io.Writer) *Screen {
	s := &Screen{out: out, width: defaultWidth}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.terminal, s.file = true, f
	}
	return s
}

// Terminal reports whether a terminal shows the screen.
func (s *Screen) Terminal() bool { return s.terminal }

// Width returns the maximum number of cells of a line: the terminal's width, at most 100, and 80
// without a terminal. It changes with the terminal's size.
func (s *Screen) Width() int {
	if s.file == nil {
		return s.width
	}
	width, _, err := term.GetSize(int(s.file.Fd()))
	if err != nil || width <= 0 {
		return defaultWidth
	}
	return max(minWidth, min(width, maxWidth))
}

// TransientWidth returns the maximum number of cells of the transient line. Text that a terminal
// echoes after it, such as ^C, fits on the same line and is removed with it.
func (s *Screen) TransientWidth() int { return s.Width() - len("^C") - 1 }

// Write writes text, cleaned, above the transient line. The text should be whole lines. A nil
// Screen discards it.
func (s *Screen) Write(p []byte) (int, error) {
	if s == nil {
		return len(p), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.diverted != nil {
		s.diverted(plaintext.Clean(string(p)))
		return len(p), nil
	}
	if !s.held {
		return len(p), s.print(string(p))
	}
	if s.size+len(p) > maxWaiting {
		s.dropped++
		return len(p), nil
	}
	s.waiting, s.size = append(s.waiting, string(p)), s.size+len(p)
	return len(p), nil
}

// Divert passes further output, cleaned, to elsewhere, which must not block, while another program
// uses the terminal. It has no effect without a terminal. back ends it.
func (s *Screen) Divert(elsewhere func(text string)) (back func()) {
	if !s.terminal {
		return func() {}
	}
	set := func(to func(string)) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.diverted = to
	}
	set(elsewhere)
	return func() { set(nil) }
}

// Hand passes further output, cleaned, to elsewhere, which must not block: a program reads it. The
// screen is then not a terminal.
func (s *Screen) Hand(elsewhere func(text string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.terminal, s.file, s.width, s.transient, s.diverted = false, nil, notWrapped, "", elsewhere
}

func (s *Screen) print(text string) error {
	s.erase()
	_, err := io.WriteString(s.out, plaintext.Clean(text))
	s.draw()
	return err
}

// ask writes text for the user being asked.
func (s *Screen) ask(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.print(text) // without standard error there is no place to report it
}

// Printf is fmt.Fprintf to the screen.
func (s *Screen) Printf(format string, args ...any) {
	fmt.Fprintf(s, format, args...) // without standard error there is no place to report it
}

// Transient replaces the transient line; empty text removes it. It shows nothing without a
// terminal.
func (s *Screen) Transient(line string) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal {
		return
	}
	s.erase()
	line = plaintext.Line(line, 4*maxWidth)
	s.transient = line[:fit(line, s.TransientWidth())]
	s.draw()
}

// hold begins or ends the time in which a user is asked.
func (s *Screen) hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.held = held
	s.draw()
	if held {
		return
	}
	for _, text := range s.waiting {
		_ = s.print(text)
	}
	if s.dropped > 0 {
		_ = s.print(fmt.Sprintf("(%d more messages were left out)\n", s.dropped))
	}
	s.waiting, s.size, s.dropped = nil, 0, 0
}

func (s *Screen) erase() {
	if s.transient != "" && !s.held {
		io.WriteString(s.out, "\r\x1b[K")
	}
}

func (s *Screen) draw() {
	if s.transient != "" && !s.held {
		io.WriteString(s.out, s.transient)
	}
}
