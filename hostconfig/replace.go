package hostconfig

import (
	"slices"
	"strings"
)

// A Program is the new command of a replaced entry. If the entry had an address, the program reads
// the address from its environment: see [RemoteOf].
type Program struct {
	Command string
	Args    []string
}

// A Change describes how an entry was changed, so that the change can be undone.
type Change struct {
	Name  string  `json:"name,omitempty"` // empty if entries were only removed
	Scope string  `json:"scope,omitempty"`
	Path  string  `json:"path,omitempty"`
	Swaps []Swap  `json:"swaps,omitempty"`
	Took  []Taken `json:"took,omitempty"`  // entries that the new entry replaced
	Added bool    `json:"added,omitempty"` // whether the entry did not exist before
}

// A Taken is a removed entry.
type Taken struct {
	Name  string `json:"name"`
	Scope string `json:"scope,omitempty"`
	Path  string `json:"path"`
}

// A Swap lists members of an entry and the members that replaced them.
type Swap struct {
	Old, New []string
	Outer    bool `json:",omitempty"` // the members are in the entry itself, while its command is in an inner object
}

// Replace returns the file with the programs of some entries replaced. All other bytes stay the
// same. If by has only one entry, the error is the reason why that entry cannot be replaced.
func (d *Document) Replace(by map[*Entry]Program) (after []byte, changes []Change, err error) {
	var all []swap
	for _, e := range d.Entries {
		p, is := by[e]
		if !is {
			continue
		}
		if e.Problem != nil {
			return nil, nil, e.Problem
		}
		change := Change{Name: e.Name, Scope: e.Scope, Path: e.path}
		swaps := e.swaps(p)
		for _, s := range swaps {
			named := Swap{Outer: s.in == e.full && e.at != e.full}
			for _, name := range s.old {
				if s.in.get(name) != nil {
					named.Old = append(named.Old, name)
				}
			}
			for _, m := range s.new {
				named.New = append(named.New, m.name)
			}
			change.Swaps = append(change.Swaps, named)
		}
		changes, all = append(changes, change), append(all, swaps...)
	}
	if after, err = change(d.Data, d.syntax, d.root, all); err != nil {
		return nil, nil, err
	}
	return after, changes, nil
}

// swaps returns the swaps that make the entry start a program.
func (e *Entry) swaps(p Program) (swaps []swap) {
	put := func(in *node, old []string, new ...newMember) {
		swaps = append(swaps, swap{in, old, new})
	}
	command, args := newMember{name: e.n.command, value: newText(p.Command)}, newMember{name: e.n.args, value: newTexts(p.Args)}
	if e.n.args == "" {
		command.value = newTexts(append([]string{p.Command}, p.Args...))
	}
	if e.URL == "" {
		switch {
		case e.n.args == "":
			put(e.at, []string{e.n.command}, command)
		case e.at.get(e.n.args) == nil:
			put(e.at, []string{e.n.command}, args, command)
		default:
			put(e.at, []string{e.n.command}, command)
			put(e.at, []string{e.n.args}, args)
		}
		return swaps
	}
	env := &node{kind: object}
	if m := e.at.get(e.n.env); m != nil && m.value.kind == object {
		env.members = slices.Clone(m.value.members)
	}
	variables, pass, _ := e.remote() // an error of remote is the entry's Problem
	for _, v := range variables {
		env.members = slices.DeleteFunc(env.members, func(m member) bool { return m.name == v.Name })
		env.add(v.Name, newText(v.Value))
	}
	envs := newMember{name: e.n.env, value: env}
	kind := "stdio"
	for _, pair := range e.host.form.command {
		if of, is := strings.CutPrefix(pair, "type="); is {
			kind = of
		}
	}
	for _, name := range []string{"type", "transport"} {
		if e.at.get(name) != nil {
			put(e.at, []string{name}, newMember{name: name, value: newText(kind)})
		}
	}
	// Existing members for a command are removed, such as the empty list that Goose writes.
	instead := []newMember{command, args}
	if e.n.args == "" {
		instead = instead[:1]
	}
	old := slices.Concat(e.n.urls, []string{e.n.command, e.n.args})
	if len(pass) > 0 { // for hosts that do not pass their environment to programs
		instead = append(instead, newMember{name: "env_vars", value: newTexts(pass)})
	}
	headers := append(slices.Clone(e.n.headers), e.n.env)
	if slices.ContainsFunc(headers, func(name string) bool { return e.at.get(name) != nil }) {
		put(e.at, headers, envs)
	} else {
		instead = append(instead, envs)
	}
	put(e.at, old, instead...)
	return swaps
}

// changed returns the entry that a change names, or nil.
func (d *Document) changed(c Change) *Entry {
	i := slices.IndexFunc(d.Entries, func(e *Entry) bool { return e.Name == c.Name && e.Scope == c.Scope && e.path == c.Path })
	if i < 0 {
		return nil
	}
	return d.Entries[i]
}

func (e *Entry) in(s Swap) *node {
	if e == nil {
		return nil
	}
	if s.Outer {
		return e.full
	}
	return e.at
}

// restored undoes Replace in a file that was changed since. left names the entries that were
// changed, renamed or removed in the meantime; they stay as they are.
func restored(before, after, now *Document, changes []Change) (data []byte, left []string, err error) {
	var all []swap
	for _, c := range changes {
		if c.Added || len(c.Took) > 0 {
			return disconnected(before, now, c)
		}
		was, ours, is := before.changed(c), after.changed(c), now.changed(c)
		if is == nil { // the entry was removed, or renamed and still starts the program
			left = append(left, c.Name)
			continue
		}
		var swaps []swap
		untouched, asBefore := true, true
		for _, s := range c.Swaps {
			inWas, inOurs, inIs := was.in(s), ours.in(s), is.in(s)
			for _, name := range slices.Concat(s.Old, s.New) {
				untouched = untouched && sameMember(inOurs, inIs, name)
				asBefore = asBefore && sameMember(inWas, inIs, name)
			}
			back := swap{in: inIs, old: s.New}
			for _, name := range s.Old {
				m := inWas.get(name)
				if m == nil {
					continue
				}
				n := newMember{name: name, value: m.value}
				if m.value.end > m.value.start && !m.table {
					n.raw = string(before.Data[m.value.start:m.value.end])
				}
				back.new = append(back.new, n)
			}
			swaps = append(swaps, back)
		}
		if untouched {
			if _, err := change(now.Data, now.syntax, now.root, swaps); err == nil {
				all = append(all, swaps...)
				continue
			}
		}
		if !asBefore {
			left = append(left, c.Name)
		}
	}
	data, err = change(now.Data, now.syntax, now.root, all)
	return data, left, err
}

func sameMember(a, b *node, name string) bool {
	x, y := a.get(name), b.get(name)
	if x == nil || y == nil {
		return x == y
	}
	return same(x.value, y.value)
}
