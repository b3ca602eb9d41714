package sequence

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Dimensions of the drawing, in pixels.
const (
	leftMargin   = 84 // space for the times
	rightMargin  = 30
	columnMin    = 168 // minimum distance of two lifelines
	columnMax    = 280
	drawingWidth = 1_120 // preferred width
	topHeight    = 66    // height of the title
	boxHeight    = 40    // height of a participant
	stepHeight   = 54
	lineHeight   = 38 // height of a message
	noteHeight   = 40
	stepRadius   = 10
)

// drawing is a diagram and the positions of its parts.
type drawing struct {
	*Diagram
	lanes  []Lane
	gap    int
	width  int
	height int
	tops   []int // vertical positions of the items
	b      strings.Builder
}

// SVG writes the diagram as a self-contained drawing, without scripts, external fonts or pictures.
// It follows the light or dark mode of the reader. Texts that do not fit end in an ellipsis; the
// full text is shown when the pointer is over them.
func (d *Diagram) SVG(w io.Writer) error {
	at := &drawing{Diagram: d, lanes: d.lanes()}
	at.measure()
	at.open()
	for n := range at.lanes {
		at.printf(`<line class="life" x1="%d" y1="%d" x2="%d" y2="%d"/>`+"\n", at.x(n), topHeight+boxHeight, at.x(n), at.height-14)
	}
	for n := range at.Items {
		at.item(n)
	}
	at.boxes(topHeight)
	if at.height > 900 {
		at.boxes(at.height - boxHeight - 14)
	}
	at.b.WriteString("</svg>\n")
	_, err := io.WriteString(w, at.b.String())
	return err
}

// measure computes the positions of all parts.
func (d *drawing) measure() {
	n := max(1, len(d.lanes))
	d.gap = min(max(drawingWidth/max(1, n-1), columnMin), columnMax)
	d.width = d.x(n-1) + d.gap/2 + rightMargin
	y := topHeight + boxHeight + 16
	if d.Omitted > 0 {
		y += noteHeight
	}
	for n := range d.Items {
		d.tops = append(d.tops, y)
		y += d.heightOf(n)
	}
	d.height = y + 20
	if d.height+boxHeight > 900 {
		d.height += boxHeight + 10
	}
}

func (d *drawing) heightOf(n int) int {
	switch i := &d.Items[n]; {
	case i.Form == Note:
		return noteHeight
	case i.Form == Message, i.Label == "" && i.Step == 0:
		return lineHeight
	}
	return stepHeight
}

// x returns the horizontal position of a lifeline.
func (d *drawing) x(column int) int { return leftMargin + d.gap/2 + column*d.gap }

// elapsed returns the time from the first item to item n.
func (d *drawing) elapsed(n int) string {
	after := d.Items[n].At.Sub(d.Items[0].At)
	switch {
	case after < 0:
		return ""
	case after < time.Second:
		return fmt.Sprintf("%d ms", after.Milliseconds())
	case after < time.Minute:
		return fmt.Sprintf("%.2f s", after.Seconds())
	}
	return after.Round(time.Second).String()
}
