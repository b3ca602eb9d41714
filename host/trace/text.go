package trace

import (
	"fmt"
	"io"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/sequence"
	"github.com/junction-mcp/junction/internal/terminal"
)

// The columns of the text, in cells.
const (
	stepIndent = 16
	sideIndent = 4
	maxSpoken  = 480 // bytes of the text behind a line; diagrams have more
)

// WriteText writes the whole trace as text.
func (t *Trace) WriteText(w io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	if t.dropped > 0 {
		fmt.Fprintf(&b, "%s\n", sequence.Omitted(t.dropped))
	}
	for _, i := range t.items {
		b.WriteString(t.options.text(i))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text is an item as lines, those of a sub-agent further to the right.
func (o *Options) text(i *item) string {
	margin := min(i.scope.depth*sideIndent, o.Width/2)
	if margin == 0 {
		return o.lines(i)
	}
	inner := *o
	inner.Width -= margin
	var b strings.Builder
	for line := range strings.Lines(inner.lines(i)) {
		b.WriteString(strings.Repeat(" ", margin) + line)
	}
	return b.String()
}

func (o *Options) lines(i *item) string {
	if i.form == sequence.Message {
		text := i.detail
		if text == "" {
			text = i.line()
		}
		if len(text) > maxSpoken {
			text = plaintext.Beginning(text, maxSpoken) + "…"
		}
		return fill(arrowText(i)+"  "+text, sideIndent, o.Width) + "\n"
	}
	text := terminal.Wrap(arrowText(i)+" "+i.line(), sideIndent, o.Width)
	if i.step != 0 {
		line := terminal.Wrap(i.line(), stepIndent, o.Width)
		text = fmt.Sprintf("%2d  %-*s", i.step, stepIndent-4, steps[i.step]) + strings.TrimPrefix(line, strings.Repeat(" ", stepIndent))
	}
	text += "\n"
	if i.says != "" {
		text += terminal.Wrap(plaintext.Beginning(i.says, maxSpoken), stepIndent, o.Width) + "\n"
	}
	return text
}

// line is what an item says, on one line.
func (i *item) line() string {
	switch agent := i.scope.prefix(); {
	case i.head == "":
		return agent + i.label
	case i.label == "":
		return agent + i.head
	default:
		return agent + i.head + ": " + i.label
	}
}

// fill breaks text wherever a line is full: what is on a wire has no words. The
// lines after the first are indented a little more; empty ones are left out.
func fill(text string, indent, width int) string {
	var b strings.Builder
	margin := strings.Repeat(" ", indent)
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\t", " "), "\n") {
		used := width + 1
		for _, r := range strings.TrimRight(line, " ") {
			cells := terminal.Width(string(r))
			if used+cells > width {
				if b.Len() > 0 {
					b.WriteString("\n  ")
				}
				b.WriteString(margin)
				used = indent + 2
			}
			b.WriteRune(r)
			used += cells
		}
	}
	return b.String()
}

// arrowText says between whom something goes, seen from the host.
func arrowText(i *item) string {
	switch {
	case i.form == sequence.Note:
		return "·"
	case i.from == theHost:
		return "→ " + shortName(i.to)
	}
	return "← " + shortName(i.from)
}

func shortName(participant string) string {
	name := strings.TrimPrefix(participant, "server ")
	if name == host.OwnServer && name != participant { // another than the host itself
		return "own tools"
	}
	return name
}
