package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// reviewCard shows what a server brings before the model sees it.
type reviewCard struct {
	pending
	review host.Review
}

func (c *reviewCard) press(s *screen, k keypress) bool {
	switch {
	case c.scroll.move(k.name):
		return false
	case k.text == "y":
		c.ask.answer(true)
		s.print(c.decided(ink.T(ink.Good, "✓ "), "the model may see", s.width)...)
		return true
	case k.text == "n", k.name == "esc":
		c.ask.answer(false)
		s.print(c.decided(ink.T(ink.Bad, "✗ "), "kept from the model:", s.width)...)
		return true
	}
	return false
}

// decided says what became of the review.
func (c *reviewCard) decided(mark ink.Span, what string, width int) []ink.Line {
	kinds, _ := kindsOf(c.review.Items)
	line := ink.Line{ink.T(ink.Plain, c.review.Server, ink.Bold), ink.T(ink.Muted, ": "+what+" "+kinds)}
	return ink.Indent(ink.Wrap(line, width-2), ink.Line{mark}, ink.Of("  "))
}

func (c *reviewCard) lines(s *screen, width, height int) []ink.Line {
	title := fmt.Sprintf("%s changed; may the model see it?", c.review.Server)
	if c.review.First {
		title = fmt.Sprintf("%s is new; may the model see it?", c.review.Server)
	}
	if n := c.behind(s); n > 0 {
		title += fmt.Sprintf(" (%d more to review)", n)
	}
	return framed(title, c.laid.of(width, c.body), &c.scroll, s.foot(width, "", "y yes", "n no, keep it from the model", "↑↓ scroll"), width, height)
}

func (c *reviewCard) body(width int) []ink.Line {
	items := slices.Clone(c.review.Items)
	slices.SortStableFunc(items, func(a, b host.ReviewItem) int { // the worst first
		return int(guard.Worst(b.Findings)) - int(guard.Worst(a.Findings))
	})
	lines := reviewSummary(items, width)
	calm := slices.IndexFunc(items, func(it host.ReviewItem) bool { return len(it.Findings) == 0 })
	for i := range items {
		if i == calm && len(items)-calm > manyItems {
			lines = append(lines, contents(items[calm:], width)...)
		}
		lines = append(lines, reviewItem(&items[i], width)...)
	}
	return lines
}

// manyItems is how many definitions are more than a person sees at a glance: there
// is a list of their names first.
const manyItems = 6

// contents are the names of what follows, of each kind.
func contents(items []host.ReviewItem, width int) []ink.Line {
	lines := []ink.Line{nil}
	for len(items) > 0 {
		kind := items[0].Kind
		var names []string
		for _, it := range items {
			if it.Kind == kind && it.Name != "" {
				names = append(names, oneLine(it.Name, 100))
			}
		}
		items = slices.DeleteFunc(slices.Clone(items), func(it host.ReviewItem) bool { return it.Kind == kind })
		if len(names) > 0 {
			lines = append(lines, about(plural(len(names), kind, strings.TrimSuffix(kind, "s")+"s"), ink.Plain, strings.Join(names, ", "), width)...)
		}
	}
	return lines
}

// behind is how many servers are reviewed after this one.
func (c *reviewCard) behind(s *screen) int {
	n := 0
	for _, t := range slices.Backward(s.servers) {
		if t.Server == c.review.Server {
			break
		}
		if t.State == host.StateUnapproved {
			n++
		}
	}
	return n
}

// kindsOf says how many definitions of which kind there are, and how many findings.
func kindsOf(items []host.ReviewItem) (text string, found int) {
	var kinds, words []string
	many := map[string]int{}
	for i := range items {
		kind := items[i].Kind
		if many[kind] == 0 {
			kinds = append(kinds, kind)
		}
		many[kind]++
		found += len(items[i].Findings)
	}
	for _, kind := range kinds {
		words = append(words, plural(many[kind], kind, strings.TrimSuffix(kind, "s")+"s"))
	}
	return strings.Join(words, ", "), found
}

// reviewSummary says how many definitions of which kind there are, and warnings.
func reviewSummary(items []host.ReviewItem, width int) []ink.Line {
	kinds, found := kindsOf(items)
	line := ink.Line{ink.T(ink.Muted, kinds+"; "), ink.T(ink.Good, "nothing suspicious was found")}
	if found > 0 {
		line[1] = ink.T(ink.Bad, plural(found, "warning", "warnings"), ink.Bold)
	}
	return ink.Wrap(line, width)
}

func reviewItem(it *host.ReviewItem, width int) []ink.Line {
	mark, what := ink.T(ink.Added, "+ ", ink.Bold), "new "
	if it.Changed {
		mark, what = ink.T(ink.Warn, "~ ", ink.Bold), "changed "
	}
	head := ink.Line{mark, ink.T(ink.Muted, what+it.Kind+" "), ink.T(ink.Plain, it.Name, ink.Bold)}
	lines := append([]ink.Line{nil}, ink.Wrap(head, width)...)
	for _, f := range it.Findings {
		role := ink.Warn
		if f.Severity >= guard.Block {
			role = ink.Bad
		}
		text := fmt.Sprintf("%s (%s): “%s”", f.Why, f.Where, f.Excerpt)
		lines = append(lines, ink.Indent(ink.Lines(role, text, width-4), ink.Line{ink.T(role, "  ! ", ink.Bold)}, ink.Of("    "))...)
	}
	margin := ink.Of("  ")
	body := diffLines
	if !it.Changed {
		body = fieldLines
	}
	return append(lines, ink.Indent(body(it.Text, width-2), margin, margin)...)
}

// diffLines is a difference, as diff writes it.
func diffLines(text string, width int) []ink.Line {
	var lines []ink.Line
	for row := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		role := ink.Plain
		switch {
		case strings.HasPrefix(row, "+++ ") || strings.HasPrefix(row, "--- ") || strings.HasPrefix(row, "@@ "):
			role = ink.Muted
		case strings.HasPrefix(row, "+"):
			role = ink.Added
		case strings.HasPrefix(row, "-"):
			role = ink.Removed
		}
		lines = append(lines, ink.Lines(role, row, width)...)
	}
	return lines
}

// fieldLines is a whole definition: fields, those of several lines indented. What of
// them is JSON is laid out as a person reads it.
func fieldLines(text string, width int) []ink.Line {
	if isObject(text) {
		return jsonLines([]byte(text), width)
	}
	var lines []ink.Line
	rows := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(rows); {
		lines = append(lines, ink.Lines(ink.Plain, rows[i], width)...)
		i++
		from := i
		for i < len(rows) && strings.HasPrefix(rows[i], "  ") {
			i++
		}
		block := rows[from:i]
		if joined := strings.Join(block, "\n"); isObject(joined) {
			lines = append(lines, ink.Indent(jsonLines([]byte(joined), width-2), ink.Of("  "), ink.Of("  "))...)
			continue
		}
		for _, row := range block {
			lines = append(lines, ink.Lines(ink.Plain, row, width)...)
		}
	}
	return lines
}

func isObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && jsonrpc.Valid([]byte(text), jsonrpc.Limits{}) == nil
}
