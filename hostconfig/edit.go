package hostconfig

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A newMember is a member to write.
type newMember struct {
	name  string
	value *node
	raw   string // text of the value as a file has it, or whole lines with name and value in YAML or TOML; empty if unknown
}

// holding returns an object or a list with the given members.
func holding(k kind, list []newMember) *node {
	n := &node{kind: k}
	for _, m := range list {
		n.hold(m.name, m.value)
	}
	return n
}

// A swap replaces members of an object.
type swap struct {
	in  *node
	old []string // names of the replaced members; at least one exists
	new []newMember
}

// An edit replaces a range of bytes.
type edit struct {
	start, end int
	text       string
}

// An editor collects the changes of one file.
type editor struct {
	data   []byte
	syntax syntax
	root   *node
	edits  []edit
	now    map[*node]*node // intended values, by their old nodes
}

func newEditor(data []byte, s syntax, root *node) *editor {
	return &editor{data: data, syntax: s, root: root, now: map[*node]*node{}}
}

// change returns the file with the members replaced and all other bytes unchanged.
func change(data []byte, s syntax, root *node, swaps []swap) ([]byte, error) {
	e := newEditor(data, s, root)
	for _, sw := range swaps {
		if err := e.swap(sw); err != nil {
			return nil, err
		}
	}
	return e.made()
}

// made returns the file with all edits. It returns an error unless the result parses to the
// intended values.
func (e *editor) made() ([]byte, error) {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return a.start - b.start })
	var out bytes.Buffer
	done, removing := 0, false
	for _, ed := range e.edits {
		if ed.start < done && !(removing && ed.text == "") { // ranges that are only removed may overlap
			return nil, errEdit
		}
		out.Write(e.data[done:max(done, ed.start)])
		out.WriteString(ed.text)
		done, removing = max(done, ed.end), ed.text == ""
	}
	out.Write(e.data[done:])
	made, err := parse(out.Bytes(), e.syntax)
	if err != nil || !same(made, replaced(e.root, e.now)) {
		return nil, errEdit
	}
	return out.Bytes(), nil
}

var errEdit = errors.New("junction cannot change it without changing other text; write each of its members on its own line")

func (e *editor) swap(sw swap) error {
	var old []*member
	for _, name := range sw.old {
		m := sw.in.get(name)
		if m == nil {
			continue
		}
		if m.end == 0 || m.value.end == 0 && !m.table {
			return fmt.Errorf("junction cannot change %q as it is written; write its value on one line, without anchors, tables in it, or dots in its name", name)
		}
		old = append(old, m)
	}
	if len(old) == 0 {
		return errEdit
	}
	slices.SortFunc(old, func(a, b *member) int { return a.start - b.start })
	e.setMembers(sw.in, old, sw.new)
	if len(sw.new) == 0 {
		for _, m := range old {
			e.remove(sw.in, m, old)
		}
		return nil
	}
	stays := e.indexToReplace(sw.in, old, sw.new)
	m := old[stays]
	if i := indexOf(sw.new, m); i >= 0 { // keep its name and the comment after it; put the other members before it
		e.replace(m.value.start, m.value.end, e.indent(m)+e.raw(sw.new[i]))
		if rest := slices.Delete(slices.Clone(sw.new), i, i+1); len(rest) > 0 {
			e.replace(m.start, m.start, e.written(sw.in, m, rest)+e.separator(sw.in, m))
		}
	} else {
		e.replace(m.start, m.end, e.written(sw.in, m, sw.new))
	}
	removed := slices.Delete(slices.Clone(old), stays, stays+1)
	for _, m := range removed {
		e.remove(sw.in, m, removed)
	}
	return nil
}

// setMembers records in e.now the members that an object will have.
func (e *editor) setMembers(in *node, old []*member, now []newMember) {
	members := in.members
	if before := e.now[in]; before != nil {
		members = before.members
	}
	members = slices.DeleteFunc(slices.Clone(members), func(m member) bool {
		return slices.ContainsFunc(old, func(o *member) bool { return o.name == m.name })
	})
	for _, m := range now {
		members = append(members, member{name: m.name, value: m.value})
	}
	e.now[in] = &node{kind: object, members: members}
}

// indexToReplace returns the index of the old member that the new members replace in place. It is
// an old member whose name a new member has. Without one, it is the last old member, because a
// comment may follow it. If the first old member follows a YAML dash, removing it moves the text
// after it to the dash. In that case indexToReplace chooses a later member only if no comment is
// between them, and otherwise the first.
func (e *editor) indexToReplace(in *node, old []*member, now []newMember) int {
	first, last := old[0], 0
	isDashed := in.lines && len(bytes.TrimSpace(e.data[e.lineStart(first.start):first.start])) > 0
	for i, m := range old {
		if indexOf(now, m) >= 0 && (!isDashed || i == 0 || bytes.IndexByte(e.data[first.end:m.start], '#') < 0) {
			return i
		}
		if in.lines && !isDashed && !m.table {
			last = i
		}
	}
	return last
}

// indexOf returns the index in list of the new value of m, or -1 if m must be written completely.
func indexOf(list []newMember, m *member) int {
	return slices.IndexFunc(list, func(n newMember) bool { return n.name == m.name && !m.table })
}

// set replaces the value v by now, which text encodes.
func (e *editor) set(v, now *node, text string) {
	e.now[v] = now
	e.replace(v.start, v.end, text)
}

func (e *editor) replace(start, end int, text string) {
	e.edits = append(e.edits, edit{start, end, text})
}

// raw returns the text of a new member's value.
func (e *editor) raw(m newMember) string {
	if isBlock := strings.ContainsAny(m.raw, "\r\n") || m.value.kind >= list && m.raw != "" && m.raw[0] != '[' && m.raw[0] != '{'; m.raw != "" && (e.syntax != inYAML || !isBlock) {
		return m.raw // a YAML block cannot be copied, because it would need the indentation of its new place
	}
	return encode(m.value, e.syntax)
}

// indent returns additional indentation for a YAML value that begins a line. Only a list may begin
// in the same column as its name.
func (e *editor) indent(m *member) string {
	line := e.data[e.lineStart(m.value.start):m.value.start]
	if e.syntax == inYAML && len(bytes.TrimSpace(line)) == 0 && len(line) <= m.start-e.lineStart(m.start) {
		return "  "
	}
	return ""
}

// written returns the text of the members that replace the member where.
func (e *editor) written(in *node, where *member, list []newMember) string {
	var parts []string
	separator := e.separator(in, where)
	for _, m := range list {
		if where.table {
			part := []string{"[" + where.prefix + strings.TrimSuffix(encodeMember(m.name, "", inTOML), " = ") + "]"}
			for _, inner := range m.value.members {
				part = append(part, encodeMember(inner.name, encode(inner.value, e.syntax), e.syntax))
			}
			parts = append(parts, strings.Join(part, separator))
			continue
		}
		parts = append(parts, where.prefix+encodeMember(m.name, e.raw(m), e.syntax))
	}
	return strings.Join(parts, separator)
}

// separator returns the text to put between two members.
func (e *editor) separator(in *node, where *member) string {
	blank := e.blankBefore(where.start)
	if !in.lines {
		if newline := bytes.LastIndexAny(blank, "\n"); newline < 0 {
			return ", "
		} else if newline > 0 && blank[newline-1] == '\r' {
			return "," + string(blank[newline-1:])
		} else {
			return "," + string(blank[newline:])
		}
	}
	lineStart := e.lineStart(where.start)
	line := string(e.data[lineStart:where.start])
	if e.syntax == inYAML { // members after a dash begin in the same column
		line = strings.Repeat(" ", len([]rune(line)))
	} else if strings.TrimSpace(line) != "" {
		line = ""
	}
	return e.newline() + line
}

func (e *editor) lineStart(at int) int {
	start := bytes.LastIndexByte(e.data[:at], '\n') + 1
	if start == 0 && bytes.HasPrefix(e.data, []byte(byteOrderMark)) {
		return len(byteOrderMark)
	}
	return start
}

// blankBefore returns the white space before an offset.
func (e *editor) blankBefore(at int) []byte {
	return e.data[len(bytes.TrimRight(e.data[:at], " \t\r\n")):at]
}

// remove removes m, one of the members removed, and keeps the text around it.
func (e *editor) remove(in *node, m *member, removed []*member) {
	if in.lines {
		e.removeLines(in, m, removed)
		return
	}
	var before *member // the last member before m that stays
	isLast, free := true, in.start+1
	for i := range in.members {
		o := &in.members[i]
		if o.start < m.start {
			free = max(free, o.end)
		}
		switch {
		case slices.Contains(removed, o):
		case o.start > m.start:
			isLast = false
		case before == nil || o.start > before.start:
			before = o
		}
	}
	start, end, comma := m.start, m.end, e.comma(m.end)
	lineStart := e.lineStart(start)
	if comma >= 0 && len(bytes.TrimSpace(e.data[end:comma])) == 0 {
		end = comma + 1
	} else if comma >= 0 { // a comment before the comma stays
		e.replace(comma, comma+1, "")
	}
	blanks := len(e.data) - end - len(bytes.TrimLeft(e.data[end:], " \t\r"))
	isAlone := len(bytes.TrimSpace(e.data[lineStart:start])) == 0
	if before := start - len(e.blankBefore(start)); len(in.members) == 1 && before == in.start+1 && len(bytes.TrimSpace(e.data[end:in.end-1])) == 0 {
		start, end = before, in.end-1
	} else if isAlone && e.data[end+blanks] == '\n' {
		start, end = lineStart, end+blanks+1
	} else if isLast && !bytes.ContainsAny(e.data[free:max(free, before)], "/#") {
		start = before // there is no comment before m that could end there
	} else if isAlone && e.data[end+blanks] == '/' { // a comment after m takes its place
		end += blanks
	} else if end > m.end {
		if next := len(e.data) - len(bytes.TrimLeft(e.data[end:], " \t\r\n")); next < len(e.data) && strings.IndexByte("}/#", e.data[next]) < 0 {
			end = next // but not if other text follows on the line
		}
	}
	e.replace(start, end, "")
	if comma < 0 && before != nil { // no member follows, so the comma before m is removed
		if comma = e.comma(before.end); comma >= 0 {
			e.replace(comma, comma+1, "")
		}
	}
}

// removeLines is like remove, for members on their own lines.
func (e *editor) removeLines(in *node, m *member, removed []*member) {
	start, end := e.lineStart(m.start), e.lineEnd(m.end)
	if len(bytes.TrimSpace(e.data[start:m.start])) > 0 { // m follows a dash, so the next member moves there
		start, end = m.start, m.end
		for i := len(in.members) - 1; i >= 0; i-- {
			if o := &in.members[i]; o.start > m.start && !slices.Contains(removed, o) {
				end = o.start
			}
		}
	}
	e.replace(start, end, "")
}

// comma returns the offset of the comma after a value, or -1. Blanks and comments may precede the
// comma.
func (e *editor) comma(at int) int {
	for at < len(e.data) {
		rest := e.data[at:]
		switch {
		case rest[0] == ',':
			return at
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			at++
		case e.syntax == inJSON && bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return -1
			}
			at += end + 4
		case e.syntax == inJSON && bytes.HasPrefix(rest, []byte("//")), e.syntax != inJSON && rest[0] == '#':
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				return -1
			}
			at += end
		default:
			return -1
		}
	}
	return -1
}
