package hostconfig

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxTimeout is the longest timeout of an entry in Junction's files. A longer one is dropped.
const maxTimeout = 24 * time.Hour

// A Carried is a host's entry converted to an entry of Junction's files, with Junction's variables.
type Carried struct {
	Name         string
	Type         string // sse, http, or empty if unknown
	Command      string
	Args         []string
	Env          []Variable
	Dir, EnvFile string
	URL          string
	Headers      []Variable
	OAuth        []Variable // clientId and clientSecret
	Timeout      time.Duration
	StartTimeout time.Duration
	Disabled     bool

	passed []string // names of variables that the host passes to the program

	Needs []string // names of secrets that the user must enter, because the host asks for them or stores them itself
	Left  []string // names of members that Junction does not use
	Notes []string // differences between the two entries
}

// Carry converts an entry to one for Junction's files. project is the folder that the host's file
// belongs to, or "". The error is the reason why the entry cannot be converted.
func (e *Entry) Carry(project string) (*Carried, error) {
	if e.fault != nil {
		return nil, e.fault
	}
	if e.Scope != "" {
		project = e.Scope
	}
	c := &Carried{Name: e.Name, Disabled: e.disabled}
	r := &carrier{Carried: c, e: e, t: translation{from: e.host.dialect(), project: project}}
	members := slices.DeleteFunc(slices.Clone(e.full.members), func(m member) bool { return m.value == e.at })
	if e.at != e.full {
		members = append(members, e.at.members...)
	}
	for _, m := range members {
		if err := r.member(m); err != nil {
			return nil, err
		}
	}
	r.t.given = r.Env
	if err := r.translate(); err != nil {
		return nil, err
	}
	if e.host.dialect() == keyring && c.URL != "" {
		c.Env = nil // the host uses them only in headers
	}
	r.place(project)
	if c.URL != "" && len(c.Env) > 0 { // only a program has an environment
		c.Env, c.Left = nil, append(c.Left, e.n.env)
	}
	if scheme, _, found := strings.Cut(c.URL, ":"); found && !strings.ContainsAny(scheme, "${") && !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return nil, fmt.Errorf("junction does not support addresses such as %s:…", scheme)
	}
	c.Needs, c.Notes = r.t.needs, append(c.Notes, r.t.notes...)
	slices.Sort(c.Needs)
	c.Needs = slices.Compact(c.Needs)
	return c, nil
}

// A carrier converts the members of an entry, one after the other.
type carrier struct {
	*Carried
	e       *Entry
	t       translation
	env     []Variable // variables of the result that the host's file does not have
	headers []header   // headers whose values end with a variable of the host's environment
}

// A header is value followed by the value of the environment variable from. It is omitted if that
// variable is empty.
type header struct{ name, value, from string }

// A field is a text of an entry that may contain variables.
type field struct {
	name string
	text *string
}

var errNotText = errors.New("is not a text")

func (r *carrier) member(m member) error {
	n, v := r.e.n, m.value
	switch {
	case m.name == n.command && (v.kind == text || v.kind == list && n.args == ""):
		r.Command = r.e.Command
		if n.args == "" {
			r.Args = slices.Clone(r.e.Args)
		}
	case m.name == n.args && v.kind == list:
		r.Args = slices.Clone(r.e.Args)
	case m.name == n.env || m.name == "env":
		return r.variables(m, &r.Env)
	case m.name == "env_keys" && v.kind == list: // goose stores the values of these variables itself
		for _, i := range v.items {
			r.env = append(r.env, Variable{i.text, r.t.secret(i.text)})
		}
	case m.name == "env_vars" && v.kind == list: // Junction passes its own environment to servers, so the host must pass these variables to Junction
		for _, i := range v.items {
			if name := i.get("name"); name != nil {
				i = name.value
			}
			if i.kind == text {
				r.passed = append(r.passed, i.text)
			} else {
				r.Left = append(r.Left, m.name)
			}
		}
	case m.name == "tools" && len(v.items) == 1 && v.items[0].text == "*": // selects all tools
	case m.name == "cwd" && v.kind == text:
		r.Dir = v.text
	case m.name == "envFile" && v.kind == text:
		r.EnvFile = v.text
	case slices.Contains(n.urls, m.name) && v.kind == text:
		if r.URL = cmp.Or(v.text, r.URL); m.name == "httpUrl" && v.text != "" {
			r.Type = cmp.Or(r.Type, "http")
		} else if r.e.host.geminis && v.text != "" {
			r.Type = cmp.Or(r.Type, "sse")
		}
	case m.name == "type" || m.name == "transport":
		if r.Type, _ = r.e.host.Transport(v.text); r.Type != "http" && r.Type != "sse" {
			r.Type = ""
		}
	case m.name == "disabled" || m.name == "enabled" || m.name == "isActive":
		r.Disabled = r.Disabled || v.text == map[bool]string{true: "true", false: "false"}[m.name == "disabled"]
	case m.name == "name":
		if r.e.host.ID == "cherry-studio" && v.kind == text { // keys of its entries are identifiers, not names
			r.Name = cmp.Or(v.text, r.Name)
		}
	case m.name == "source" && v.text == "custom":
	case len(v.items)+len(v.members) == 0 && v.kind >= list, v.kind == scalar && (v.text == "null" || v.text == "false"): // empty values have no effect
	default:
		return r.remote(m)
	}
	return nil
}

// remote converts a member of an entry that has an address.
func (r *carrier) remote(m member) error {
	v := m.value
	switch {
	case m.name == "headers" || m.name == "http_headers":
		return r.variables(m, &r.Headers)
	case m.name == "env_http_headers":
		var from []Variable
		if err := r.variables(m, &from); err != nil {
			return err
		}
		for _, v := range from {
			r.headers = append(r.headers, header{v.Name, "", v.Value})
		}
	case m.name == "bearer_token_env_var" && v.kind == text:
		r.headers = append(r.headers, header{"Authorization", "Bearer ", v.text})
	case m.name == "requestOptions" && v.kind == object:
		for _, inner := range v.members {
			if inner.name != "headers" {
				r.Left = append(r.Left, m.name+"."+inner.name)
			} else if err := r.variables(inner, &r.Headers); err != nil {
				return err
			}
		}
	case (m.name == "oauth" || m.name == "auth") && v.kind == object:
		for _, inner := range v.members {
			switch name := strings.ToLower(strings.ReplaceAll(inner.name, "_", "")); {
			case name == "clientid" && inner.value.kind == text:
				r.OAuth = append(r.OAuth, Variable{"clientId", inner.value.text})
			case name == "clientsecret" && inner.value.kind == text:
				r.OAuth = append(r.OAuth, Variable{"clientSecret", inner.value.text})
			default:
				r.Left = append(r.Left, m.name+"."+inner.name)
			}
		}
	case m.name == "headersHelper" || m.name == "authProviderType":
		return fmt.Errorf("only the host itself supports %q", m.name)
	default:
		r.limits(m)
	}
	return nil
}

// limits converts a timeout.
func (r *carrier) limits(m member) {
	unit, to := time.Second, &r.Timeout
	switch m.name {
	case "timeout":
		unit = r.e.host.Unit()
	case "tool_timeout_sec":
	case "startup_timeout_sec":
		to = &r.StartTimeout
	case "startup_timeout_ms":
		unit, to = time.Millisecond, &r.StartTimeout
	default:
		r.Left = append(r.Left, m.name)
		return
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(m.value.text, "_", ""), 64)
	if err != nil || !(n > 0 && n*float64(unit) <= float64(maxTimeout)) || m.value.kind != scalar {
		if d, isDuration := time.ParseDuration(m.value.text); isDuration == nil && d > 0 && r.e.host.variables == nil {
			*to = d
			return
		}
		r.Left = append(r.Left, m.name)
		return
	}
	*to = time.Duration(n * float64(unit))
}

func (r *carrier) variables(m member, to *[]Variable) error {
	if m.value.kind == scalar && m.value.text == "null" {
		return nil
	}
	if m.value.kind != object {
		return fmt.Errorf("%s is not an object of texts", m.name)
	}
	for _, inner := range m.value.members {
		if inner.value.kind > text {
			return fmt.Errorf("%s.%s %w", m.name, inner.name, errNotText)
		}
		if inner.value.kind == scalar && inner.value.text == "null" {
			r.Left = append(r.Left, m.name+"."+inner.name)
			continue
		}
		*to = append(*to, Variable{inner.name, inner.value.text})
	}
	return nil
}

// translate replaces the host's variables by Junction's in all texts of the result.
func (r *carrier) translate() error {
	fields := []field{{"command", &r.Command}, {"cwd", &r.Dir}, {"envFile", &r.EnvFile}, {"url", &r.URL}}
	for i := range r.Args {
		fields = append(fields, field{fmt.Sprintf("args[%d]", i), &r.Args[i]})
	}
	add := func(name string, list []Variable) {
		for i := range list {
			fields = append(fields, field{name + "." + list[i].Name, &list[i].Value})
		}
	}
	add("env", r.Env)
	add("headers", r.Headers)
	add("oauth", r.OAuth)
	for _, f := range fields {
		value, err := r.t.value(f.name, *f.text)
		if err != nil {
			return err
		}
		*f.text = value
	}
	r.Env = append(r.Env, r.env...)
	for _, h := range r.headers {
		r.Headers = append(r.Headers, Variable{h.name, h.value + "${" + h.from + "}"})
	}
	return nil
}

// place makes paths absolute that are relative to a project's folder, because Junction's file is in
// another folder.
func (r *carrier) place(project string) {
	if project == "" {
		for _, f := range []field{{"command", &r.Command}, {"cwd", &r.Dir}} {
			if strings.ContainsAny(*f.text, `/\`) && !filepath.IsAbs(*f.text) && !strings.HasPrefix(*f.text, "$") && !strings.Contains(*f.text, `:\`) && r.e.host.variables != nil {
				r.Notes = append(r.Notes, f.name+" is relative to the host's folder; write the absolute path")
			}
		}
		return
	}
	if r.Command != "" && r.Dir == "" {
		r.Dir = project
	}
	for _, path := range []*string{&r.Dir, &r.EnvFile} {
		if *path != "" && !filepath.IsAbs(*path) && !strings.HasPrefix(*path, "${") {
			*path = filepath.Join(project, *path)
		}
	}
	if strings.ContainsAny(r.Command, `/\`) && !filepath.IsAbs(r.Command) && !strings.HasPrefix(r.Command, "${") {
		r.Command = filepath.Join(project, r.Command)
	}
}

// entry returns the syntax tree of the entry for Junction's file.
func (c *Carried) entry() *node {
	n := &node{kind: object}
	texts := func(name, value string) {
		if value != "" {
			n.add(name, newText(value))
		}
	}
	variables := func(name string, list []Variable) {
		if len(list) == 0 {
			return
		}
		v := &node{kind: object}
		for _, each := range list {
			v.add(each.Name, newText(each.Value))
		}
		n.add(name, v)
	}
	texts("type", c.Type)
	texts("command", c.Command)
	if c.Command != "" && len(c.Args) > 0 {
		n.add("args", newTexts(c.Args))
	}
	variables("env", c.Env)
	texts("cwd", c.Dir)
	texts("envFile", c.EnvFile)
	texts("url", c.URL)
	variables("headers", c.Headers)
	variables("oauth", c.OAuth)
	if c.Disabled {
		n.add("disabled", &node{text: "true"})
	}
	if c.Timeout > 0 {
		texts("timeout", c.Timeout.String())
	}
	if c.StartTimeout > 0 {
		texts("startTimeout", c.StartTimeout.String())
	}
	return n
}

// Add returns the content of a file of Junction's with further entries. The other bytes stay the
// same.
func (d *Document) Add(list []*Carried) (after []byte, err error) {
	m := move{at: d.home()}
	for _, c := range list {
		m.put = append(m.put, newMember{name: c.Name, value: c.entry()})
	}
	return d.rearranged(moves{&m})
}

// Is reports whether two entries start or call the same server in the same way. A reference to a
// stored secret counts as equal to any text.
func (c *Carried) Is(other *Carried) bool {
	sameList := func(a, b []Variable) bool {
		byName := func(x, y Variable) int { return cmp.Compare(x.Name, y.Name) }
		return slices.EqualFunc(slices.SortedFunc(slices.Values(a), byName), slices.SortedFunc(slices.Values(b), byName),
			func(x, y Variable) bool { return x.Name == y.Name && sameText(x.Value, y.Value) })
	}
	return sameText(c.Command, other.Command) && slices.EqualFunc(c.Args, other.Args, sameText) && sameText(c.URL, other.URL) &&
		c.Dir == other.Dir && c.EnvFile == other.EnvFile && sameList(c.Env, other.Env) && sameList(c.Headers, other.Headers)
}

// sameText reports whether two texts are equal. A reference to a stored secret in one of them
// matches any part of the other.
func sameText(a, b string) bool {
	if a == b {
		return true
	}
	for range 2 {
		if parts := expressions().secret.Split(a, -1); len(parts) > 1 && strings.HasPrefix(b, parts[0]) {
			rest, found := b[len(parts[0]):], true
			for _, part := range parts[1 : len(parts)-1] {
				_, rest, found = strings.Cut(rest, part)
				if !found {
					break
				}
			}
			if found && strings.HasSuffix(rest, parts[len(parts)-1]) {
				return true
			}
		}
		a, b = b, a
	}
	return false
}

// Variables returns the names of the environment variables that the entry needs, each once.
func (c *Carried) Variables() (names []string) {
	names = slices.Clone(c.passed)
	written := append([]string{c.Command, c.Dir, c.EnvFile, c.URL}, c.Args...)
	for _, v := range slices.Concat(c.Env, c.Headers, c.OAuth) {
		written = append(written, v.Value)
	}
	for _, text := range written {
		for _, found := range expressions().env.FindAllStringSubmatch(text, -1) {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool {
		ref, _ := junctions.variables.Find(name)
		return ref.Source == FromFolder
	})
}
