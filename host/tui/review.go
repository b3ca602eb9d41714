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

func (c *reviewCard) press(_ *screen, k keypress) bool {
	switch {
	case c.scroll.move(k.name):
		return false
	case k.text == "y":
		c.ask.answer(true)
		return true
	case k.text == "n", k.name == "esc":
		c.ask.answer(false)
		return true
	}
	return false
}

func (c *reviewCard) lines(s *screen, width, height int) []ink.Line {
	title := fmt.Sprintf("%s changed; may the model see it?", c.review.Server)
	if c.review.First {
		title = fmt.Sprintf("%s is new; may the model see what it brings?", c.review.Server)
	}
	return framed(title, c.laid.of(width, c.body), &c.scroll, s.foot(width, "", "y yes", "n no, keep it from the model", "↑↓ scroll"), width, height)
}

func (c *reviewCard) body(width int) []ink.Line {
	items := slices.Clone(c.review.Items)
	slices.SortStableFunc(items, func(a, b host.ReviewItem) int { // the worst first
		return int(guard.Worst(b.Findings)) - int(guard.Worst(a.Findings))
	})
	lines := reviewSummary(items, width)
	for i := range items {
		lines = append(lines, reviewItem(&items[i], width)...)
	}
	return lines
}

// reviewSummary says how many definitions of which kind there are, and warnings.
func reviewSummary(items []host.ReviewItem, width int) []ink.Line {
	var kinds []string
	many, found := map[string]int{}, 0
	for i := range items {
		kind := items[i].Kind
		if many[kind] == 0 {
			kinds = append(kinds, kind)
		}
		many[kind]++
		found += len(items[i].Findings)
	}
	var words []string
	for _, kind := range kinds {
		words = append(words, fmt.Sprintf("%d × %s", many[kind], kind))
	}
	line := ink.Line{ink.T(ink.Muted, strings.Join(words, ", ")+"; "), ink.T(ink.Good, "nothing suspicious was found")}
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
	if raw := []byte(it.Text); !it.Changed && len(raw) > 0 && raw[0] == '{' && jsonrpc.Valid(raw, jsonrpc.Limits{}) == nil {
		return append(lines, ink.Indent(jsonLines(raw, width-2), margin, margin)...)
	}
	for row := range strings.SplitSeq(strings.TrimRight(it.Text, "\n"), "\n") {
		role := ink.Plain
		switch {
		case it.Changed && (strings.HasPrefix(row, "+++ ") || strings.HasPrefix(row, "--- ") || strings.HasPrefix(row, "@@ ")):
			role = ink.Muted
		case it.Changed && strings.HasPrefix(row, "+"):
			role = ink.Added
		case it.Changed && strings.HasPrefix(row, "-"):
			role = ink.Removed
		}
		lines = append(lines, ink.Indent(ink.Lines(role, row, width-2), margin, margin)...)
	}
	return lines
}
