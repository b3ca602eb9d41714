package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// fileChange returns the change that a call would make to a file, or nil. The call's only arguments
// must be the path of a readable file and a whole text for it. Only the server knows what it will
// do, so the change is shown in addition to the arguments.
func fileChange(card *host.ApprovalCard, onDisk func(path string) (text string, ok bool)) *edit {
	name := plainName(card.Tool)
	writes := slices.ContainsFunc([]string{"write", "overwrite", "rewrite", "create", "save", "put"}, func(verb string) bool { return strings.HasPrefix(name, verb) })
	if onDisk == nil || card.Resource != "" || !writes || strings.Contains(name, "append") || jsonrpc.Valid(card.Arguments, jsonrpc.Limits{}) != nil {
		return nil
	}
	var e edit
	members := 0
	jsonrpc.EachMember(card.Arguments, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		text, isText := jsonrpc.Unquote(value)
		switch plain := plainName(name); {
		case plain == "overwrite" && string(value) == "true":
			return true
		case !isText:
		case slices.Contains([]string{"path", "file", "filepath", "filename"}, plain):
			e.before.name = text
		case slices.Contains([]string{"content", "contents", "text", "filetext", "filecontent"}, plain):
			e.after = member{name, text}
		}
		members++
		return true
	})
	if members != 2 || e.after.name == "" || !filepath.IsAbs(e.before.name) { // only the server knows the folder of a relative path
		return nil
	}
	var ok bool
	if e.before.text, ok = onDisk(e.before.name); !ok {
		return nil
	}
	return &e
}

// stays is the number of unchanged lines shown on either side of a change.
const stays = 3

// hunks returns the changed lines with a few lines around them, or nil if they cannot be shown. The
// arguments show all of the new text.
func (e *edit) hunks(width int) []ink.Line {
	before, beforeEnds := textLines(e.before.text)
	after, afterEnds := textLines(e.after.text)
	rows, ok := diffRows(before, after)
	if !ok || hasInvisible(e.before.text) || hasInvisible(e.after.text) {
		return nil
	}
	head := ink.Line{ink.T(ink.Accent, plaintext.Line(e.before.name, 400)),
		ink.T(ink.Muted, fmt.Sprintf(" is on this disk (%s, %s). ", plural(len(before), "line", "lines"), bytes(len(e.before.text))))}
	switch {
	case e.before.text == e.after.text:
		return ink.Barred(append(head, ink.T(ink.Muted, "It already holds this text.")), width)
	case beforeEnds != afterEnds:
		head = append(head, ink.T(ink.Muted, "Line endings change. "))
	}
	lines := ink.Barred(append(head, ink.T(ink.Muted, "If the call replaces all of it, this changes:")), width)
	near := make([]bool, len(rows))
	for i, row := range rows {
		if row.mark == " " {
			continue
		}
		for j := max(0, i-stays); j <= min(len(rows)-1, i+stays); j++ {
			near[j] = true
		}
	}
	for i := 0; i < len(rows); {
		from := i
		for i < len(rows) && near[i] == near[from] {
			i++
		}
		if near[from] {
			lines = append(lines, rowLines(rows[from:i], width)...)
		} else {
			lines = append(lines, ink.Line{ink.T(ink.Muted, "│ … "+plural(i-from, "line stays", "lines stay"))})
		}
	}
	return lines
}

// maxDiffCells limits a comparison: the number of lines of one text times that of the other,
// without common lines at both ends.
const maxDiffCells = 1 << 18

// An edit holds two members of an object: a text and its replacement.
type edit struct{ before, after member }

type member struct{ name, text string }

// editIn returns the edit among the members of an object. ok is false if there is none, or if a
// name occurs twice and it is unclear which text counts.
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
		partner := map[string]string{"search": "replace", "find": "replace", "before": "after", "original": "replacement"}[name]
		if what, old := strings.CutPrefix(name, "old"); old {
			partner = "new" + what
		}
		after, isText := texts[partner]
		if isText && seen[name] == 1 && seen[partner] == 1 {
			if ok {
				return edit{}, false // with two edits, neither is the obvious one
			}
			e, ok = edit{before, after}, true
		}
	}
	return e, ok
}

// plainName returns a name in lower case without _ and -.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// lines returns all lines of both texts as a comparison, common lines once. ok is false if the
// comparison would hide a difference.
func (e *edit) lines(width int) ([]ink.Line, bool) {
	before, beforeEnds := textLines(e.before.text)
	after, afterEnds := textLines(e.after.text)
	rows, ok := diffRows(before, after)
	if !ok || beforeEnds != afterEnds || hasInvisible(e.before.text) || hasInvisible(e.after.text) {
		return nil, false // both texts are shown separately
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

// rowLines returns the rows of a comparison as lines.
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

// differInSpaces reports whether two different lines would look alike.
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

// withSpaces returns a line with visible tabs, and visible spaces at its ends.
func withSpaces(text string) string {
	middle := strings.Trim(text, " \t")
	at := strings.Index(text, middle)
	ends := strings.NewReplacer("\t", "⇥   ", " ", "·")
	return ends.Replace(text[:at]) + strings.ReplaceAll(middle, "\t", "⇥   ") + ends.Replace(text[at+len(middle):])
}

// textLines returns the lines of a text and the kind of its line ends. A comparison is only
// complete if the line ends of both texts are of the same kind.
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

// diffRows returns the lines of both texts, common lines once. ok is false if the comparison would
// take too long.
func diffRows(before, after []string) (rows []diffRow, ok bool) {
	begin, end := 0, 0 // numbers of common lines at the beginning and at the end
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
	// common[i][j] is the number of lines that before[i:] and after[j:] have in common.
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

// maxShownDepth is the depth to which JSON is laid out. Deeper values are on one line.
const maxShownDepth = 8

// maxInline is the maximum number of bytes of a JSON value on one line.
const maxInline = 400

// jsonLines lays out all of a JSON value for a user, a member a line, with long texts as text.
// Invisible characters are made visible and mentioned.
func jsonLines(raw []byte, width int) []ink.Line {
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		return ink.Barred(ink.Line{ink.T(ink.Code, plaintext.Unbroken(string(raw)))}, width)
	}
	raw = raw[jsonrpc.SkipSpace(raw, 0):]
	if raw[0] != '{' && raw[0] != '[' {
		return jsonValue(nil, raw, width, 0)
	}
	lines := jsonMembers(raw, width, 0)
	if len(lines) == 0 {
		lines = []ink.Line{{ink.T(ink.Muted, "none")}}
	}
	return lines
}

// jsonMembers lays out the members of an object or an array.
func jsonMembers(raw []byte, width, depth int) []ink.Line {
	var lines []ink.Line
	if raw[0] == '{' {
		e, isEdit := editIn(raw)
		var change []ink.Line
		if isEdit {
			change, isEdit = e.lines(width)
		}
		jsonrpc.EachMember(raw, func(quoted, value []byte) bool {
			name, _ := jsonrpc.Unquote(quoted)
			if isEdit && (name == e.before.name || name == e.after.name) {
				lines, change = append(lines, change...), nil // at the place of the first member
				return true
			}
			lines = append(lines, jsonValue(ink.Line{ink.T(ink.Accent, memberName(name)+": ")}, value, width, depth)...)
			return true
		})
		return lines
	}
	jsonrpc.EachElement(raw, func(value []byte) bool {
		lines = append(lines, jsonValue(ink.Line{ink.T(ink.Accent, "- ")}, value, width, depth)...)
		return true
	})
	return lines
}

// memberName returns a member's name in full. It is quoted if it could be mistaken for a name with
// its value.
func memberName(name string) string {
	if name == "" || strings.ContainsAny(name, "\",:{}[]\n\t") {
		name = string(jsonrpc.AppendString(nil, name))
	}
	return plaintext.Unbroken(name)
}

// jsonValue lays out a value after its name.
func jsonValue(name ink.Line, raw []byte, width, depth int) []ink.Line {
	text, isText := jsonrpc.Unquote(raw)
	isEmpty := len(raw) > 1 && jsonrpc.SkipSpace(raw, 1) == len(raw)-1
	switch {
	case isText:
		return jsonText(name, text, width)
	case raw[0] != '{' && raw[0] != '[' || isEmpty:
		return ink.Barred(append(name, ink.T(ink.Code, string(raw))), width)
	case depth >= maxShownDepth || width < 20:
		return ink.Barred(append(name, ink.T(ink.Code, plaintext.Unbroken(string(raw)))), width)
	}
	if flat, ok := jsonInline(raw); ok && name.Width()+ink.Width(flat) <= width {
		return []ink.Line{append(name, ink.T(ink.Code, flat))}
	}
	margin := ink.Of("  ")
	return append(ink.Barred(name, width), ink.Indent(jsonMembers(raw, width-2, depth+1), margin, margin)...)
}

// jsonInline returns a value on one line. ok is false if it is too long, or has a text that needs
// another layout.
func jsonInline(raw []byte) (string, bool) {
	if len(raw) > maxInline {
		return "", false
	}
	switch raw[0] {
	case '"':
		text, ok := jsonrpc.Unquote(raw)
		return `"` + strings.ReplaceAll(text, `"`, `\"`) + `"`, ok && !strings.Contains(text, "\n") && plaintext.Clean(text) == text
	case '{', '[':
	default:
		return string(raw), true
	}
	var parts []string
	fits := true
	add := func(name string, value []byte) bool {
		text, ok := jsonInline(value)
		parts, fits = append(parts, name+text), fits && ok
		return fits
	}
	if raw[0] == '[' {
		jsonrpc.EachElement(raw, func(value []byte) bool { return add("", value) })
		return "[" + strings.Join(parts, ", ") + "]", fits
	}
	if _, isEdit := editIn(raw); isEdit {
		return "", false
	}
	jsonrpc.EachMember(raw, func(quoted, value []byte) bool {
		name, ok := jsonrpc.Unquote(quoted)
		if !ok || strings.ContainsAny(name, `",:{}[]`) {
			name = string(quoted)
		}
		fits = fits && plaintext.Line(name, maxInline) == name
		return fits && add(name+": ", value)
	})
	return "{" + strings.Join(parts, ", ") + "}", fits
}

// jsonText lays out a text: in quotes, or as a block if it has several lines.
func jsonText(name ink.Line, text string, width int) []ink.Line {
	var hidden ink.Line
	if plaintext.Clean(text) != strings.ReplaceAll(text, "\r\n", "\n") {
		hidden = ink.Line{ink.T(ink.Warn, " (has invisible characters, written out here)")}
	}
	if !strings.Contains(text, "\n") {
		quoted := `"` + strings.ReplaceAll(text, `"`, `\"`) + `"` // escaped, so that a text cannot imitate a second member
		line := append(name, ink.T(ink.Code, quoted))
		return ink.Barred(append(line, hidden...), width)
	}
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	about := ink.T(ink.Muted, fmt.Sprintf("%s, %s", plural(len(rows), "line", "lines"), bytes(len(text))))
	lines := ink.Barred(append(append(name, about), hidden...), width)
	bar := ink.Line{ink.T(ink.Muted, "│ ")}
	for _, row := range rows {
		row = strings.TrimSuffix(row, "\r")
		lines = append(lines, ink.Indent(ink.Chop(ink.Line{ink.T(ink.Code, row)}, max(1, width-2)), bar, bar)...)
	}
	return lines
}
