package process

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	maxLine     = 8 << 10 // maximum size in bytes of a line of standard error, before and after cleaning
	queuedLines = 256     // maximum number of lines that wait for OnStderr
)

// stderrLog stores the last part of a child's standard error and passes its lines to onLine.
type stderrLog struct {
	onLine func(string)
	lines  chan stderrLine // queue of onLine; closed at the end of standard error

	mu      sync.Mutex
	keep    int
	tail    []byte // cleaned lines, each with its '\n'; a little more than 2*keep bytes at most
	partial []byte // incomplete raw line; at most maxLine+1 bytes
	missed  int    // number of lines dropped since the last one that was added to lines
}

type stderrLine struct {
	missed int // number of lines dropped before this one
	text   string
}

func newStderrLog(keep int, onLine func(string)) *stderrLog {
	return &stderrLog{keep: keep, onLine: onLine, lines: make(chan stderrLine, queuedLines)}
}

// readFrom reads r to its end. It never waits for onLine.
func (l *stderrLog) readFrom(r io.Reader) {
	defer close(l.lines)
	b := make([]byte, maxLine)
	for {
		n, err := r.Read(b)
		l.add(b[:n])
		if err == nil {
			continue
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.partial) > 0 { // the last line may have no line end
			l.endLine()
		}
		return
	}
}

// deliver calls onLine for each line, until the end of standard error.
func (l *stderrLog) deliver() {
	for line := range l.lines {
		l.reportMissed(line.missed)
		l.onLine(line.text)
	}
	l.reportMissed(l.missed) // it does not change after the end
}

func (l *stderrLog) reportMissed(n int) {
	if n > 0 {
		l.onLine(fmt.Sprintf("(%d lines left out)", n))
	}
}

// text returns the last part of the output, at most keep bytes. It begins at the start of a line,
// if possible.
func (l *stderrLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := string(l.tail)
	if len(l.partial) > 0 {
		all += cleanLine(l.partial)
	}
	all = strings.TrimSuffix(all, "\n")
	if len(all) <= l.keep {
		return all
	}
	from := len(all) - l.keep
	if all[from-1] == '\n' {
		return all[from:]
	}
	if _, lines, ok := strings.Cut(all[from:], "\n"); ok {
		return lines
	}
	for from < len(all) && !utf8.RuneStart(all[from]) {
		from++
	}
	return all[from:]
}

func (l *stderrLog) add(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			l.addPartial(b)
			return
		}
		l.addPartial(b[:end])
		l.endLine()
		b = b[end+1:]
	}
}

func (l *stderrLog) addPartial(b []byte) {
	l.partial = append(l.partial, b[:min(len(b), maxLine+1-len(l.partial))]...)
}

func (l *stderrLog) endLine() {
	line := cleanLine(l.partial)
	l.partial = l.partial[:0]
	l.tail = append(append(l.tail, line...), '\n')
	if kept := l.keep + len("x\n"); len(l.tail) > 2*kept { // text examines the byte before the last keep bytes
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-kept:]...)
	}
	if l.onLine == nil {
		return
	}
	select {
	case l.lines <- stderrLine{missed: l.missed, text: line}:
		l.missed = 0
	default:
		l.missed++
	}
}

// cleanLine returns a line without colours, safe to print, and cut to maxLine bytes.
func cleanLine(line []byte) string {
	s := plaintext.Beginning(string(line), maxLine)
	cut := len(s) < len(line)
	if !cut {
		s = strings.TrimSuffix(s, "\r")
	}
	clean := plaintext.Clean(withoutColours(s))
	s = plaintext.Beginning(clean, maxLine)
	if cut || len(s) < len(clean) {
		s += "…"
	}
	return s
}

// withoutColours removes the escape sequences for colours and styles (ESC [ ... m), which programs
// often write to their logs.
func withoutColours(s string) string {
	const introducer = "\x1b["
	if !strings.Contains(s, introducer) {
		return s
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, introducer)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		s = strings.TrimLeft(after, "0123456789;:")
		if strings.HasPrefix(s, "m") {
			s = s[1:]
			continue
		}
		b.WriteString(introducer)
		s = after
	}
}
