package tui

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxDiffCells bounds what is compared: the lines of one text times those of the other, without
// those that both begin and end with.
const maxDiffCells = 1 << 18

// An edit is two members of an object that hold a text and what comes in its place.
type edit struct{ before, after member }

type member struct{ name, text string }

// editIn is the edit among the members of an object. It is not ok where there is none, or
// where a name occurs twice, so that which text is sent is not known.
func editIn(object []byte) (e edit, ok bool) {
	texts, seen := map[string]member{}, map[string]int{}
	jsonrpc.EachMember(object, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		seen[plainName(name)]++
		if text, isText := jsonrpc.Unquote(value); isText {
			texts[plainName(name)] = member{name, text}
		}
		return true
	})
	for name, before := range texts {
		partner := partnerOf(name)
		after, isText := texts[partner]
		if isText && seen[name] == 1 && seen[partner] == 1 {
			if ok {
				return edit{}, false // two edits: neither is the obvious one
			}
			e, ok = edit{before, after}, true
		}
	}
	return e, ok
}

// plainName is a name without what is a matter of style.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// partnerOf is the name of the member with the new text.
func partnerOf(name string) string {
	if what, old := strings.CutPrefix(name, "old"); old {
		return "new" + what
	}
	return map[string]string{"search": "replace", "find": "replace", "before": "after", "original": "replacement"}[name]
}

// lines show what changes, all lines of both texts: those that stay once.
func (e *edit) lines(width int) ([]ink.Line, bool) {
	before, beforeEnds := textLines(e.before.text)
	after, afterEnds := textLines(e.after.text)
	rows, ok := compared(before, after)
	if !ok || beforeEnds != afterEnds || hasInvisible(e.before.text) || hasInvisible(e.after.text) {
		return nil, false // both are shown as they are
	}
	size := func(lines []string, text string) string {
		return fmt.Sprintf("%s, %s", plural(len(lines), "line", "lines"), bytes(len(text)))
	}
	head := ink.Line{
		ink.T(ink.Accent, memberName(e.before.name)), ink.T(ink.Muted, " ("+size(before, e.before.text)+") is replaced by "),
		ink.T(ink.Accent, memberName(e.after.name)), ink.T(ink.Muted, " ("+size(after, e.after.text)+")"),
	}
	return append(ink.Barred(head, width), rowLines(rows, width)...), true
}

// rowLines are the lines of a comparison as they are shown.
func rowLines(rows []diffRow, width int) []ink.Line {
	var lines []ink.Line
	spaces := differInSpaces(rows)
	for _, row := range rows {
		if spaces {
			row.text = withSpaces(row.text)
		}
		bar := ink.Line{ink.T(ink.Muted, "│ "), ink.T(row.role, row.mark+" ")}
		more := ink.Line{ink.T(ink.Muted, "│   ")}
		text := ink.Line{ink.T(row.role, row.text)}
		lines = append(lines, ink.Indent(ink.Chop(text, max(1, width-4)), bar, more)...)
	}
	return lines
}

// differInSpaces reports whether two lines would look alike that are not.
func differInSpaces(rows []diffRow) bool {
	looks := map[string]string{}
	for _, row := range rows {
		if look := strings.Join(strings.Fields(row.text), " "); row.mark != " " {
			if other := looks[look]; other != "" && other != row.mark {
				return true
			}
			looks[look] = row.mark
		}
	}
	return false
}

// withSpaces is a line whose tabs and spaces at its ends can be seen.
func withSpaces(text string) string {
	middle := strings.Trim(text, " \t")
	if middle == "" {
		return strings.NewReplacer("\t", "⇥   ", " ", "·").Replace(text)
	}
	at := strings.Index(text, middle)
	ends := strings.NewReplacer("\t", "⇥   ", " ", "·")
	return ends.Replace(text[:at]) + strings.ReplaceAll(middle, "\t", "⇥   ") + ends.Replace(text[at+len(middle):])
}

// textLines are the lines of a text, and how its lines end: those of both texts must end
// alike for a comparison to show all that differs.
func textLines(text string) (lines []string, ends string) {
	switch breaks := strings.Count(text, "\n"); {
	case breaks > 0 && strings.Count(text, "\r\n") == breaks && strings.Count(text, "\r") == breaks:
		text, ends = strings.ReplaceAll(text, "\r\n", "\n"), "\r\n"
	case strings.Contains(text, "\r"):
		ends = "mixed"
	}
	if strings.HasSuffix(text, "\n") {
		text, ends = text[:len(text)-1], ends+" at the end"
	}
	if text == "" && ends == "" {
		return nil, ""
	}
	return strings.Split(text, "\n"), ends
}

func hasInvisible(text string) bool {
	return plaintext.Clean(text) != strings.ReplaceAll(text, "\r\n", "\n")
}

// A diffRow is a line of a comparison.
type diffRow struct {
	mark string
	role ink.Role
	text string
}

// compared are the lines of both texts, those that both have once. It is not ok where that would
// take too long.
func compared(before, after []string) (rows []diffRow, ok bool) {
	begin, end := 0, 0 // what both begin and end with
	for begin < min(len(before), len(after)) && before[begin] == after[begin] {
		begin++
	}
	for end < min(len(before), len(after))-begin && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	both := func(lines []string) {
		for _, text := range lines {
			rows = append(rows, diffRow{" ", ink.Code, text})
		}
	}
	tail := before[len(before)-end:]
	both(before[:begin])
	before, after = before[begin:len(before)-end], after[begin:len(after)-end]
	if len(before)*len(after) > maxDiffCells {
		return nil, false
	}
	// common[i][j] is how many lines before[i:] and after[j:] have in common.
	common := make([][]int32, len(before)+1)
	for i := range common {
		common[i] = make([]int32, len(after)+1)
	}
	for i := len(before) - 1; i >= 0; i-- {
		for j := len(after) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); before[i] == after[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			both(before[i : i+1])
			i, j = i+1, j+1
		case i < len(before) && (j == len(after) || common[i+1][j] >= common[i][j+1]):
			rows = append(rows, diffRow{"-", ink.Removed, before[i]})
			i++
		default:
			rows = append(rows, diffRow{"+", ink.Added, after[j]})
			j++
		}
	}
	both(tail)
	return rows, true
}
