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

// WriteMermaid writes the trace as a Mermaid sequence diagram. Calls that ran at
// the same time stand in a par block. Where there is more than Mermaid takes, the
// oldest is left out, and a note says so.
func (t *Trace) WriteMermaid(w io.Writer) error {
	v := t.view()
	blocks := v.blocks()
	size, first := 0, len(blocks)
	for first > 0 && size+len(blocks[first-1].text) < maxMermaid-4_000 { // for the participants
		first--
		size += len(blocks[first].text)
	}
	for _, left := range blocks[:first] {
		v.dropped += left.items
	}
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
	for _, block := range blocks[first:] {
		b.WriteString(block.text)
	}
	if v.summary != "" {
		fmt.Fprintf(&b, "    Note over p0,p1: %s\n", mermaidText(v.summary))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// block is a part of the diagram that stands or falls as a whole.
type block struct {
	text  string
	items int
}

// blocks are the items, those of calls that ran at the same time put together.
func (v *view) blocks() []block {
	var blocks []block
	for n := 0; n < len(v.items); {
		calls, end := v.parallel(n)
		if len(calls) < 2 {
			blocks = append(blocks, block{v.line(&v.items[n], "    "), 1})
			n++
			continue
		}
		blocks = append(blocks, v.par(v.items[n:end], calls))
		n = end
	}
	return blocks
}

// parallel finds the calls that overlap with the one that begins at item n, and
// the item after all of them.
func (v *view) parallel(n int) (calls []string, end int) {
	if !v.items[n].opens || v.items[n].scope.depth > 0 {
		return nil, n
	}
	open := map[string]bool{}
	for end = n; end < len(v.items); end++ {
		switch i := &v.items[end]; {
		case i.scope.depth > 0: // within one of them
		case i.step == 7:
			return calls, end // what is still open was never closed
		case i.opens:
			open[i.call] = true
			calls = append(calls, i.call)
		case i.closes && open[i.call]:
			if delete(open, i.call); len(open) == 0 {
				return calls, end + 1
			}
		}
	}
	return calls, end
}

// par writes calls side by side; what belongs to none of them stands before.
func (v *view) par(items []item, calls []string) block {
	b := strings.Builder{}
	for n := range items {
		if !slices.Contains(calls, items[n].top()) {
			b.WriteString(v.line(&items[n], "    "))
		}
	}
	for n, call := range calls {
		word := "and"
		if n == 0 {
			word = "par"
		}
		fmt.Fprintf(&b, "    %s call %d\n", word, n+1)
		for m := range items {
			if items[m].top() == call {
				b.WriteString(v.line(&items[m], "        "))
			}
		}
	}
	b.WriteString("    end\n")
	return block{b.String(), len(items)}
}

// line is an item as a statement.
func (v *view) line(i *item, indent string) string {
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
		return fmt.Sprintf("%sNote over p%d: %s\n", indent, from, mermaidText(text))
	}
	sign := map[form]string{arrow: "->>", reply: "-->>", message: "-)"}[i.form]
	return fmt.Sprintf("%sp%d%sp%d: %s\n", indent, from, sign, to, mermaidText(text))
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
