package sequence

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
)

// maxLine is the maximum number of characters of a drawn text.
const maxLine = 160

// Widths of a character in pixels.
const (
	titleCell = 7.25 // at a font size of 12 pixels
	labelCell = 6.65 // at a font size of 11 pixels
)

// style defines the appearance in light and dark mode. All colours have the same strength, except
// the colours of failures.
const style = `<style>
text { font-family: ui-monospace, SFMono-Regular, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace; font-size: 12px; fill: #1f2328 }
.paper { fill: #ffffff }
.title { font-size: 15px; font-weight: 600 }
.quiet, .time { font-size: 11px; fill: #656d76 }
.time { text-anchor: end; font-size: 10px }
.name { font-weight: 600; text-anchor: middle }
.role { font-size: 10px; fill: #656d76; text-anchor: middle }
.halo { stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; paint-order: stroke }
.life { stroke: #d0d7de; stroke-dasharray: 3 4 }
.box { fill: #f6f8fa; stroke: #d0d7de }
.note { fill: #fff8e1; stroke: #e5cf8f }
.arrow { stroke: #3d4650; stroke-width: 1.4; fill: none }
.head { fill: #3d4650 }
.back { stroke-dasharray: 6 4 }
.wire { stroke: #a0a8b1; stroke-width: 1 }
.wirehead { fill: #a0a8b1 }
.step { fill: #0969da }
.number { fill: #ffffff; font-size: 11px; font-weight: 700; text-anchor: middle }
.bold { font-weight: 600 }
.failed .arrow { stroke: #cf222e } .failed .head, .failed .wirehead, .failed .step { fill: #cf222e } .failed text.bold { fill: #cf222e } .failed .note { fill: #fff0ee; stroke: #e5a29c }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.paper { fill: #0d1117 }
.quiet, .time, .role { fill: #8d96a0 }
.halo { stroke: #0d1117 }
.life { stroke: #30363d }
.box { fill: #161b22; stroke: #3d444d }
.note { fill: #2a230f; stroke: #6b5618 }
.arrow { stroke: #b6bfc9 }
.head { fill: #b6bfc9 }
.wire { stroke: #59636e }
.wirehead { fill: #59636e }
.step { fill: #1f6feb }
.number { fill: #ffffff }
.failed .arrow { stroke: #f85149 } .failed .head, .failed .wirehead, .failed .step { fill: #da3633 } .failed text.bold { fill: #ff7b72 } .failed .note { fill: #2d1113; stroke: #8e2f2b }
}
</style>
`

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.b, format, args...) }

// open writes the header of the drawing.
func (d *drawing) open() {
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="sequence diagram of a run">`+"\n",
		d.width, d.height, d.width, d.height)
	d.b.WriteString(style)
	d.printf(`<rect class="paper" width="%d" height="%d"/>`+"\n", d.width, d.height)
	d.printf(`<text class="title" x="24" y="30">%s</text>`+"\n", escape(clip(d.Title, float64(d.width-48), 9.1)))
	if d.Summary != "" {
		d.printf(`<text class="quiet" x="24" y="49">%s</text>`+"\n", escape(clip(d.Summary, float64(d.width-48), labelCell)))
	}
	if d.Omitted > 0 {
		y := topHeight + boxHeight + 16
		d.printf(`<rect class="note" x="24" y="%d" width="%d" height="26" rx="5"/><text class="quiet" x="36" y="%d">%s</text>`+"\n",
			y, d.width-48, y+17, Omitted(d.Omitted))
	}
}

func (d *drawing) boxes(y int) {
	for n, lane := range d.lanes {
		width := d.gap - 26
		d.printf(`<g><title>%s</title><rect class="box" x="%d" y="%d" width="%d" height="%d" rx="8"/>`, escape(lane.Name), d.x(n)-width/2, y, width, boxHeight)
		at := y + 24
		if lane.Role != "" && lane.Role != lane.Name {
			at = y + 18
			d.printf(`<text class="role" x="%d" y="%d">%s</text>`, d.x(n), y+32, escape(lane.Role))
		}
		d.printf(`<text class="name" x="%d" y="%d">%s</text></g>`+"\n", d.x(n), at, escape(clip(lane.Name, float64(width-16), titleCell)))
	}
}

func (d *drawing) item(n int) {
	i, y := &d.Items[n], d.tops[n]
	class := "item"
	if i.Failed {
		class = "item failed"
	}
	d.printf(`<g class="%s"><title>%s</title>`, class, escape(i.by(i.Title)+"\n"+i.Detail))
	if n == 0 || d.elapsed(n) != d.elapsed(n-1) {
		d.printf(`<text class="time" x="%d" y="%d">%s</text>`, leftMargin-14, y+d.heightOf(n)/2+4, d.elapsed(n))
	}
	if i.isNote() {
		d.box(i, y)
	} else {
		d.arrow(i, y+d.heightOf(n)/2)
	}
	d.b.WriteString("</g>\n")
}

// box draws an item that concerns a single participant.
func (d *drawing) box(i *Item, y int) {
	x, most := d.x(column(d.lanes, i.From)), d.x(len(d.lanes)-1)-d.x(column(d.lanes, i.From))+d.gap/2
	left, text := x-16, i.by(i.Title)
	if i.Step != 0 {
		left += 2 * stepRadius
	}
	head := clip(text, float64(most-40), titleCell)
	label := clip(i.Label, float64(most-40)-cells(head)*titleCell-14, labelCell)
	width := 24 + int(cells(head)*titleCell+cells(label)*labelCell)
	if label != "" {
		width += 10
	}
	if i.Step != 0 {
		width += 14
	}
	d.printf(`<rect class="note" x="%d" y="%d" width="%d" height="28" rx="6"/>`, x-16, y+6, width)
	if i.Step != 0 {
		d.step(i, x-1, y+20)
		left = x
	}
	d.printf(`<text class="bold" x="%d" y="%d">%s</text><text class="quiet" x="%d" y="%d">%s</text>`,
		left+12, y+24, escape(head), left+12+int(cells(head)*titleCell)+10, y+24, escape(label))
}

// arrow draws an item between two participants at the vertical position y.
func (d *drawing) arrow(i *Item, y int) {
	from, to := d.x(column(d.lanes, i.From)), d.x(column(d.lanes, i.To))
	toward := 1
	if from > to {
		toward = -1
	}
	start, end := from, to-toward
	line, head := "arrow", "head"
	switch i.Form {
	case Reply:
		line += " back"
	case Message:
		line, head = "arrow wire", "wirehead"
	}
	d.printf(`<line class="%s" x1="%d" y1="%d" x2="%d" y2="%d"/>`, line, start, y, end-toward*6, y)
	d.printf(`<path class="%s" d="M%d %dl%d -4.5v9z"/>`, head, end, y, -toward*9)
	left, room := min(start, end)+10, max(start, end)-min(start, end)-16
	if i.Form == Message {
		d.printf(`<text class="quiet halo" x="%d" y="%d">%s</text>`, left, y-6, escape(clip(i.line(), float64(room), labelCell)))
		return
	}
	below := left
	if i.Step != 0 {
		d.step(i, left+stepRadius-2, y-14)
		left, room = left+2*stepRadius+2, room-2*stepRadius-2
	}
	d.printf(`<text class="bold halo" x="%d" y="%d">%s</text>`, left, y-10, escape(clip(i.by(i.Title), float64(room), titleCell)))
	if i.Label != "" {
		d.printf(`<text class="quiet halo" x="%d" y="%d">%s</text>`, below, y+15, escape(clip(i.Label, float64(max(start, end)-below-6), labelCell)))
	}
}

func (d *drawing) step(i *Item, x, y int) {
	d.printf(`<circle class="step" cx="%d" cy="%d" r="%d"/><text class="number" x="%d" y="%d">%d</text>`, x, y, stepRadius, x, y+4, i.Step)
}

func cells(text string) float64 { return float64(terminal.Width(text)) }

// clip returns the longest beginning of a line that fits in room pixels. cell is the width of a
// character.
func clip(text string, room, cell float64) string {
	text = plaintext.Line(text, maxLine)
	if cells(text)*cell <= room {
		return text
	}
	used, at := 1.0, 0 // space for the ellipsis
	for n, r := range text {
		if used += cells(string(r)); used*cell > room {
			break
		}
		at = n + len(string(r))
	}
	if at == 0 {
		return ""
	}
	return strings.TrimRight(text[:at], " ") + "…"
}

// escape returns a text escaped for XML.
func escape(text string) string {
	var b strings.Builder
	if err := xml.EscapeText(&b, []byte(text)); err != nil {
		return "" // cannot happen: a Builder never fails
	}
	return b.String()
}
