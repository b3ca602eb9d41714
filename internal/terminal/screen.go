package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/junction-mcp/junction/internal/plaintext"
	"golang.org/x/term"
)

// Widths of lines, in cells.
const (
	defaultWidth = 80
	maxWidth     = 100
	minWidth     = 40
	notWrapped   = 1 << 16 // for lines that a program reads
)

// maxWaiting is the maximum size, in bytes, of the text that is stored while a user is asked.
const maxWaiting = 64 << 10

// A Screen is an output that a user reads, such as standard error. It cleans all text (see
// [plaintext.Clean]). A transient line, such as a progress bar, can follow the text, except while
// the shell runs this process in the background. While a [Person] is asked, all other output waits
// for the reply. A Screen is safe for concurrent use.
type Screen struct {
	mu        sync.Mutex
	out       io.Writer
	terminal  bool
	file      *os.File // the terminal, for its width; nil if there is none
	width     int      // width to use if file is nil
	transient string
	drawn     bool     // the transient line is on the terminal
	away      bool     // for tests: the process runs in the background
	held      bool     // a user is being asked, and other output must wait
	waiting   []string // texts that were written while held is set
	size      int      // size of waiting in bytes
	dropped   int      // number of texts that did not fit in waiting
	diverted  func(text string)
}

// NewScreen returns a Screen that writes to out. It checks whether out is a terminal.
func NewScreen(out io.Writer) *Screen {
	s := &Screen{out: out, width: defaultWidth}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		s.terminal, s.file = true, f
	}
	return s
}

// Terminal reports whether the screen is a terminal.
func (s *Screen) Terminal() bool { return s.terminal }

// Width returns the maximum number of cells of a line: the width of the terminal, but at most 100,
// or 80 without a terminal. The result changes with the size of the terminal.
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

// TransientWidth returns the maximum number of cells of the transient line. It leaves room for text
// that a terminal echoes, such as ^C, which is then removed together with the line.
func (s *Screen) TransientWidth() int { return s.Width() - len("^C") - 1 }

// Write cleans text and writes it above the transient line. The text should consist of complete
// lines. A nil Screen discards it.
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

// Divert passes all further output, cleaned, to the function elsewhere, while another program uses
// the terminal. elsewhere must not block. The returned function ends this. Without a terminal,
// Divert has no effect.
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

// Hand passes all further output, cleaned, to the function elsewhere, for another program to read.
// elsewhere must not block. The screen is not a terminal any more.
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

// ask writes text for the user who is being asked.
func (s *Screen) ask(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.print(text) // there is no place to report an error, as this is standard error
}

// Printf formats a text as [fmt.Fprintf] does and writes it to the screen.
func (s *Screen) Printf(format string, args ...any) {
	fmt.Fprintf(s, format, args...) // there is no place to report an error, as this is standard error
}

// Transient replaces the transient line; an empty text removes it. Without a terminal it has no
// effect.
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
	if s.drawn && !s.background() {
		io.WriteString(s.out, "\r\x1b[K")
	}
	s.drawn = false
}

func (s *Screen) draw() {
	if s.drawn = s.transient != "" && !s.held && !s.background(); s.drawn {
		io.WriteString(s.out, s.transient)
	}
}

// background reports whether the terminal belongs to another process. A transient line would then
// mix with the output of that process, and erasing it would erase that output.
func (s *Screen) background() bool { return s.away || s.file != nil && inBackground(s.file) }
