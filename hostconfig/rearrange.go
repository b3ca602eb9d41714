package hostconfig

import (
	"slices"
	"strings"
)

// A move removes entries from one place and adds others to it.
type move struct {
	at   place
	take []*Entry
	put  []newMember
}

// moves lists the moves of several places.
type moves []*move

// at returns the move for a place, which it adds if it is missing.
func (all *moves) at(p place) *move {
	for _, m := range *all {
		if m.at.scope == p.scope && m.at.path == p.path {
			return m
		}
	}
	*all = append(*all, &move{at: p})
	return (*all)[len(*all)-1]
}

// rearranged returns the file with the moves applied and all other bytes unchanged.
func (d *Document) rearranged(all moves) ([]byte, error) {
	e := newEditor(d.Data, d.syntax, d.root)
	for _, m := range all {
		if err := e.move(*m); err != nil {
			return nil, err
		}
	}
	return e.made()
}

func (e *editor) move(m move) error {
	if len(m.take) == 0 && len(m.put) == 0 {
		return nil
	}
	switch in := m.at.in; {
	case in == nil || in.kind < list || len(in.members)+len(in.items) == 0 && e.syntax == inYAML:
		if len(m.take) > 0 || len(m.put) == 0 {
			return errEdit
		}
		return e.create(m)
	case e.syntax == inTOML && in.lines:
		return e.moveTables(m)
	case in.lines:
		return e.moveBlocks(m)
	case in.kind == list:
		return errEdit // a YAML list in brackets
	default:
		return e.moveMembers(m)
	}
}

// create applies a move to a place that does not exist yet.
func (e *editor) create(m move) error {
	switch {
	case e.syntax == inTOML:
		return e.appendTables(m)
	case m.at.in != nil && e.root.get(m.at.path) == nil || m.at.scope != "":
		return errEdit // the place existed when the file was read
	}
	entries := holding(object, m.put)
	old := e.root.get(m.at.path)
	if e.syntax == inYAML && e.root.lines {
		return e.createBlock(m, old)
	}
	new := newMember{name: m.at.path, value: entries}
	if old == nil {
		e.setMembers(e.root, nil, []newMember{new})
		return e.insert(e.root, []newMember{new})
	}
	if old.value.end == 0 {
		return errEdit
	}
	e.setMembers(e.root, []*member{old}, []newMember{new})
	e.replace(old.value.start, old.value.end, e.pretty(entries, e.indentAt(old.start)))
	return nil
}

// moveMembers applies a move to an object in braces.
func (e *editor) moveMembers(m move) error {
	in := m.at.in
	if len(m.take) == 0 {
		e.setMembers(in, nil, m.put)
		return e.insert(in, m.put)
	}
	put := slices.Clone(m.put)
	for i := range put {
		if put[i].raw == "" && e.spread(in) {
			put[i].raw = e.pretty(put[i].value, e.indentOf(in))
		}
	}
	var names []string
	for _, t := range m.take {
		names = append(names, t.Name)
	}
	if _, is := in.duplicate(); is {
		return errEdit
	}
	return e.swap(swap{in, names, put})
}

// spread reports whether each member of an object in braces has, or will have, its own line.
func (e *editor) spread(in *node) bool {
	if e.syntax != inJSON {
		return false
	}
	if len(in.members) > 0 {
		return strings.Contains(string(e.blankBefore(in.members[0].start)), "\n")
	}
	return in == e.root || strings.Contains(string(e.data), "\n")
}

// insert adds members at the end of an object in braces.
func (e *editor) insert(in *node, put []newMember) error {
	if in.end == 0 && e.syntax != inJSON {
		return errEdit
	}
	indent, isSpread := e.indentOf(in), e.spread(in)
	var parts []string
	for _, m := range put {
		raw := m.raw
		if raw == "" && isSpread {
			raw = e.pretty(m.value, indent)
		} else if raw == "" {
			raw = e.raw(m)
		}
		parts = append(parts, encodeMember(m.name, raw, e.syntax))
	}
	between, outside := " ", ""
	if isSpread {
		between, outside = e.newline()+indent, e.newline()+e.indentAt(in.start)
	}
	text := strings.Join(parts, ","+between)
	switch {
	case in.end == 0: // the file is empty
		_, mark := withoutMark(e.data)
		e.replace(mark, len(e.data), "{"+between+text+outside+"}"+e.newline())
	case len(in.members) == 0:
		start := in.end - 1 - len(e.blankBefore(in.end-1))
		if !isSpread {
			between, outside = "", ""
		}
		e.replace(start, in.end-1, between+text+outside)
	default:
		last := slices.MaxFunc(in.members, func(a, b member) int { return a.start - b.start })
		if last.end == 0 {
			return errEdit
		}
		at, behind := last.end, ""
		if comma := e.comma(last.end); comma >= 0 && comma < in.end {
			at, behind = comma+1, ","
		} else {
			e.replace(last.end, last.end, ",")
		}
		if isSpread {
			at = e.behindComment(at)
		}
		e.replace(at, at, between+text+behind)
	}
	return nil
}

// behindComment returns the end of at's line if only a comment follows at on the line; otherwise it
// returns at.
func (e *editor) behindComment(at int) int {
	line, _, found := strings.Cut(string(e.data[at:]), "\n")
	line = strings.TrimSuffix(line, "\r")
	rest := strings.TrimSpace(line)
	if found && (rest == "" || strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*") && strings.Index(rest, "*/") == len(rest)-2) {
		return at + len(line)
	}
	return at
}

func (e *editor) newline() string {
	if strings.Contains(string(e.data), "\r\n") {
		return "\r\n"
	}
	return "\n"
}

// indentAt returns the white space at the beginning of the line that contains an offset.
func (e *editor) indentAt(at int) string {
	if at >= len(e.data) {
		return ""
	}
	line := string(e.data[min(e.lineStart(at), at):at])
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// indentOf returns the indentation of the members of an object in braces.
func (e *editor) indentOf(in *node) string {
	if len(in.members) > 0 {
		return e.indentAt(in.members[0].start)
	}
	return e.indentAt(in.start) + e.unit()
}

// unit returns the additional indentation of each level in the file.
func (e *editor) unit() string {
	if len(e.root.members) > 0 && !e.root.lines {
		if outer, inner := e.indentAt(e.root.start), e.indentAt(e.root.members[0].start); len(inner) > len(outer) && strings.HasPrefix(inner, outer) {
			return inner[len(outer):]
		}
	}
	return "  "
}

// pretty encodes a value. In JSON, each member of an object gets its own line.
func (e *editor) pretty(n *node, indent string) string {
	if n.kind != object || len(n.members) == 0 || e.syntax != inJSON {
		return encode(n, e.syntax)
	}
	var parts []string
	inner := indent + e.unit()
	for _, m := range n.members {
		parts = append(parts, inner+encodeMember(m.name, e.pretty(m.value, inner), inJSON))
	}
	return "{" + e.newline() + strings.Join(parts, ","+e.newline()) + e.newline() + indent + "}"
}

// taken reports whether the move removes an entry.
func (m move) taken(v *node) bool {
	return slices.ContainsFunc(m.take, func(e *Entry) bool { return e.full == v })
}
