package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// maxPart is the number of bytes laid out at once. A longer block is split into several parts.
const maxPart = 8 << 10

// A Stream is Markdown that arrives in pieces. The zero value is empty. It is not safe for
// concurrent use.
type Stream struct {
	text    string // unfinished text
	scanned int    // bytes of whole lines in text that were examined
	fence   fence  // open block of code at scanned
	blank   bool   // the last examined line is empty
	list    bool   // the part has a list, which empty lines do not end
}

// Add adds a piece and returns the parts that it finishes, as Markdown. Later pieces do not change
// them.
func (s *Stream) Add(piece string) []string {
	s.text += piece
	var parts []string
	for {
		part, ok := s.next()
		if !ok {
			return parts
		}
		if strings.TrimSpace(part) != "" {
			parts = append(parts, part)
		}
	}
}

// Rest returns the unfinished text.
func (s *Stream) Rest() string { return s.text }

// End returns the unfinished text and resets the Stream.
func (s *Stream) End() string {
	rest := s.text
	*s = Stream{}
	return rest
}

// Parts returns the parts of a whole text.
func Parts(text string) []string {
	var s Stream
	parts := s.Add(text)
	if rest := s.End(); strings.TrimSpace(rest) != "" {
		parts = append(parts, rest)
	}
	return parts
}

// Render lays out a whole text in lines of at most width cells, with an empty line between its
// parts.
func Render(text string, width int) []ink.Line {
	var lines []ink.Line
	for i, part := range Parts(text) {
		if i > 0 {
			lines = append(lines, nil)
		}
		lines = append(lines, Part(part, width)...)
	}
	return lines
}

// next examines whole lines and returns the first part when its end is certain. A part ends at an
// empty line outside of code and lists, or when it is too long.
func (s *Stream) next() (string, bool) {
	for {
		n := strings.IndexByte(s.text[s.scanned:], '\n')
		if s.scanned+max(n, 0) > maxPart || n < 0 && len(s.text) > maxPart {
			return s.cut(), true
		}
		if n < 0 {
			return "", false
		}
		line := s.text[s.scanned : s.scanned+n]
		if s.blank && s.fence.size == 0 && s.scanned > 0 && !s.continues(line) {
			part := s.text[:s.scanned]
			s.text, s.scanned, s.blank, s.list = s.text[s.scanned:], 0, false, false
			return part, true
		}
		trimmed := strings.TrimSpace(line)
		s.fence = s.fence.after(trimmed)
		s.blank = trimmed == ""
		if s.fence.size == 0 && isItem(trimmed) {
			s.list = true
		}
		s.scanned += n + 1
	}
}

// continues reports whether a line after an empty one may belong to the same part.
func (s *Stream) continues(line string) bool {
	trimmed := strings.TrimLeft(line, " \t")
	if trimmed == "" {
		return true
	}
	return len(trimmed) < len(line) || s.list && isItem(trimmed)
}

// cut splits off a part that is too long, at the end of a line if possible. A split block of code
// continues in the next part.
func (s *Stream) cut() string {
	at, open := s.scanned, s.fence
	if at < maxPart/2 { // a single line that is too long
		at = maxPart
		for at > maxPart-utf8.UTFMax && !utf8.RuneStart(s.text[at]) {
			at--
		}
	}
	part := s.text[:at]
	s.text, s.scanned, s.blank, s.list, s.fence = s.text[at:], 0, false, false, fence{}
	if open.size > 0 {
		s.text = open.line + "\n" + s.text
	}
	return part
}

// fence is the opening fence of a block of code.
type fence struct {
	mark byte
	size int // number of marks; 0 if no block is open
	line string
}

// maxFence is the number of bytes of a fence line that are repeated after a split.
const maxFence = 80

func (f fence) after(line string) fence {
	mark, size := byte(0), 0
	if line != "" && (line[0] == '`' || line[0] == '~') {
		mark = line[0]
		size = len(line) - len(strings.TrimLeft(line, line[:1]))
	}
	switch {
	case f.size > 0 && mark == f.mark && size >= f.size && size == len(line):
		return fence{}
	case f.size > 0 || size < 3 || size > maxFence || mark == '`' && strings.Contains(line[size:], "`"):
		return f
	}
	return fence{mark, size, strings.ToValidUTF8(line[:min(len(line), maxFence)], "")}
}

// isItem reports whether a line begins an item of a list.
func isItem(line string) bool {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	rest := line[digits:]
	switch {
	case rest == "":
		return false
	case digits == 0 && strings.IndexByte("-*+", rest[0]) >= 0, digits > 0 && digits < 10 && (rest[0] == '.' || rest[0] == ')'):
		return len(rest) == 1 || rest[1] == ' '
	}
	return false
}
