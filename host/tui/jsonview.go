package tui

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// maxShownDepth is how deep JSON is laid out; what lies deeper stands in one line.
const maxShownDepth = 8

// maxInline is how many bytes of JSON may stand in one line.
const maxInline = 400

// jsonLines lays JSON out for a person: all of it, a member a line, long texts
// as text. What is invisible is shown, and said to be there.
func jsonLines(raw []byte, width int) []ink.Line {
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		return ink.Barred(ink.Line{ink.T(ink.Code, unbroken(string(raw)))}, width)
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

// jsonMembers lays out what an object or an array holds.
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
				lines, change = append(lines, change...), nil // in place of the first of the two
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

// memberName is all of a member's name, as it is sent too; in quotes where it could be taken for
// a name with its value.
func memberName(name string) string {
	if name == "" || strings.ContainsAny(name, "\",:{}[]\n\t") {
		name = string(jsonrpc.AppendString(nil, name))
	}
	return unbroken(name)
}

// jsonValue lays out a value behind its name.
func jsonValue(name ink.Line, raw []byte, width, depth int) []ink.Line {
	text, isText := jsonrpc.Unquote(raw)
	isEmpty := len(raw) > 1 && jsonrpc.SkipSpace(raw, 1) == len(raw)-1
	switch {
	case isText:
		return jsonText(name, text, width)
	case raw[0] != '{' && raw[0] != '[' || isEmpty:
		return ink.Barred(append(name, ink.T(ink.Code, string(raw))), width)
	case depth >= maxShownDepth || width < 20:
		return ink.Barred(append(name, ink.T(ink.Code, unbroken(string(raw)))), width)
	}
	if flat, ok := jsonInline(raw); ok && name.Width()+ink.Width(flat) <= width {
		return []ink.Line{append(name, ink.T(ink.Code, flat))}
	}
	margin := ink.Of("  ")
	return append(ink.Barred(name, width), ink.Indent(jsonMembers(raw, width-2, depth+1), margin, margin)...)
}

// jsonInline is a value in one line, unless it holds a text that is not shown as it
// is, or too much of anything.
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

// jsonText lays out a text: in quotes, or, where it has several lines, as a block.
func jsonText(name ink.Line, text string, width int) []ink.Line {
	var hidden ink.Line
	if plaintext.Clean(text) != strings.ReplaceAll(text, "\r\n", "\n") {
		hidden = ink.Line{ink.T(ink.Warn, " (has invisible characters, written out here)")}
	}
	if !strings.Contains(text, "\n") {
		quoted := `"` + strings.ReplaceAll(text, `"`, `\"`) + `"` // so that nobody writes a second member into a text
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
