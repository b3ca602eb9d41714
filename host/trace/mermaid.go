package trace

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// The limits of a Mermaid diagram: its programs refuse texts of more than 50,000
// characters.
const (
	maxMermaid      = 48_000 // bytes
	maxMermaidLabel = 100    // characters of a text
)

// WriteMermaid writes the trace as a Mermaid sequence diagram. Where there is more than Mermaid takes, the
// oldest is left out, and a note says so.
func (t *Trace) WriteMermaid(w io.Writer) error {
	v := t.view()
	size, first, lines := 0, len(v.items), make([]string, len(v.items))
	for ; first > 0; first-- {
		line := v.line(&v.items[first-1])
		if size += len(line); size >= maxMermaid-4_000 { // for the participants
			break
		}
		lines[first-1] = line
	}
	v.dropped += first
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	for n, p := range v.participants {
		kind := "participant"
		if p == person {
			kind = "actor"
		}
		fmt.Fprintf(&b, "    %s p%d as %s\n", kind, n, strings.ReplaceAll(mermaidText(v.names[p]), "-", "#45;"))
	}
	if v.dropped > 0 {
		fmt.Fprintf(&b, "    Note over p0,p1: %s\n", droppedText(v.dropped))
	}
	for _, line := range lines[first:] {
		b.WriteString(line)
	}
	if v.summary != "" {
		fmt.Fprintf(&b, "    Note over p0,p1: %s\n", mermaidText(v.summary))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line is an item as a statement.
func (v *view) line(i *item) string {
	text := i.title()
	if i.step != 0 {
		text = i.scope.prefix() + strings.TrimSpace(fmt.Sprintf("%d %s %s", i.step, steps[i.step], i.head))
	}
	if i.label != "" {
		text += " · " + i.label
	}
	if i.failed {
		text = "⚠ " + text
	}
	from, to := slices.Index(v.participants, i.from), slices.Index(v.participants, i.to)
	if i.form == note || from == to {
		return fmt.Sprintf("    Note over p%d: %s\n", from, mermaidText(text))
	}
	sign := map[form]string{arrow: "->>", reply: "-->>", message: "-)"}[i.form]
	return fmt.Sprintf("    p%d%sp%d: %s\n", from, sign, to, mermaidText(text))
}

// mermaidText is a text that Mermaid shows as it is. Only letters, digits and
// harmless signs stay; everything else is written by its number.
func mermaidText(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) > maxMermaidLabel {
		r = append(r[:maxMermaidLabel-1], '…')
	}
	if len(r) == 0 {
		return "(nothing)"
	}
	var b strings.Builder
	word := 0 // where the word begins
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

// reserved reports whether text begins with a word that Mermaid may take for the
// end of a block.
func reserved(text []rune) bool {
	return len(text) >= 3 && strings.EqualFold(string(text[:3]), "end") && (len(text) == 3 || !unicode.IsLetter(text[3]))
}
