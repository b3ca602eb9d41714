package live

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/traffic"
)

const (
	maxLanes    = 60 // of a diagram; the last one stands for all others
	maxLane     = 40 // characters of the name of one
	maxDrawnBox = 90 // characters next to an arrow
)

// A diagram is messages between clients, processes of Junction and servers.
type diagram struct {
	lanes  []string // names
	arrows []arrow
}

// An arrow is a message; from and to are lanes. Where they are the same it is a remark.
type arrow struct {
	from, to       int
	text           string
	failed, answer bool
}

// A lane is whose messages go to and come from one place.
type lane struct {
	kind int // in the order in which they stand: 0 a client, 1 a process of Junction, 2 a server
	name string
}

// draw makes a diagram of the newest messages that a filter shows.
func (r *Ring) draw(f *filter) diagram {
	var all []summary
	for p := (page{More: true}); p.More && len(all) < maxDrawn; {
		p = r.list(f, p.Next, false, min(maxPage, maxDrawn-len(all)))
		all = append(all, p.Items...)
	}
	slices.Reverse(all)
	var lanes []lane
	ends := make([][2]lane, len(all))
	for i := range all {
		ends[i] = endsOf(&all[i])
		for _, one := range ends[i] {
			if !slices.Contains(lanes, one) && len(lanes) < maxLanes-1 {
				lanes = append(lanes, one)
			}
		}
	}
	slices.SortStableFunc(lanes, func(a, b lane) int { return a.kind - b.kind })
	var d diagram
	for _, one := range lanes {
		d.lanes = append(d.lanes, plaintext.Line(one.name, maxLane))
	}
	at := func(one lane) int {
		n := slices.Index(lanes, one)
		if n < 0 {
			if n = maxLanes - 1; len(d.lanes) < maxLanes {
				d.lanes = append(d.lanes, "others")
			}
		}
		return n
	}
	for i := range all {
		s := &all[i]
		a := arrow{from: at(ends[i][0]), to: at(ends[i][1]), text: plaintext.Line(caption(s), maxDrawnBox), failed: s.Error}
		a.answer = s.Kind == traffic.Response || s.Kind == traffic.Error || s.Kind == traffic.Failure
		d.arrows = append(d.arrows, a)
	}
	return d
}

// endsOf says from where to where a message goes.
func endsOf(s *summary) (ends [2]lane) {
	junction := lane{1, "junction " + strconv.Itoa(s.PID)}
	other := junction
	switch {
	case s.Kind == traffic.Note:
	case s.Hop == traffic.Client && s.Client == "":
		other = lane{0, "a client"}
	case s.Hop == traffic.Client:
		other = lane{0, s.Client}
	case s.Hop == traffic.Server:
		other = lane{2, s.Server}
	}
	if s.ToServer == (s.Hop == traffic.Client) {
		return [2]lane{other, junction}
	}
	return [2]lane{junction, other}
}

// caption is what stands next to an arrow.
func caption(s *summary) string {
	var b strings.Builder
	if s.Call > 0 {
		fmt.Fprintf(&b, "#%d ", s.Call)
	}
	switch s.Kind {
	case traffic.Dropped:
		return plaintext.Count(s.Count, "message") + " missed"
	case traffic.Note:
		b.WriteString(s.Note + ": ")
	case traffic.Error, traffic.Failure:
		b.WriteString(s.Kind + ": ")
	}
	b.WriteString(strings.TrimSpace(s.Method + " " + s.Name))
	if s.Took > 0 && s.Kind != traffic.Note {
		fmt.Fprintf(&b, " %v", s.Took.Round(max(s.Took/1000, 10*time.Microsecond)))
	}
	return b.String()
}

// exportMermaid writes a sequence diagram in the language of Mermaid.
func (r *Ring) exportMermaid(w http.ResponseWriter, f *filter) error {
	d := r.draw(f)
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "sequenceDiagram")
	for i, name := range d.lanes {
		fmt.Fprintf(out, "    participant p%d as %s\n", i, mermaidText(name))
	}
	for i := range d.arrows {
		a := &d.arrows[i]
		line := "->>"
		switch {
		case a.from == a.to:
			fmt.Fprintf(out, "    Note over p%d: %s\n", a.from, mermaidText(a.text))
			continue
		case a.failed:
			line = "--x"
		case a.answer:
			line = "-->>"
		}
		fmt.Fprintf(out, "    p%d%sp%d: %s\n", a.from, line, a.to, mermaidText(a.text))
	}
	return out.Flush()
}

// mermaidText is a text of which Mermaid takes nothing for anything else: what is no letter, digit or space is a number.
func mermaidText(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case unicode.IsLetter(c), unicode.IsDigit(c), c == ' ', c == '/', c == '.', c == '_':
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "#%d;", c)
		}
	}
	if b.Len() == 0 {
		return " "
	}
	return b.String()
}

// exportSVG writes a sequence diagram as a picture.
func (r *Ring) exportSVG(w http.ResponseWriter, f *filter) error {
	const lane, row, top = 260, 26, 60
	d := r.draw(f)
	out := bufio.NewWriter(w)
	width, height := max(1, len(d.lanes))*lane, top+(len(d.arrows)+1)*row
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12">`+"\n", width, height, width, height)
	fmt.Fprint(out, `<rect width="100%" height="100%" fill="#fff"/>`+"\n")
	x := func(n int) int { return n*lane + lane/2 }
	for i, name := range d.lanes {
		fmt.Fprintf(out, `<line x1="%d" y1="40" x2="%d" y2="%d" stroke="#ccc"/><text x="%d" y="28" text-anchor="middle" font-weight="bold">`, x(i), x(i), height, x(i))
		svgText(out, name)
	}
	for i := range d.arrows {
		a := &d.arrows[i]
		y, colour, dashes := top+(i+1)*row, "#1f4e9c", ""
		if a.failed {
			colour = "#b3261e"
		}
		if a.answer {
			dashes = ` stroke-dasharray="5 3"`
		}
		if from, to := x(a.from), x(a.to); from != to {
			back := 7
			if to > from {
				back = -7
			}
			fmt.Fprintf(out, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s"%s/><path d="M%d %dl%d -4v8z" fill="%s"/>`, from, y, to, y, colour, dashes, to, y, back, colour)
		}
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle" fill="%s">`, (x(a.from)+x(a.to))/2, y-5, colour)
		svgText(out, a.text)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

// svgText writes the text of a text element, and its end.
func svgText(out io.Writer, text string) {
	_ = xml.EscapeText(out, []byte(text))
	_, _ = io.WriteString(out, "</text>\n")
}
