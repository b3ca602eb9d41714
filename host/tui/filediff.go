package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// fileChange is what a call would change in a file, if all that it has is the path of a file and
// a whole text for it, which it may overwrite, and the file can be read; else nil. What the server does with them nobody
// knows, so this is shown in addition to the arguments.
func fileChange(card *host.Card, onDisk func(path string) (text string, ok bool)) *edit {
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
	if members != 2 || e.after.name == "" || !filepath.IsAbs(e.before.name) { // where another path begins only the server knows
		return nil
	}
	var ok bool
	if e.before.text, ok = onDisk(e.before.name); !ok {
		return nil
	}
	return &e
}

// stays is how many lines are shown on either side of one that changes.
const stays = 3

// hunks show what changes, with a few lines around it, and nothing where that cannot be shown. All
// of the new text stands among the arguments.
func (e *edit) hunks(width int) []ink.Line {
	before, beforeEnds := textLines(e.before.text)
	after, afterEnds := textLines(e.after.text)
	rows, ok := compared(before, after)
	if !ok || hasInvisible(e.before.text) || hasInvisible(e.after.text) {
		return nil
	}
	head := ink.Line{ink.T(ink.Accent, oneLine(e.before.name, 400)),
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
