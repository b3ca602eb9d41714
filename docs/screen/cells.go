package main

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// A style is the appearance of a cell. Colours are from the palette; "" is the default colour of
// the terminal.
type style struct {
	ink, paper                             string
	bold, faint, italic, underline, struck bool
}

// A cell is one place of the screen. The second place of a wide character is a cell without text.
type cell struct {
	text string
	style
}

// parse parses text that tmux captured. Of the control sequences in the text, it uses only those
// that choose a style, and drops all others.
func parse(captured []byte, columns int) [][]cell {
	var screen [][]cell
	var now style
	for line := range strings.Lines(string(captured)) {
		var row []cell
		for rest := strings.TrimRight(line, "\r\n"); rest != ""; {
			sequence, after, isSequence := escape(rest)
			if isSequence {
				now, rest = now.with(sequence), after
				continue
			}
			cluster, width := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
			rest = rest[len(cluster):]
			if r, _ := utf8.DecodeRuneInString(cluster); width == 0 || r < ' ' || len(row)+width > columns {
				continue
			}
			row = append(row, cell{cluster, now})
			for range width - 1 {
				row = append(row, cell{"", now})
			}
		}
		screen = append(screen, row)
	}
	for len(screen) > 0 && isBlank(screen[len(screen)-1]) {
		screen = screen[:len(screen)-1]
	}
	return screen
}

func isBlank(row []cell) bool {
	for _, c := range row {
		if strings.TrimSpace(c.text) != "" || c.paper != "" {
			return false
		}
	}
	return true
}

// escape removes a control sequence at the beginning of text. sequence is its parameters if it
// chooses a style.
func escape(text string) (sequence, rest string, found bool) {
	if link, found := strings.CutPrefix(text, "\x1b]"); found {
		if end := strings.IndexAny(link, "\a\\"); end >= 0 {
			return "", link[end+1:], true
		}
		return "", "", true
	}
	body, found := strings.CutPrefix(text, "\x1b[")
	if !found {
		return "", text, false
	}
	end := strings.IndexFunc(body, func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		return "", "", true
	}
	if body[end] == 'm' {
		return body[:end] + ";", body[end+1:], true
	}
	return "", body[end+1:], true
}

// with returns the style after a sequence with the given parameters.
func (s style) with(parameters string) style {
	codes := strings.Split(strings.TrimSuffix(parameters, ";"), ";")
	if parameters == "" {
		return s
	}
	for len(codes) > 0 {
		n, _ := strconv.Atoi(codes[0]) // an empty code is 0
		codes = codes[1:]
		switch {
		case n == 38:
			s.ink, codes = extended(codes)
		case n == 48:
			s.paper, codes = extended(codes)
		default:
			s = s.after(n)
		}
	}
	return s
}

// after returns the style after one code.
func (s style) after(n int) style {
	switch {
	case n == 0:
		return style{}
	case n == 1:
		s.bold = true
	case n == 2:
		s.faint = true
	case n == 3:
		s.italic = true
	case n == 4:
		s.underline = true
	case n == 7:
		s.ink, s.paper = orElse(s.paper, background), orElse(s.ink, foreground)
	case n == 9:
		s.struck = true
	case n == 22:
		s.bold, s.faint = false, false
	case n == 23:
		s.italic = false
	case n == 24:
		s.underline = false
	case n == 29:
		s.struck = false
	case n >= 30 && n <= 37:
		s.ink = palette(n - 30)
	case n >= 90 && n <= 97:
		s.ink = palette(n - 90 + 8)
	case n == 39:
		s.ink = ""
	case n >= 40 && n <= 47:
		s.paper = palette(n - 40)
	case n >= 100 && n <= 107:
		s.paper = palette(n - 100 + 8)
	case n == 49:
		s.paper = ""
	}
	return s
}

func orElse(colour, otherwise string) string {
	if colour == "" {
		return otherwise
	}
	return colour
}
