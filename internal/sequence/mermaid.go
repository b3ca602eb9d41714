package sequence

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Limits of a Mermaid diagram. Mermaid rejects texts of more than 50,000 characters.
const (
	maxMermaid      = 48_000 // bytes
	roomForNotes    = 1_000  // bytes reserved for the note about omitted items and for the summary
	maxMermaidLabel = 100    // characters of a text
)

// Mermaid writes the diagram in the Mermaid language. If the diagram is too large, it omits the
// oldest items and adds a note with their number.
func (d *Diagram) Mermaid(w io.Writer) error {
	lanes := d.lanes()
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	for n, lane := range lanes {
		kind := "participant"
		if lane.Role == Person {
			kind = "actor"
		}
		fmt.Fprintf(&b, "    %s p%d as %s\n", kind, n, strings.ReplaceAll(mermaidText(lane.Name), "-", "#45;"))
	}
	size, first, lines := b.Len()+roomForNotes, len(d.Items), make([]string, len(d.Items))
	for ; first > 0; first-- {
		line := statement(&d.Items[first-1], lanes)
		if size += len(line); size >= maxMermaid {
			break
		}
		lines[first-1] = line
	}
	over := "p0"
	if len(lanes) > 1 {
		over = "p0,p1"
	}
	if n := d.Omitted + first; n > 0 {
		fmt.Fprintf(&b, "    Note over %s: %s\n", over, Omitted(n))
	}
	for _, line := range lines[first:] {
		b.WriteString(line)
	}
	if d.Summary != "" {
		fmt.Fprintf(&b, "    Note over %s: %s\n", over, mermaidText(d.Summary))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// statement returns an item as a Mermaid statement.
func statement(i *Item, lanes []Lane) string {
	text := i.Title
	if i.Step != 0 {
		text = fmt.Sprintf("%d %s", i.Step, strings.Replace(text, ": ", " ", 1)) // Mermaid accepts a colon in the text only as a character code
	}
	text = joined(i.by(text), " · ", i.Label)
	if i.Failed {
		text = "⚠ " + text
	}
	from, to := column(lanes, i.From), column(lanes, i.To)
	if i.isNote() || from == to {
		return fmt.Sprintf("    Note over p%d: %s\n", from, mermaidText(text))
	}
	sign := map[Form]string{Arrow: "->>", Reply: "-->>", Message: "-)"}[i.Form]
	return fmt.Sprintf("    p%d%sp%d: %s\n", from, sign, to, mermaidText(text))
}

// mermaidText returns a text that Mermaid displays unchanged. It writes all characters except
// letters, digits and harmless ones as character codes.
func mermaidText(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > maxMermaidLabel {
		r = append(r[:maxMermaidLabel-1], '…')
	}
	if len(r) == 0 {
		return "(nothing)"
	}
	var b strings.Builder
	word := 0 // start of the current word
	for n, c := range r {
		switch {
		case c == ' ':
			b.WriteByte(' ')
			word = n + 1
		case n == word && reserved(r[n:]):
			fmt.Fprintf(&b, "#%d;", c)
		case c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune(".,_()=/'!?*-", c)), strings.ContainsRune("…⚠·→", c),
			c > unicode.MaxASCII && unicode.IsLetter(c) && c != 'ﬂ':
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "#%d;", c)
		}
	}
	return b.String()
}

// reserved reports whether text begins with a word that Mermaid may interpret as the end of a
// block.
func reserved(text []rune) bool {
	return len(text) >= 3 && strings.EqualFold(string(text[:3]), "end") && (len(text) == 3 || !unicode.IsLetter(text[3]))
}
