package hostconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var (
	// ErrNoEntry reports that a file has no entry with the given name.
	ErrNoEntry = errors.New("there is no such entry")
	// ErrDuplicate reports that a file already has an entry with the given name.
	ErrDuplicate = errors.New("there is already a server with that name")
)

// A NewServer is an entry to write into a file of Junction's. It is either a program with its
// arguments or an address.
type NewServer struct {
	Command string
	Args    []string
	Env     map[string]string
	URL     string
	SSE     bool // whether the address supports only HTTP+SSE
	Headers map[string]string
}

// AddServer returns the content of a file of Junction's with one more entry at the end. All other
// bytes stay the same. If the file already has an entry with the name, the error is [ErrDuplicate].
func AddServer(data []byte, name string, s NewServer) ([]byte, error) {
	d, err := document(Host{}, "", data)
	if err != nil {
		return nil, err
	}
	if d.own(name) != nil {
		return nil, fmt.Errorf("server %q: %w", name, ErrDuplicate)
	}
	c := &Carried{Name: name, Command: s.Command, Args: s.Args, URL: s.URL, Env: sorted(s.Env), Headers: sorted(s.Headers)}
	switch {
	case s.SSE:
		c.Type = "sse"
	case s.URL != "":
		c.Type = "http"
	}
	return d.Add([]*Carried{c})
}

func sorted(values map[string]string) (list []Variable) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		list = append(list, Variable{name, values[name]})
	}
	return list
}

// RemoveServer returns the content of a file of Junction's without one entry. Comments stay.
func RemoveServer(data []byte, name string) ([]byte, error) {
	d, e, err := entryOf(data, name)
	if err != nil {
		return nil, err
	}
	data, _, err = d.Connect(nil, []*Entry{e})
	return data, err
}

// own returns the entry with the name that applies to all projects, or nil.
func (d *Document) own(name string) *Entry {
	if i := slices.IndexFunc(d.Entries, func(e *Entry) bool { return e.Name == name && e.Scope == "" }); i >= 0 {
		return d.Entries[i]
	}
	return nil
}

func entryOf(data []byte, name string) (*Document, *Entry, error) {
	d, err := document(Host{}, "", data)
	if err != nil {
		return nil, nil, err
	}
	if e := d.own(name); e != nil {
		return d, e, nil
	}
	return nil, nil, fmt.Errorf("server %q: %w", name, ErrNoEntry)
}

// ReplaceWords returns the content of a file of Junction's with the first words of a server's
// command line replaced. The error is [ErrNoEntry] if the server does not exist or its command line
// does not begin with the old words.
func ReplaceWords(data []byte, name string, old, now []string) ([]byte, error) {
	d, e, err := entryOf(data, name)
	if err != nil {
		return nil, err
	}
	words := append([]string{e.Command}, e.Args...)
	if e.fault != nil || len(old) == 0 || len(now) == 0 || len(words) < len(old) || !slices.Equal(words[:len(old)], old) {
		return nil, fmt.Errorf("server %q does not begin with %q: %w", name, old, ErrNoEntry)
	}
	if len(old) != len(now) {
		words = slices.Concat(now, words[len(old):])
		return change(d.Data, d.syntax, d.root, e.swaps(Program{Command: words[0], Args: words[1:]}))
	}
	edits := newEditor(d.Data, d.syntax, d.root)
	written := []*node{e.at.get(e.n.command).value}
	if args := e.at.get(e.n.args); args != nil {
		written = append(written, args.value.items...)
	}
	for i, word := range now { // each word on its own, so that comments between them stay
		if old[i] != word {
			edits.set(written[i], newText(word), quoted(word))
		}
	}
	return edits.made()
}

// SetMember returns the content of a file of Junction's with a member set to a JSON value. path
// holds the names of the objects that lead to the member; missing ones are created. A nil value
// removes the member. All other bytes stay the same.
func SetMember(data []byte, path []string, value json.RawMessage) ([]byte, error) {
	d, err := document(Host{}, "", data)
	if err != nil {
		return nil, err
	}
	e, in := newEditor(d.Data, d.syntax, d.root), d.root
	var what *node
	if value != nil {
		if what, err = parseJSON(value); err != nil {
			return nil, err
		}
	}
	for i, name := range path {
		if in.kind != object {
			return nil, fmt.Errorf("%s is not an object, so %q cannot be written into it", strings.Join(path[:i], "."), name)
		}
		m := in.get(name)
		switch isLast := i == len(path)-1; {
		case m == nil && what == nil:
			return data, nil
		case m == nil:
			for _, inner := range slices.Backward(path[i+1:]) {
				what = &node{kind: object, members: []member{{name: inner, value: what}}}
			}
			put := []newMember{{name: name, value: what}}
			e.setMembers(in, nil, put)
			if err = e.insert(in, put); err != nil {
				return nil, err
			}
			return e.made()
		case isLast && what == nil:
			if err = e.swap(swap{in: in, old: []string{name}}); err != nil {
				return nil, err
			}
		case isLast && e.items(m.value, what):
		case isLast && e.spread(in):
			e.set(m.value, what, e.pretty(what, e.indentAt(m.start)))
		case isLast:
			e.set(m.value, what, encode(what, inJSON))
		default:
			in = m.value
		}
	}
	return e.made()
}

// items changes a JSON list by appending or removing items. It keeps the text between the other
// items, where users write comments. It returns false, without a change, if the new list differs in
// any other way.
func (e *editor) items(in, now *node) bool {
	if in.kind != list || now.kind != list || e.syntax != inJSON {
		return false
	}
	view := &node{start: in.start, end: in.end}
	for _, item := range in.items {
		view.members = append(view.members, member{start: item.start, end: item.end, value: item})
	}
	var removed []*member
	stay := 0
	for i := range view.members {
		if stay < len(now.items) && same(view.members[i].value, now.items[stay]) {
			stay++
		} else {
			removed = append(removed, &view.members[i])
		}
	}
	more := now.items[stay:]
	if stay == 0 || len(removed) > 0 && len(more) > 0 {
		return false
	}
	if len(more) > 0 && !e.append(in, more) {
		return false
	}
	for _, m := range removed {
		e.remove(view, m, removed)
	}
	e.now[in] = now
	return true
}

// append writes items after the last item of a list and after that item's comment.
func (e *editor) append(in *node, more []*node) bool {
	last := in.items[len(in.items)-1]
	end := len(bytes.TrimRight(e.data[:in.end-1], " \t\r\n"))
	separator := " "
	if blank := e.blankBefore(last.start); bytes.IndexByte(blank, '\n') >= 0 {
		separator = string(blank[bytes.LastIndexByte(blank, '\n'):])
		if bytes.Contains(blank, []byte("\r\n")) {
			separator = "\r" + separator
		}
	} else if bytes.Contains(e.data[last.end:end], []byte("//")) { // the items would become part of the comment
		return false
	}
	text := ""
	for i, item := range more {
		if i > 0 {
			text += ","
		}
		text += separator + encode(item, inJSON)
	}
	if e.comma(last.end) >= 0 {
		text += ","
	} else {
		e.replace(last.end, last.end, ",")
	}
	e.replace(end, end, text)
	return true
}
