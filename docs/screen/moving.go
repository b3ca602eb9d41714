package main

import (
	"bytes"
	"fmt"
	"reflect"
	"time"
)

// A frame is the screen for some time.
type frame struct {
	cells [][]cell
	hold  time.Duration
}

// A moving picture shows frames, again and again. Readers who prefer reduced motion see the still
// frame only.
type moving struct {
	frames  []frame
	still   int // index of the frame
	columns int
	title   string
}

// bytes returns the moving picture as SVG. A line of the screen that stays the same over several
// frames is drawn once.
func (m *moving) bytes() []byte {
	var b, style, lines bytes.Buffer
	var whole time.Duration
	starts, rows := []time.Duration{0}, 0
	for _, f := range m.frames {
		whole += f.hold
		starts, rows = append(starts, whole), max(rows, len(f.cells))
	}
	part := func(at int) string { return fmt.Sprintf("%.2f%%", 100*starts[at].Seconds()/whole.Seconds()) }
	written := map[[2]int]bool{}
	for y := range rows {
		for from, to := 0, 0; from < len(m.frames); from = to {
			line := m.line(from, y)
			for to = from + 1; to < len(m.frames) && reflect.DeepEqual(m.line(to, y), line); to++ {
			}
			var drawn bytes.Buffer
			d := drawing{columns: m.columns}
			if d.row(&drawn, line, titleBar+margin+float64(y)*cellHeight); len(bytes.TrimSpace(drawn.Bytes())) == 0 {
				continue
			}
			if from == 0 && to == len(m.frames) {
				lines.Write(drawn.Bytes())
				continue
			}
			fmt.Fprintf(&lines, `<g class="t%d-%d">%s</g>`+"\n", from, to, bytes.TrimSpace(drawn.Bytes()))
			if span := [2]int{from, to}; !written[span] {
				written[span] = true
				m.animate(&style, from, to, whole, part)
			}
		}
	}
	d := drawing{columns: m.columns, title: m.title}
	d.window(&b, rows)
	fmt.Fprintf(&b, "<style>%s@media (prefers-reduced-motion:reduce){g{animation:none!important}}</style>\n", style.Bytes())
	b.Write(lines.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// line returns a line of a frame, or nil below its last one.
func (m *moving) line(at, y int) []cell {
	if cells := m.frames[at].cells; y < len(cells) {
		return cells[y]
	}
	return nil
}

// animate writes the style of lines that the frames from one index up to another one show.
func (m *moving) animate(style *bytes.Buffer, from, to int, whole time.Duration, part func(int) string) {
	otherwise := "hidden"
	if from <= m.still && m.still < to {
		otherwise = "visible"
	}
	name := fmt.Sprintf("t%d-%d", from, to)
	fmt.Fprintf(style, ".%s{visibility:%s;animation:%s %gs step-end infinite}@keyframes %s{", name, otherwise, name, whole.Seconds(), name)
	if from > 0 {
		style.WriteString("0%{visibility:hidden}")
	}
	fmt.Fprintf(style, "%s{visibility:visible}", part(from))
	if to < len(m.frames) {
		fmt.Fprintf(style, "%s{visibility:hidden}", part(to))
	} else {
		style.WriteString("to{visibility:visible}")
	}
	style.WriteString("}\n")
}
