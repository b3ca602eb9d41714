package registry

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/runner"
)

// A Need is a value that the author of a server.json does not determine.
type Need struct {
	Kind     string // "argument", "variable" or "header"; empty for {NAME} in a text
	Name     string // name to show to the user
	Repeated bool   // whether it accepts several values
	Input
}

// Given is the value of a Need.
type Given struct {
	Texts []string // empty means that the part is omitted
	Typed bool     // whether the user who installs the server chose it, instead of the author
}

// A Fill returns the value for a need.
type Fill func(Need) (Given, error)

// A Line is a package's command line without the runner and the package.
type Line struct {
	Program string            // program in the package; empty means the runner's default
	With    string            // additional requirement, for a package of PyPI
	Options []string          // options between the runner and the package
	Args    []string          // arguments of the server
	Env     map[string]string // variables of the server; a container gets those that Options name
	Notes   []string          // the author's arguments for the runner that are omitted or changed, with reasons
}

// CommandLine returns the command line that starts a package without Junction, in the form that
// users write for other hosts. It starts with the runner for the package's kind, not with a runner
// that the author names. Required values appear as <name>. It returns nil if no command starts such
// a package directly.
func (p *Package) CommandLine() []string {
	l, err := p.Line(Known, false)
	if err != nil { // not reached, because Known returns no errors
		return nil
	}
	return p.words(l)
}

// Notes returns the author's arguments for the runner that [Package.CommandLine] omits or changes,
// each with the reason.
func (p *Package) Notes() []string {
	l, err := p.Line(Known, false)
	if err != nil { // not reached, because Known returns no errors
		return nil
	}
	return l.Notes
}

// Known is a Fill that returns the default of a need. Without a default it returns <name> if the
// value is required.
func Known(n Need) (Given, error) {
	switch {
	case n.Default != "":
		return Given{[]string{n.Default}, true}, nil
	case n.IsRequired || n.Kind == "":
		return Given{[]string{"<" + n.Name + ">"}, true}, nil
	}
	return Given{}, nil
}

// words returns the complete command line for l.
func (p *Package) words(l *Line) []string {
	of := p.ofRunner()
	of.Program, of.With, of.Options = l.Program, l.With, l.Options
	line := of.Words()
	if line == nil || len(l.Args) == 0 {
		return line
	}
	if separator := runner.Of(p.RegistryType).Separator; separator != "" {
		line = append(line, separator)
	}
	return append(line, l.Args...)
}

func (p *Package) isContainer() bool { return runner.Of(p.RegistryType).IsContainer }

func (p *Package) ofRunner() runner.Package {
	if p.isContainer() {
		return runner.Package{Kind: p.RegistryType, Name: p.Image()}
	}
	return runner.Package{Kind: p.RegistryType, Name: p.Identifier, Version: p.Version}
}

// Image returns the reference of the package's container image. It adds the version as a tag if the
// identifier has neither a tag nor a digest.
func (p *Package) Image() string {
	name := p.Identifier[strings.LastIndexByte(p.Identifier, '/')+1:]
	if strings.ContainsAny(name, ":@") || p.Version == "" {
		return p.Identifier
	}
	return p.Identifier + ":" + p.Version
}

// Line returns the command line of a package. If installed is set, the program starts without npx,
// uvx or dnx, so the author's arguments for these are omitted.
func (p *Package) Line(fill Fill, installed bool) (*Line, error) {
	m := &maker{p: p, fill: fill, installed: installed, line: &Line{Env: map[string]string{}}}
	options, err := m.runtime()
	if err != nil {
		return nil, err
	}
	for i := range p.PackageArguments {
		words, err := m.words(&p.PackageArguments[i])
		if err != nil {
			return nil, err
		}
		m.line.Args = append(m.line.Args, words...)
	}
	for _, v := range p.EnvironmentVariables {
		given, err := m.values(Need{Kind: "variable", Name: v.Name, Input: v.Input})
		if err != nil {
			return nil, err
		}
		if p.isContainer() {
			m.contain(v.Name, given)
		} else if len(given) > 0 {
			m.line.Env[v.Name] = given[0]
		}
	}
	m.line.Options = append(m.line.Options, options...)
	return m.line, nil
}

// Needs returns the values that a user can set for a package, in order.
func (p *Package) Needs(installed bool) []Need {
	needs, fill := recorded()
	_, _ = p.Line(fill, installed) // cannot fail, because fill returns no errors
	return *needs
}

// Line returns the address of a remote and its headers.
func (r *Remote) Line(fill Fill) (url string, headers map[string]string, err error) {
	m := &maker{fill: fill}
	if url, _, err = m.template(r.URL, r.Variables); err != nil {
		return "", nil, err
	}
	headers = map[string]string{}
	for _, h := range r.Headers {
		given, err := m.values(Need{Kind: "header", Name: h.Name, Input: h.Input})
		if err != nil {
			return "", nil, err
		}
		if len(given) > 0 {
			headers[h.Name] = given[0]
		}
	}
	return url, headers, nil
}

// Needs returns the values that a user can set for a remote, in order.
func (r *Remote) Needs() []Need {
	needs, fill := recorded()
	_, _, _ = r.Line(fill) // cannot fail, because fill returns no errors
	return *needs
}

// recorded returns a Fill, and a list of needs. The Fill adds each need to the list once.
func recorded() (*[]Need, Fill) {
	needs := &[]Need{}
	return needs, func(n Need) (Given, error) {
		if !slices.ContainsFunc(*needs, func(other Need) bool { return other.Name == n.Name }) {
			*needs = append(*needs, n)
		}
		return open(n)
	}
}

// open is a Fill that returns a value for every need.
func open(n Need) (Given, error) {
	return Given{[]string{cmp.Or(n.Default, "<"+n.Name+">")}, true}, nil
}

// A maker builds a Line.
type maker struct {
	p         *Package
	fill      Fill
	installed bool
	line      *Line
	typed     []string // values that the user chose
}

// values returns the values for an input, or nil if the input is omitted.
func (m *maker) values(n Need) ([]string, error) {
	if n.Value != "" {
		text, whole, err := m.template(n.Value, n.Variables)
		if err != nil || !whole && !n.IsRequired {
			return nil, err
		}
		return []string{text}, nil
	}
	given, err := m.fill(n)
	if given.Typed {
		m.typed = append(m.typed, given.Texts...)
	}
	return given.Texts, err
}

var braces = lazy.Regexp(`\{[^{}]{1,100}\}`)

// template replaces each {name} in text by the value of that variable. whole is false if a variable
// has no value.
func (m *maker) template(text string, variables map[string]Input) (filled string, whole bool, err error) {
	whole = true
	filled = braces().ReplaceAllStringFunc(text, func(found string) string {
		name := found[1 : len(found)-1]
		in, known := variables[name]
		if !known || err != nil {
			return found
		}
		var given []string
		if given, err = m.values(Need{Name: name, Input: in}); err != nil || len(given) == 0 {
			whole = false
			return ""
		}
		return given[0]
	})
	return filled, whole, err
}

// words returns the words of an argument on the command line. The argument's type and name
// determine their form.
func (m *maker) words(a *Argument) (words []string, err error) {
	if a.Blank {
		return []string{""}, nil
	}
	given, err := m.values(Need{Kind: "argument", Name: a.key(), Repeated: a.IsRepeated, Input: a.Input})
	for _, value := range given {
		name, hint, isTemplate := strings.Cut(a.Name, "{")
		switch {
		case a.Type != "named" || a.Name == "":
			words = append(words, value)
		case isTemplate: // for example --port={port}
			_, after, _ := strings.Cut(hint, "}")
			words = append(words, name+value+after)
		case strings.HasSuffix(a.Name, "="):
			words = append(words, a.Name+value)
		case a.Format == "boolean" && value == "false":
		case value == "" || a.Format == "boolean" && value == "true":
			words = append(words, a.Name)
		case strings.HasPrefix(value, a.Name+"="):
			words = append(words, value)
		default:
			words = append(words, a.Name, value)
		}
	}
	return words, err
}

// key returns the name of the argument's value to show to the user.
func (a *Argument) key() string {
	name, _, _ := strings.Cut(a.Name, "=")
	return cmp.Or(strings.TrimLeft(strings.TrimSuffix(name, " "), "-"), a.ValueHint, "argument")
}

// A word is a word of an argument for the runner.
type word struct {
	text string
	of   int // index of the argument
}

// taken returns the words of those arguments for the runner whose index keep accepts.
func (m *maker) taken(keep func(int) bool) (all []word, err error) {
	for i := range m.p.RuntimeArguments {
		if !keep(i) {
			continue
		}
		words, err := m.words(&m.p.RuntimeArguments[i])
		if err != nil {
			return nil, err
		}
		for _, text := range words {
			all = append(all, word{text, i})
		}
	}
	return all, nil
}

func texts(words []word) (all []string) {
	for _, w := range words {
		all = append(all, w.text)
	}
	return all
}

// runtime returns the options between the runner and the package. It makes the words of the
// arguments twice. First it uses the author's values, to select arguments; then it uses the user's
// values for the selected ones. So the user is not asked about omitted arguments.
func (m *maker) runtime() (options []string, err error) {
	if len(m.p.RuntimeArguments) == 0 {
		return nil, nil
	}
	switch kind := runner.Of(m.p.RegistryType); {
	case kind.Start == nil:
		m.leaveAll("this kind of package takes no arguments before its name")
		return nil, nil
	case !kind.IsHint(m.p.RuntimeHint):
		m.leaveAll("it is meant for " + m.p.RuntimeHint + ", which does not start the package here")
		return nil, nil
	}
	written, _ := (&maker{p: m.p, fill: open}).taken(func(i int) bool { return !m.p.RuntimeArguments[i].namesVariable() })
	for i := range m.p.RuntimeArguments {
		if a := &m.p.RuntimeArguments[i]; a.namesVariable() {
			m.note(cmp.Or(strings.TrimSpace(a.Name+" "+a.Value), a.key()), "it names a variable of this machine")
		}
	}
	if m.p.isContainer() {
		return m.container(written)
	}
	return m.flags(written)
}

// namesVariable reports whether the argument refers to an environment variable of the user, such as
// ${HOME}.
func (a *Argument) namesVariable() bool {
	var in func(i Input) bool
	in = func(i Input) bool {
		return strings.Contains(i.Value+" "+i.Default, "${") || slices.ContainsFunc(slices.Collect(maps.Values(i.Variables)), in)
	}
	return strings.Contains(a.Name, "${") || in(a.Input)
}

// leaveAll notes that all arguments for the runner are omitted.
func (m *maker) leaveAll(why string) {
	for i := range m.p.RuntimeArguments {
		if words := m.shown(i); words != "" {
			m.note(words, why)
		}
	}
}

// shown returns an argument for the runner as the author wrote it. It returns "" if the argument is
// optional and has no value.
func (m *maker) shown(i int) string {
	words, _ := (&maker{p: m.p, fill: Known}).words(&m.p.RuntimeArguments[i])
	return strings.Join(words, " ")
}

// isByAuthor reports whether the author determined a word, instead of leaving it to the user.
func (m *maker) isByAuthor(w word) bool {
	return !strings.HasPrefix(w.text, "<") && m.shown(w.of) != ""
}

func (m *maker) note(words, why string) {
	m.line.Notes = append(m.line.Notes, "left out is "+words+": "+why)
}

// flags returns the options for npx, uvx or dnx.
func (m *maker) flags(written []word) (options []string, err error) {
	choices, rest := runner.Choose(m.p.ofRunner(), texts(written))
	first := len(written) - len(rest) // index of the first word after a program
	keep := map[int]bool{}
	for _, w := range written[first:] {
		keep[w.of] = true
	}
	for _, c := range choices {
		said := strings.Join(texts(written[c.At:c.At+c.Len]), " ")
		switch byAuthor := m.isByAuthor(written[c.At]); {
		case c.Program != "":
			own, _, _ := strings.Cut(m.p.Identifier, "[") // program that npx and uvx start by default
			if c.Program != own[strings.LastIndexByte(own, '/')+1:] {
				m.line.Program = c.Program
			}
			m.line.Notes = append(m.line.Notes, c.Program+" is treated as a program of the package: at this place "+m.runnerName()+" would take it for another package")
		case c.With != "" && m.line.With == "":
			m.line.With = c.With
		case c.Why != "" && byAuthor:
			m.note(said, c.Why)
		case c.Why != "" || c.Words == nil:
		case m.installed && byAuthor:
			m.note(said, "it is for "+m.runnerName()+", which does not start the installed program")
		case !m.installed:
			for _, w := range written[c.At : c.At+c.Len] {
				keep[w.of] = true
			}
		}
	}
	filled, err := m.taken(func(i int) bool { return keep[i] })
	for _, w := range filled {
		if first < len(written) && w.of >= written[first].of {
			m.line.Args = append(m.line.Args, w.text)
		} else {
			options = append(options, w.text)
		}
	}
	return options, err
}

func (m *maker) runnerName() string { return runner.Of(m.p.RegistryType).Start[0] }

// container returns the options for docker run.
func (m *maker) container(written []word) (options []string, err error) {
	keep := map[int]bool{}
	_, err = m.options(written, func(o runner.Option, words []word) error {
		why := notKept(o)
		for _, w := range words {
			switch {
			case why == "" && o.Effect != runner.Made:
				keep[w.of] = true
			case why != "" && m.shown(words[0].of) != "":
				m.note(strings.Join(texts(words), " "), why)
				return nil
			}
		}
		return nil
	}, true)
	if err != nil {
		return nil, err
	}
	filled, err := m.taken(func(i int) bool { return keep[i] })
	if err != nil {
		return nil, err
	}
	args, err := m.options(filled, func(o runner.Option, words []word) error {
		said, why := texts(words), notKept(o)
		switch {
		case o.Effect == runner.Variable:
			return m.variable(o)
		case why != "":
		case strings.Contains(strings.Join(said, " "), "${"):
			why = "a secret would be on the command line"
		case o.Effect == runner.Mount && (!slices.Contains(m.typed, o.Source()) || !filepath.IsAbs(o.Source()) && !strings.HasPrefix(o.Source(), "<")):
			why = "it gives the container " + o.Source() + " of this machine, chosen by the server's author"
			for _, name := range slices.Sorted(maps.Keys(m.p.RuntimeArguments[words[len(words)-1].of].Variables)) {
				why += "; --set " + name + "=… chooses"
			}
		}
		if why != "" {
			m.note(strings.Join(said, " "), why)
		} else if o.Effect != runner.Made && !(m.installed && o.Name == "--pull") { // an image that is installed need not be pulled
			options = append(options, said...)
		}
		return nil
	}, false)
	m.line.Args = append(args, m.line.Args...)
	return options, err
}

// notKept returns the reason why an option is omitted whatever its value, or "".
func notKept(o runner.Option) string {
	if o.Effect == runner.Rights {
		return "it is unknown, or would give the container more than an image needs"
	}
	return ""
}

// options calls each for each option of docker run in words. If the author repeats the image, it
// returns the words after the image. It omits all other words, because docker would take the first
// of them for the image.
func (m *maker) options(words []word, each func(runner.Option, []word) error, noted bool) (args []string, err error) {
	for len(words) > 0 && runner.Of(m.p.RegistryType).IsCall(words[0].text) {
		words = words[1:]
	}
	for len(words) > 0 {
		all, rest, _ := runner.Container(texts(words)) // an option whose value is missing is omitted because of its effect
		for _, o := range all {
			if err := each(o, words[o.At:o.At+o.Len]); err != nil {
				return nil, err
			}
		}
		if len(rest) == 0 {
			return nil, nil
		}
		words = words[len(words)-len(rest):]
		if runner.IsSame(m.p.ofRunner(), words[0].text) {
			if noted {
				for _, w := range words[1:] {
					if err := each(runner.Option{Effect: runner.Plain}, []word{w}); err != nil {
						return nil, err
					}
				}
			}
			return texts(words[1:]), nil
		}
		if noted && m.isByAuthor(words[0]) {
			m.note(words[0].text, m.runnerName()+" would treat it as the image")
		}
		words = words[1:]
	}
	return nil, nil
}

// variable passes the environment variable that an option names to the container.
func (m *maker) variable(o runner.Option) error {
	name, value, isSet := strings.Cut(strings.TrimSpace(o.Value), "=")
	declared := slices.ContainsFunc(m.p.EnvironmentVariables, func(v Variable) bool { return v.Name == name })
	switch {
	case declared && !isSet:
		return nil
	case isSet:
		m.contain(name, []string{value})
		return nil
	}
	given, err := m.values(Need{Kind: "variable", Name: name})
	if err == nil {
		m.contain(name, given)
	}
	return err
}

// contain passes an environment variable to the container of an image. If docker itself does not
// use the variable, docker run gets the value from its own environment, where other users cannot
// see it.
func (m *maker) contain(name string, value []string) {
	named := slices.Contains(m.line.Options, name)
	switch {
	case name == "" || strings.ContainsAny(name, "= \t\r\n\x00") || strings.HasPrefix(name, "-"):
		m.note("the variable "+name, "no variable has such a name")
	case !runner.EngineReads(name):
		if !named {
			m.line.Options = append(m.line.Options, "-e", name)
		}
		if len(value) > 0 {
			m.line.Env[name] = value[0]
		}
	case len(value) == 0:
	case strings.Contains(value[0], "${"):
		m.note("the variable "+name, "docker itself reads it, and a secret would be on the command line")
	default:
		m.line.Options = append(m.line.Options, "-e", name+"="+value[0])
	}
}
