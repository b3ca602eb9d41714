package hostconfig

import (
	"fmt"
	"slices"
	"strings"
)

// OwnName is the name of Junction's entry in a host's file.
const OwnName = "junction"

// An Endpoint is the program or address that replaces a host's servers when Junction takes their
// place.
type Endpoint struct {
	Command string
	Args    []string
	URL     string // used in place of a command if not empty
	// Pass lists variables of the host's environment that the program needs. Many hosts pass none
	// unless an entry names them.
	Pass []string
}

// entry returns the entry for the endpoint in the form of the host's files.
func (h Host) entry(to Endpoint) (*node, error) {
	n := &node{kind: object}
	names, more := h.names, h.form.command
	if names.command == "" {
		names = defaultNames
	}
	if to.URL != "" {
		if more = h.form.url; h.form.urlName == "" {
			return nil, fmt.Errorf("%s only starts programs; connect it without --url", h.Name)
		}
	}
	for _, pair := range more {
		name, value, _ := strings.Cut(pair, "=")
		v := newText(value)
		if value == "true" {
			v.kind = scalar
		} else if item, isList := strings.CutPrefix(value, "["); isList {
			v = newTexts([]string{strings.TrimSuffix(item, "]")})
		}
		n.add(name, v)
	}
	if to.URL != "" {
		n.add(h.form.urlName, newText(to.URL))
		return n, nil
	}
	if names.args == "" {
		n.add(names.command, newTexts(append([]string{to.Command}, to.Args...)))
	} else {
		n.add(names.command, newText(to.Command))
		n.add(names.args, newTexts(to.Args))
	}
	if len(to.Pass) == 0 {
		return n, nil
	}
	if h.ID == "codex" {
		n.add("env_vars", newTexts(to.Pass))
		return n, nil
	}
	pattern := h.dialect().pass
	env := &node{kind: object}
	for _, name := range to.Pass {
		env.add(name, newText(fmt.Sprintf(pattern, name)))
	}
	if pattern != "" { // in files without variables no entry can have needed one
		n.add(names.env, env)
	}
	return n, nil
}

// Connect returns the file with one entry for an endpoint in place of the entries in instead, which
// may be empty. If to is nil, it only removes entries. The other bytes stay the same.
func (d *Document) Connect(to *Endpoint, instead []*Entry) (after []byte, c Change, err error) {
	var all moves
	if to != nil {
		home := d.home()
		c = Change{Name: OwnName, Path: home.path, Added: true}
		for _, e := range d.Entries {
			if e.Name == OwnName && e.Scope == "" && e.path == home.path && !slices.Contains(instead, e) {
				return nil, c, fmt.Errorf("%s: it has a server called %q already; rename it", d.Path, OwnName)
			}
		}
		value, err := d.host.entry(*to)
		if err != nil {
			return nil, c, err
		}
		m := all.at(home)
		m.put = append(m.put, newMember{name: OwnName, value: value})
	}
	for _, e := range instead {
		m := all.at(d.place(e.Scope, e.path))
		m.take = append(m.take, e)
		c.Took = append(c.Took, Taken{e.Name, e.Scope, e.path})
	}
	after, err = d.rearranged(all)
	return after, c, err
}

// home returns the place where a new entry goes.
func (d *Document) home() place {
	for _, p := range d.places {
		if p.scope == "" {
			return p
		}
	}
	root := d.host.root
	if root == "" {
		root = "mcpServers"
	}
	return place{path: root}
}

func (d *Document) place(scope, path string) place {
	for _, p := range d.places {
		if p.scope == scope && p.path == path {
			return p
		}
	}
	return place{scope: scope, path: path}
}

// disconnected undoes Connect in a file that was changed since: it restores the removed entries and
// removes Junction's. left names entries that the file has again with other content.
func disconnected(before, now *Document, c Change) (data []byte, left []string, err error) {
	for _, asWritten := range []bool{true, false} {
		var all moves
		left = nil
		if ours := now.entryAt(Taken{c.Name, c.Scope, c.Path}); c.Added && ours != nil {
			m := all.at(now.place(c.Scope, c.Path))
			m.take = append(m.take, ours)
		}
		for _, t := range c.Took {
			was, is := before.entryAt(t), now.entryAt(t)
			if is != nil && !(c.Added && t == Taken{c.Name, c.Scope, c.Path}) {
				if was == nil || !same(was.full, is.full) {
					left = append(left, t.Name)
				}
				continue
			}
			if was == nil {
				continue
			}
			p := newMember{name: t.Name, value: was.full}
			if asWritten {
				p.raw = before.written(was)
			}
			m := all.at(now.place(t.Scope, t.Path))
			m.put = append(m.put, p)
		}
		if data, err = now.rearranged(all); err == nil {
			return data, left, nil
		}
	}
	return nil, nil, err
}

func (d *Document) entryAt(t Taken) *Entry {
	return d.changed(Change{Name: t.Name, Scope: t.Scope, Path: t.Path})
}

// written returns the text of an entry, or "" if its range of bytes is unknown.
func (d *Document) written(entry *Entry) string {
	e := newEditor(d.Data, d.syntax, d.root)
	in := d.place(entry.Scope, entry.path).in
	switch {
	case in == nil:
		return ""
	case d.syntax == inTOML && in.lines:
		var b strings.Builder
		for _, s := range e.tables(entry.path, entry.Name) {
			b.WriteString(strings.TrimRight(string(d.Data[s.start:s.end]), "\r\n") + e.newline())
		}
		return b.String()
	case in.lines:
		children, err := e.children(in)
		for _, c := range children {
			if err == nil && c.value == entry.full {
				return string(d.Data[c.span.start:c.span.end])
			}
		}
		return ""
	case entry.full.end > entry.full.start && d.syntax == inJSON:
		return string(d.Data[entry.full.start:entry.full.end])
	}
	return ""
}
