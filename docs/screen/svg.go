package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// The measures of a picture in units of the SVG.
const (
	fontSize   = 14.0
	cellWidth  = 8.4
	cellHeight = 19.0
	margin     = 20.0
	titleBar   = 38.0
	baseline   = 14.0 // offset in a cell
)

// The colours of the terminal.
const (
	background = "#11151c"
	foreground = "#d7dde8"
	barColour  = "#1b212b"
	edgeColour = "#2c3542"
	titleInk   = "#8b96a8"
)

// palette returns one of the sixteen basic colours of a terminal.
func palette(n int) string {
	return [...]string{
		"#2c3542", "#f0716f", "#7fc98b", "#e0b060", "#6aa5f0", "#c68cf0", "#56c2cc", "#b8c2d0",
		"#8893a7", "#ff8a85", "#95dfa0", "#f2c97a", "#86bcff", "#d9a8ff", "#6fdde6", "#f4f7fb",
	}[n]
}

// extended returns the colour for the codes 5;N or 2;R;G;B, and the codes after them.
func extended(codes []string) (colour string, rest []string) {
	numbers := make([]int, len(codes))
	for i, c := range codes {
		numbers[i], _ = strconv.Atoi(c)
	}
	switch {
	case len(numbers) >= 2 && numbers[0] == 5:
		return indexed(numbers[1] & 0xff), codes[2:]
	case len(numbers) >= 4 && numbers[0] == 2:
		return hex(numbers[1], numbers[2], numbers[3]), codes[4:]
	}
	return "", nil
}

// indexed returns one of 256 colours: the sixteen basic ones, a cube of 6×6×6 colours, and shades
// of grey.
func indexed(n int) string {
	level := func(i int) int {
		if i == 0 {
			return 0
		}
		return 55 + 40*i
	}
	switch {
	case n < 16:
		return palette(n)
	case n < 232:
		n -= 16
		return hex(level(n/36), level(n/6%6), level(n%6))
	}
	grey := 8 + 10*(n-232)
	return hex(grey, grey, grey)
}

func hex(r, g, b int) string { return fmt.Sprintf("#%02x%02x%02x", r&0xff, g&0xff, b&0xff) }

// A drawing is a screen in a window.
type drawing struct {
	cells   [][]cell
	columns int
	title   string
}

// bytes returns the drawing as SVG. It does not depend on a certain font, because each text has its
// width.
func (d *drawing) bytes() []byte {
	var b bytes.Buffer
	d.window(&b, len(d.cells))
	for i, row := range d.cells {
		d.row(&b, row, titleBar+margin+float64(i)*cellHeight)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// window draws the window for a number of lines. The element svg stays open.
func (d *drawing) window(b *bytes.Buffer, rows int) {
	width := 2*margin + float64(d.columns)*cellWidth
	height := titleBar + 2*margin + float64(rows)*cellHeight
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="%s">`+"\n", width, height, width, height, escaped(d.title))
	fmt.Fprintf(b, `<style>text{font:%gpx ui-monospace,"SF Mono","JetBrains Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}.b{font-weight:700}.i{font-style:italic}.f{opacity:.6}</style>`+"\n", fontSize)
	fmt.Fprintf(b, `<rect x=".5" y=".5" width="%.0f" height="%.0f" rx="10" fill="%s" stroke="%s"/>`+"\n", width-1, height-1, background, edgeColour)
	fmt.Fprintf(b, `<path d="M.5 %.0fV10.5a10 10 0 0 1 10-10h%.0fa10 10 0 0 1 10 10V%.0fz" fill="%s" stroke="%s"/>`+"\n", titleBar, width-21, titleBar, barColour, edgeColour)
	for i, colour := range []string{"#f0716f", "#e0b060", "#7fc98b"} {
		fmt.Fprintf(b, `<circle cx="%d" cy="%.0f" r="6" fill="%s"/>`, 22+20*i, titleBar/2, colour)
	}
	fmt.Fprintf(b, "\n"+`<text x="%.1f" y="%.1f" fill="%s" text-anchor="middle">%s</text>`+"\n", width/2, titleBar/2+5, titleInk, escaped(d.title))
}

// row draws a line of the screen. Texts of one style are one element, and frames are drawn as
// lines.
func (d *drawing) row(b *bytes.Buffer, row []cell, top float64) {
	for at := 0; at < len(row); {
		end := at + 1
		for end < len(row) && row[end].style == row[at].style && kind(row[end].text) == kind(row[at].text) {
			end++
		}
		piece, x := row[at:end], margin+float64(at)*cellWidth
		width := float64(len(piece)) * cellWidth
		if piece[0].paper != "" {
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, x, top, width, cellHeight, piece[0].paper)
		}
		if kind(piece[0].text) == framing {
			drawFrame(b, piece, x, top)
		} else {
			written(b, piece, x, top)
		}
		at = end
	}
	b.WriteByte('\n')
}

// written draws a text.
func written(b *bytes.Buffer, piece []cell, x, top float64) {
	var text strings.Builder
	for _, c := range piece {
		text.WriteString(c.text)
	}
	trimmed := strings.TrimRight(text.String(), " ")
	if strings.TrimSpace(trimmed) == "" {
		return
	}
	wide := len(piece) - (text.Len() - len(trimmed)) // a space has one byte and one cell
	lead := len(trimmed) - len(strings.TrimLeft(trimmed, " "))
	x, wide, trimmed = x+float64(lead)*cellWidth, wide-lead, trimmed[lead:]
	s := piece[0].style
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs" fill="%s"`, x, top+baseline, float64(wide)*cellWidth, orElse(s.ink, foreground))
	attribute(b, "class", is{"b", s.bold}, is{"i", s.italic}, is{"f", s.faint})
	attribute(b, "text-decoration", is{"underline", s.underline}, is{"line-through", s.struck})
	fmt.Fprintf(b, `>%s</text>`, escaped(trimmed))
}

// An is is a word for an attribute. The word is added only if so is set.
type is struct {
	word string
	so   bool
}

func attribute(b *bytes.Buffer, name string, words ...is) {
	var all []string
	for _, w := range words {
		if w.so {
			all = append(all, w.word)
		}
	}
	if len(all) > 0 {
		fmt.Fprintf(b, ` %s="%s"`, name, strings.Join(all, " "))
	}
}

// The kinds of cells.
const (
	writing = iota
	framing
)

// kind returns whether a cell is text or part of a frame.
func kind(text string) int {
	if ways(text) != "" {
		return framing
	}
	return writing
}

// drawFrame draws the lines of frames from edge to edge of their cells. The characters of a font would
// leave gaps between the rows.
func drawFrame(b *bytes.Buffer, piece []cell, x, top float64) {
	b.WriteString(`<path d="`)
	middle := top + cellHeight/2
	for i, c := range piece {
		left := x + float64(i)*cellWidth
		centre := left + cellWidth/2
		for _, way := range ways(c.text) {
			switch way {
			case 'l':
				fmt.Fprintf(b, "M%.1f %.1fH%.1f", left, middle, centre)
			case 'r':
				fmt.Fprintf(b, "M%.1f %.1fH%.1f", centre, middle, left+cellWidth)
			case 'u':
				fmt.Fprintf(b, "M%.1f %.1fV%.1f", centre, top, middle)
			case 'd':
				fmt.Fprintf(b, "M%.1f %.1fV%.1f", centre, middle, top+cellHeight)
			}
		}
	}
	fmt.Fprintf(b, `" stroke="%s" fill="none"/>`, orElse(piece[0].ink, foreground))
}

// ways returns the directions of the lines of a frame's character from its middle: l, r, u and d.
func ways(text string) string {
	switch text {
	case "─":
		return "lr"
	case "│":
		return "ud"
	case "┼":
		return "lrud"
	case "├":
		return "rud"
	case "┤":
		return "lud"
	case "┬":
		return "lrd"
	case "┴":
		return "lru"
	}
	return ""
}

func escaped(text string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return ""
	}
	return b.String()
}
