package hostconfig

import (
	"bytes"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// A span is a range of bytes of a file.
type span struct{ start, end int }

// lineEnd returns the offset after the line that contains at.
func (e *editor) lineEnd(at int) int {
	if newline := bytes.IndexByte(e.data[at:], '\n'); newline >= 0 {
		return at + newline + 1
	}
	return len(e.data)
}

// column returns the column of an entry in a YAML block: of its dash, or of its name. It returns -1
// if other text precedes the entry on its line.
func (e *editor) column(in *node, at int) int {
	line := e.data[e.lineStart(at):at]
	if in.kind == list {
		if trimmed := bytes.TrimRight(line, " \t"); len(trimmed) > 0 && trimmed[len(trimmed)-1] == '-' {
			line = trimmed[:len(trimmed)-1]
		} else {
			return -1
		}
	}
	if len(bytes.Trim(line, " ")) > 0 {
		return -1
	}
	return len(line)
}

// block returns the lines of an entry whose first line is indented by column: that line and the
// more deeply indented ones after it. known is an offset up to which the text belongs to the entry.
func (e *editor) block(start, column, known int) span {
	at := e.lineEnd(max(start, known-1))
	s := span{e.lineStart(start), at}
	for at < len(e.data) {
		next := e.lineEnd(at)
		line := bytes.TrimRight(e.data[at:next], " \t\r\n")
		text := bytes.TrimLeft(line, " ")
		switch deeper := len(line)-len(text) > column; {
		case len(text) > 0 && deeper:
			s.end = next
		case len(text) > 0 && text[0] != '#': // blank lines and comments belong to the entry only if more of it follows
			return s
		}
		at = next
	}
	return s
}

// knownEnd returns the largest known offset of a value and of the values in it.
func knownEnd(n *node) int {
	end := n.end
	for _, i := range n.items {
		end = max(end, knownEnd(i))
	}
	for _, m := range n.members {
		end = max(end, m.end, knownEnd(m.value))
	}
	return end
}

// A child is an entry of a YAML block with its lines.
type child struct {
	member
	span   span
	column int
}

func (e *editor) children(in *node) (list []child, err error) {
	members := in.members
	for _, i := range in.items {
		members = append(members, member{start: i.start, value: i})
	}
	for _, m := range members {
		c := child{member: m, column: e.column(in, m.start)}
		if c.column < 0 || len(list) > 0 && (c.column != list[0].column || m.start < list[len(list)-1].start) {
			return nil, errEdit
		}
		c.span = e.block(m.start, c.column, knownEnd(m.value))
		list = append(list, c)
	}
	return list, nil
}

// moveBlocks applies a move to YAML entries on their own lines.
func (e *editor) moveBlocks(m move) error {
	in := m.at.in
	children, err := e.children(in)
	if err != nil {
		return err
	}
	at, column := children[len(children)-1].span.end, children[0].column
	var stay []newMember
	before := -1 // number of entries in stay that precede the new ones; -1 if unknown
	for _, c := range children {
		if !m.taken(c.value) {
			stay = append(stay, newMember{name: c.name, value: c.value})
		} else if before < 0 {
			at, before = c.span.start, len(stay)
		}
	}
	if before < 0 {
		before = len(stay)
	}
	now := holding(in.kind, slices.Insert(stay, before, m.put...))
	text := e.blocks(m.put, in.kind, column)
	if len(now.items)+len(now.members) == 0 {
		text = strings.Repeat(" ", column+2) + encode(now, inYAML) + e.newline()
	}
	if text != "" && at == len(e.data) && e.lineStart(at) < at {
		text = e.newline() + text
	}
	e.replace(at, at, text)
	for _, c := range children {
		if m.taken(c.value) {
			e.replace(c.span.start, c.span.end, "")
		}
	}
	e.now[in] = now
	return nil
}

// blocks encodes entries as YAML on their own lines.
func (e *editor) blocks(put []newMember, k kind, column int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", column)
	for _, p := range put {
		if first := len(p.raw) - len(strings.TrimLeft(p.raw, " ")); p.raw != "" && first == column {
			b.WriteString(strings.TrimRight(p.raw, "\r\n") + e.newline())
			continue
		}
		inner, dash := pad+"  ", pad+"- "
		if k != list {
			b.WriteString(pad + encodeMember(p.name, "", inYAML) + e.newline())
			dash = inner
		}
		if p.value.kind != object || len(p.value.members) == 0 {
			b.WriteString(dash + encode(p.value, inYAML) + e.newline())
		}
		for i, m := range p.value.members {
			if i > 0 {
				dash = inner
			}
			b.WriteString(dash + encodeMember(m.name, encode(m.value, inYAML), inYAML) + e.newline())
		}
	}
	return strings.ReplaceAll(b.String(), ": "+e.newline(), ":"+e.newline())
}

// createBlock creates a place for entries in a YAML file. old is the empty value at that place, or
// nil.
func (e *editor) createBlock(m move, old *member) error {
	k, column := object, 0
	if m.at.path == "mcpServers" {
		k = list // Continue has a list of servers
	}
	if len(e.root.members) > 0 {
		if column = e.column(e.root, e.root.members[0].start); column < 0 {
			return errEdit
		}
	}
	if m.at.in != nil && m.at.in.kind == object {
		k = object
	}
	entries := holding(k, m.put)
	text := e.blocks(m.put, k, column+2)
	if old == nil {
		new := []newMember{{name: m.at.path, value: entries}}
		text = strings.Repeat(" ", column) + encodeMember(m.at.path, "", inYAML) + text
		text = strings.Replace(text, ": ", ":"+e.newline(), 1)
		if k == list && len(e.root.members) == 0 { // Continue requires these members in every file
			for _, pair := range [][2]string{{"schema", "v1"}, {"version", "1.0.0"}, {"name", "Junction"}} {
				new = append(new, newMember{name: pair[0], value: newText(pair[1])})
				text = pair[0] + ": " + pair[1] + e.newline() + text
			}
		}
		at := len(e.data)
		if e.lineStart(at) < at {
			text = e.newline() + text
		}
		e.setMembers(e.root, nil, new)
		e.replace(at, at, text)
		return nil
	}
	colon := bytes.IndexByte(e.data[old.start:], ':')
	if colon < 0 || old.value.text != "" && old.value.end == 0 || old.value.kind >= list && old.value.end == 0 {
		return errEdit
	}
	if old.value.end > old.value.start {
		e.replace(old.value.start, old.value.end, "")
	}
	at := e.lineEnd(max(old.start+colon, old.value.end-1))
	if e.lineStart(at) < at {
		text = e.newline() + text
	}
	e.setMembers(e.root, []*member{old}, []newMember{{name: old.name, value: entries}})
	e.replace(at, at, text)
	return nil
}

// moveTables applies a move to TOML tables. New tables are appended to the file.
func (e *editor) moveTables(m move) error {
	if strings.Contains(m.at.path, ".") {
		return errEdit // no known host nests its tables in this way
	}
	var old []*member
	for _, t := range m.take {
		o := m.at.in.get(t.Name)
		if o == nil {
			return errEdit
		}
		old = append(old, o)
		for _, s := range e.tables(m.at.path, t.Name) {
			for _, blank := range []string{"\n\r\n", "\n\n"} { // leave no blank line after the last table
				if s.end == len(e.data) && bytes.HasSuffix(e.data[:s.start], []byte(blank)) {
					s.start -= len(blank) - 1
				}
			}
			e.replace(s.start, s.end, "")
		}
	}
	if len(m.put) > 0 {
		if err := e.appendTables(m); err != nil {
			return err
		}
	}
	e.setMembers(m.at.in, old, m.put)
	if len(e.now[m.at.in].members) == 0 { // a table without its own header exists only through the tables in it
		if !slices.ContainsFunc(e.keys(), func(k key) bool { return k.isHeader && len(k.full) == 1 && k.full[0] == m.at.path }) {
			e.setMembers(e.root, []*member{e.root.get(m.at.path)}, nil)
		}
	}
	return nil
}

// appendTables appends new tables to the file, after one blank line.
func (e *editor) appendTables(m move) error {
	var b strings.Builder
	for _, p := range m.put {
		if b.WriteString(e.newline()); p.raw != "" {
			b.WriteString(strings.TrimRight(p.raw, "\r\n") + e.newline())
			continue
		}
		b.WriteString("[" + m.at.path + "." + strings.TrimSuffix(encodeMember(p.name, "", inTOML), " = ") + "]" + e.newline())
		for _, inner := range p.value.members {
			b.WriteString(encodeMember(inner.name, encode(inner.value, inTOML), inTOML) + e.newline())
		}
	}
	text := b.String()
	_, mark := withoutMark(e.data)
	end := len(e.data) // end of the text that is not removed
	removed := slices.SortedFunc(slices.Values(e.edits), func(a, b edit) int { return b.end - a.end })
	for _, ed := range removed {
		if ed.end >= end && ed.text == "" {
			end = max(mark, ed.start)
		}
	}
	switch lines := strings.ReplaceAll(string(e.data[mark:end]), "\r", ""); {
	case end == mark || strings.HasSuffix(lines, "\n\n"):
		text = strings.TrimPrefix(text, e.newline())
	case lines[len(lines)-1] != '\n':
		text = e.newline() + text
	}
	if m.at.in == nil {
		e.setMembers(e.root, nil, []newMember{{name: m.at.path, value: holding(object, m.put)}})
	}
	e.replace(len(e.data), len(e.data), text)
	return nil
}

// tables returns the spans of the TOML tables of an entry, including comments between them.
func (e *editor) tables(path, name string) (spans []span) {
	follows := false
	for _, k := range e.keys() {
		if len(k.full) < 2 || k.full[0] != path || k.full[1] != name {
			follows = false
			continue
		}
		s := span{e.lineStart(k.start), e.lineEnd(max(k.start, k.end-1))}
		if n := len(spans); follows {
			spans[n-1].end = s.end
		} else {
			spans = append(spans, s)
		}
		follows = true
	}
	_, mark := withoutMark(e.data)
	for i, s := range spans { // one of the blank lines around the span stays
		before := strings.ReplaceAll(string(e.data[mark:max(mark, s.start)]), "\r", "")
		if next := e.lineEnd(s.end); s.end < len(e.data) && len(bytes.TrimSpace(e.data[s.end:next])) == 0 && (before == "" || strings.HasSuffix(before, "\n\n")) {
			spans[i].end = next
		}
	}
	return spans
}

// A key is a key or a table header of a TOML file.
type key struct {
	full       []string
	start, end int
	isHeader   bool
}

func (e *editor) keys() (list []key) {
	rest, offset := withoutMark(e.data)
	var p unstable.Parser
	p.Reset(rest)
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		if n.Kind != unstable.KeyValue && n.Kind != unstable.Table && n.Kind != unstable.ArrayTable {
			continue
		}
		k := key{start: -1, isHeader: n.Kind != unstable.KeyValue}
		for names := n.Key(); names.Next(); {
			name := names.Node()
			if k.full = append(k.full, string(name.Data)); k.start < 0 {
				k.start = int(name.Raw.Offset) + offset
			}
			k.end = int(name.Raw.Offset) + int(name.Raw.Length) + offset
		}
		if k.isHeader {
			table = k.full
		} else {
			k.full = slices.Concat(table, k.full)
			k.start, k.end = int(n.Raw.Offset)+offset, int(n.Raw.Offset)+int(n.Raw.Length)+offset
		}
		list = append(list, k)
	}
	return list
}
