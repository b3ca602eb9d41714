package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/junction-mcp/junction/internal/plaintext"
	"golang.org/x/term"
)

// The widths that text is laid out for.
const (
	defaultWidth = 80
	maxWidth     = 100
	minWidth     = 40
)

// A Screen is a place where a person reads, such as standard error. Everything
// written to it is cleaned (see [plaintext.Clean]). Below what was written there
// may be one transient line, such as a bar of progress. Safe for concurrent use.
type Screen struct {
	mu        sync.Mutex
	out       io.Writer
	terminal  bool
	width     int
	transient string
	held      bool // a person is being asked: the transient line would cover the question
}

// NewScreen returns a Screen that writes to out. It is a terminal if out is one.
func NewScreen(out io.Writer) *Screen {
	s := &Screen{out: out, width: defaultWidth}
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.terminal = true
	if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
		s.width = max(minWidth, min(width, maxWidth))
	}
	return s
}

// Terminal reports whether a terminal shows the screen.
func (s *Screen) Terminal() bool { return s.terminal }

// Width is how many cells a line should have at most: the terminal's width, at
// most 100, and 80 where there is no terminal.
func (s *Screen) Width() int { return s.width }

// Write writes text, cleaned, above the transient line. It should be whole lines.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	if _, err := io.WriteString(s.out, plaintext.Clean(string(p))); err != nil {
		return 0, err
	}
	s.draw()
	return len(p), nil
}

// Printf is fmt.Fprintf to the screen.
func (s *Screen) Printf(format string, args ...any) {
	fmt.Fprintf(s, format, args...) // nobody can be told where standard error is gone
}

// Transient replaces the transient line; empty text takes it away. It shows
// nothing where there is no terminal.
func (s *Screen) Transient(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal {
		return
	}
	s.erase()
	line = plaintext.Line(line, 4*maxWidth)
	s.transient = line[:fit(line, s.width-1)]
	s.draw()
}

// hold hides the transient line while a person is asked.
func (s *Screen) hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.held = held
	s.draw()
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
