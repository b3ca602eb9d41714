package tui

import (
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/approval"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// reviewDetails are all definitions that a server brings, the worst first.
func reviewDetails(r *host.Review, width int) []ink.Line {
	items := slices.Clone(r.Items)
	slices.SortStableFunc(items, func(a, b host.ReviewItem) int {
		return int(guard.Worst(b.Findings)) - int(guard.Worst(a.Findings))
	})
	var lines []ink.Line
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

func reviewItem(it *host.ReviewItem, width int) []ink.Line {
	mark, what := ink.T(ink.Added, "+ ", ink.Bold), "new "
	if it.Changed {
		mark, what = ink.T(ink.Warn, "~ ", ink.Bold), "changed "
	}
	head := ink.Line{mark, ink.T(ink.Muted, what+it.Kind+" "), ink.T(ink.Plain, unbroken(it.Name), ink.Bold)}
	lines := append([]ink.Line{nil}, ink.Barred(head, width)...)
	for _, f := range it.Findings {
		role := ink.Warn
		if f.Severity >= guard.Block {
			role = ink.Bad
		}
		lines = append(lines, ink.Indent(ink.Lines(role, approval.Finding(&f), width-4), ink.Line{ink.T(role, "  ! ", ink.Bold)}, ink.Of("    "))...)
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
		lines = append(lines, ink.Barred(ink.Line{ink.T(role, row)}, width)...)
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
		lines = append(lines, ink.Barred(ink.Line{ink.T(ink.Plain, rows[i])}, width)...)
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
			lines = append(lines, ink.Barred(ink.Line{ink.T(ink.Plain, row)}, width)...)
		}
	}
	return lines
}

func isObject(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "{") && jsonrpc.Valid([]byte(text), jsonrpc.Limits{}) == nil
}
