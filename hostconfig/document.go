package hostconfig

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/redact"
)

// maxEntries is the maximum number of entries in a file.
const maxEntries = 1_000

// A Document is a parsed configuration file. It is immutable.
type Document struct {
	Path    string
	Data    []byte
	Entries []*Entry // in the order of the file

	host    Host
	syntax  syntax
	names   names
	root    *node
	places  []place
	missing bool // whether the file does not exist yet
}

// A place is a position in a file that can contain servers.
type place struct {
	scope, path string
	in          *node // the object or list at path; a scalar or nil if the file has neither
}

// An Entry is a server of a Document.
type Entry struct {
	Name  string
	Scope string // project of the entry, in a file with several projects; otherwise empty
	// Command and Args start the server, or URL is its address. Variables of the host in them are
	// not replaced.
	Command string
	Args    []string
	URL     string
	// Problem is the reason why the entry cannot be replaced, or nil.
	Problem error
	// Warning describes what changes for the user if the entry is replaced. It may be empty.
	Warning string

	fault    error // contradiction between members of the entry, or nil
	host     Host
	disabled bool // whether another member of the file disables the entry

	at   *node // object with the command or the address
	full *node // the whole entry
	path string
	n    names
}

// Read reads a configuration file of a host.
func Read(h Host, path string) (*Document, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return Parse(h, path, data)
}

// Missing returns the document for a file that does not exist yet.
func Missing(h Host, path string) (*Document, error) {
	d, err := Parse(h, path, nil)
	if err == nil {
		d.missing = true
	}
	return d, err
}

// Parse is like Read, but gets the content of the file. path determines the syntax. It is no error
// if the file has no servers.
func Parse(h Host, path string, data []byte) (*Document, error) {
	d, err := document(h, path, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

func document(h Host, path string, data []byte) (*Document, error) {
	syntax, _ := syntaxOf(path)
	root, err := parse(data, syntax)
	if syntax == inJSON && len(bytes.TrimSpace(bytes.TrimPrefix(data, []byte(byteOrderMark)))) == 0 {
		root, err = &node{kind: object}, nil // hosts write empty files
	}
	if err == nil && root.kind != object {
		err = errNotObject
	}
	if err != nil {
		return nil, err
	}
	d := &Document{Path: path, Data: data, host: h, syntax: syntax, root: root, names: h.names}
	if d.names.command == "" {
		d.names = defaultNames
	}
	paths := h.paths
	if len(paths) == 0 {
		paths = Places()
	}
	for _, path := range paths {
		err = errors.Join(err, d.find("", root, path))
	}
	if projects := root.get("projects"); projects != nil && HasScopes(path) {
		for _, p := range projects.value.members {
			err = errors.Join(err, d.find(p.name, p.value, "mcpServers"))
		}
	}
	if len(d.Entries) > maxEntries {
		err = fmt.Errorf("more than %d servers", maxEntries)
	}
	return d, err
}

// find adds the servers at path in the object in. A dot in path separates the names of nested
// members.
func (d *Document) find(scope string, in *node, path string) error {
	steps := strings.Split(path, ".")
	if in.get(path) != nil {
		steps = []string{path} // the dots are part of one name
	}
	for _, name := range steps {
		m := in.get(name)
		if m == nil {
			return nil
		}
		if slices.ContainsFunc(in.members, func(o member) bool { return o.name == name && o.start != m.start }) { // hosts differ in which of the two they use
			return fmt.Errorf("%q occurs twice; remove one", name)
		}
		in = m.value
	}
	d.places = append(d.places, place{scope, path, in})
	first, named := len(d.Entries), map[string]int{}
	add := func(name string, v *node) {
		d.Entries = append(d.Entries, d.entry(name, scope, path, v))
		named[name]++
	}
	for _, m := range in.members {
		add(m.name, m.value)
	}
	for _, item := range in.items { // Continue has a list of servers
		if m := item.get("name"); m != nil && m.value.kind == text {
			add(m.value.text, item)
		}
	}
	for _, e := range d.Entries[first:] {
		if named[e.Name] > 1 {
			e.fault = errors.New("it is defined twice; remove one")
			e.Problem = e.fault
		}
	}
	return nil
}

func (d *Document) entry(name, scope, path string, v *node) *Entry {
	e := &Entry{Name: name, Scope: scope, path: path, at: v, full: v, n: d.names, host: d.host, disabled: d.excludes(name)}
	if m := v.get(e.n.command); m != nil && m.value.kind == object && m.value.get("path") != nil { // older files of Zed have an object as the command
		e.at, e.n.command = m.value, "path"
	}
	if m := v.get("transport"); m != nil && m.value.kind == object { // Cline's own commands write this form
		e.at = m.value
	}
	e.fault = e.read()
	if e.Problem = e.fault; e.Problem == nil && e.URL != "" {
		e.Problem = e.readURL()
	}
	return e
}

// member returns a member of the object with the command or the address, or else of the entry.
func (e *Entry) member(name string) *member {
	if m := e.at.get(name); m != nil {
		return m
	}
	return e.full.get(name)
}

// excludes reports whether a file of Gemini CLI, or of one of its forks, disables a server outside
// of its entry.
func (d *Document) excludes(name string) bool {
	m := d.root.get("mcp")
	if !d.host.geminis || m == nil {
		return false
	}
	has := func(list *member) bool {
		return slices.ContainsFunc(list.value.items, func(i *node) bool { return i.text == name })
	}
	allowed, excluded := m.value.get("allowed"), m.value.get("excluded")
	return excluded != nil && has(excluded) || allowed != nil && allowed.value.kind == list && !has(allowed)
}

// read reads the entry's command or address. The error is a contradiction in the entry.
func (e *Entry) read() error {
	if e.full.kind != object {
		return errors.New("it is not an object")
	}
	for _, n := range []*node{e.full, e.at} {
		if name, is := n.duplicate(); is {
			return fmt.Errorf("%q is there twice", name)
		}
	}
	var urls []string
	for _, name := range e.n.urls {
		if m := e.member(name); m != nil && m.value.kind == text && m.value.text != "" {
			urls, e.URL = append(urls, name), m.value.text
		}
	}
	args := e.at.get(e.n.args)
	if m := e.at.get(e.n.command); m != nil && m.value.kind == text {
		e.Command = m.value.text
	} else if m != nil && e.n.args == "" && len(m.value.items) > 0 {
		e.Command, args = m.value.items[0].text, &member{value: &node{kind: list, items: m.value.items[1:]}}
	}
	switch {
	case len(urls) > 1 || len(urls) == 1 && e.Command != "":
		return fmt.Errorf("it has several of %s; keep only one", strings.Join(append(urls, e.n.command), ", "))
	case e.Command == "" && len(urls) == 0:
		return fmt.Errorf("the server is built into the host: it has neither %s nor %s", e.n.command, strings.Join(e.n.urls, ", "))
	case len(urls) == 1:
		return nil
	}
	if args != nil {
		if args.value.kind != list || slices.ContainsFunc(args.value.items, func(i *node) bool { return i.kind == object || i.kind == list }) {
			return fmt.Errorf("%s is not a list of texts", cmp.Or(e.n.args, e.n.command))
		}
		for _, item := range args.value.items {
			e.Args = append(e.Args, item.text)
		}
	}
	return nil
}

// readURL returns an error if the entry has an address and members that Junction does not support.
func (e *Entry) readURL() error {
	if scheme, _, found := strings.Cut(e.URL, ":"); found && strings.ToLower(scheme) != "http" && strings.ToLower(scheme) != "https" && !strings.ContainsAny(scheme, "${") {
		return fmt.Errorf("junction does not support addresses such as %s:…", scheme)
	}
	for _, name := range []string{"headersHelper", "apiKey", "authProviderType"} {
		if e.member(name) != nil {
			return fmt.Errorf("only the host itself supports %q", name)
		}
	}
	if _, _, err := e.remote(); err != nil {
		return err
	}
	for _, name := range []string{"auth", "oauth"} {
		if e.member(name) != nil {
			e.Warning = fmt.Sprintf("the host's own login (%q) is not used; if the server needs a login, run: junction login %s", name, redact.URL(e.URL))
		}
	}
	return nil
}
