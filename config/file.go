package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/hostconfig"
	"github.com/tailscale/hujson"
)

const (
	// maxServers is the largest number of servers in a file.
	maxServers = 1_000
	// maxWarnings is the largest number of warnings of a file; one more states that others were
	// dropped.
	maxWarnings = 100
	// maxProblems is the largest number of problems of a file; one more states that others were
	// dropped.
	maxProblems = 100
)

// Options configure the sources of variables and inputs. The zero Options use the process's own
// environment and folders, and cannot ask for inputs.
type Options struct {
	// Getenv looks up an environment variable; by default, os.LookupEnv.
	Getenv func(name string) (value string, set bool)
	// Input asks the user for a value. It is never called concurrently for one file, nor again for
	// an input that has a value. If Input is nil, a server that needs an input cannot be resolved.
	// A default does not help, because it is only a suggestion.
	Input func(context.Context, Input) (string, error)
	// Secret looks up a stored secret for ${secret:NAME}. If Secret is nil, a server that needs a
	// secret cannot be resolved. Its error must give advice and must not mention other secrets.
	Secret func(ctx context.Context, name string) (string, error)
	// WorkDir is the working folder; by default, os.Getwd.
	WorkDir string
	// HomeDir is the user's home folder; by default, os.UserHomeDir.
	HomeDir string

	// Program is the path of the program that serves APIs; by default, os.Executable.
	Program string

	goos string // for tests; by default, runtime.GOOS
}

func (o Options) withDefaults() Options {
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	if o.WorkDir == "" {
		o.WorkDir, _ = os.Getwd()
	}
	if o.HomeDir == "" {
		o.HomeDir, _ = os.UserHomeDir()
	}
	o.goos = cmp.Or(o.goos, runtime.GOOS)
	return o
}

// File is one configuration file whose variables are not replaced. It is safe for concurrent use as
// long as its fields are not changed.
type File struct {
	Path     string        // path as passed to Load or Parse
	Format   Format        // format of the file
	Project  bool          // whether the file belongs to a project, and thus comes from the authors of its repository
	Servers  []*Definition // in file order, without entries that have a problem
	Inputs   []Input       // values that the user must supply
	Problems []*Problem    // faults, in file order; limited
	Warnings []*Problem    // ignored and doubtful members; limited

	settings []byte // value of the member "junction" as JSON without comments; nil without one
	line     int    // first line of settings
	outside  error  // error for a setting outside of "junction"
	nextTo   *File  // the junction.json in the same folder, if only that file has settings

	options Options
	names   map[string]int // first line of each server, by name, including faulty ones
	asking  chan struct{}  // holds a token while the user is asked; guards answers
	answers map[string]string
}

// Server returns the definition with the given name.
func (f *File) Server(name string) (*Definition, bool) {
	i := slices.IndexFunc(f.Servers, func(d *Definition) bool { return d.Name == name })
	if i < 0 {
		return nil, false
	}
	return f.Servers[i], true
}

// Find returns the definition with the given name. If its entry is faulty, the error is its
// *Problem.
func (f *File) Find(name string) (*Definition, error) {
	if d, found := f.Server(name); found {
		return d, nil
	}
	for _, p := range f.Problems {
		if p.Server == name {
			return nil, p
		}
	}
	return nil, fmt.Errorf("%s has no server %q that can be used", f.Path, name)
}

// Load reads the configuration file at path. The file may have up to 4 MiB. Load returns an error
// only if it cannot use the file at all; File.Problems lists the faults of single servers.
func Load(path string, o Options) (*File, error) {
	o = o.withDefaults()
	opened, err := os.Open(absolute(path, o.WorkDir))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer opened.Close()
	data, err := io.ReadAll(io.LimitReader(opened, maxFileSize+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return Parse(path, data, o)
}

// Parse parses data like Load. path determines the format and the folders.
func Parse(path string, data []byte, o Options) (*File, error) {
	o = o.withDefaults()
	doc, err := parseDocument(data)
	if err != nil {
		return nil, &Problem{Source: path, Err: err}
	}
	where := locate(absolute(path, o.WorkDir), o)
	root := members(doc.root)
	if !where.known {
		where.format = guessFormat(root)
	}
	r := &fileReader{doc: doc, place: where, file: &File{
		Path: path, Format: where.format, Project: where.workspace != "", options: o,
		names: map[string]int{}, asking: make(chan struct{}, 1), answers: map[string]string{},
	}}
	r.host, _ = where.format.host()
	if first, second := duplicate(root); first != nil {
		return nil, &Problem{Source: path, Line: doc.line(second.at), Err: caused(ErrDuplicate,
			"member %s is defined twice, on lines %d and %d", quote(first.name), doc.line(first.at), doc.line(second.at))}
	}
	r.readRoot(root)
	return r.file, nil
}

func absolute(path, folder string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// fileReader converts a document to a File.
type fileReader struct {
	doc   *document
	file  *File
	place place
	host  hostconfig.Host
	found bool // whether any member lists servers
}

func (r *fileReader) readRoot(root []member) {
	if hostconfig.HasScopes(r.file.Path) {
		r.readLocal()
	}
	for _, m := range root {
		if slices.Contains(hostconfig.Places(), m.name) {
			r.readServers(m.name, m.value)
			continue
		}
		switch m.name {
		case "inputs":
			r.readInputs(m.value)
		case "junction":
			r.readSettings(m)
		case "mcp":
			// VS Code's settings.json has the members of mcp.json here.
			for _, inner := range members(m.value) {
				switch inner.name {
				case "servers":
					r.readServers("mcp.servers", inner.value)
				case "inputs":
					r.readInputs(inner.value)
				}
			}
		default:
			r.readOther(m)
		}
	}
	if !r.found && r.file.settings == nil && r.file.outside == nil {
		r.warn("", "", 0, errors.New(`no servers; expected them in "mcpServers" or "servers"`))
	}
}

// readLocal reads Claude Code's servers for the current project. They come before the user's
// general servers and replace those with the same name.
func (r *fileReader) readLocal() {
	general := r.place
	defer func() { r.place = general }()
	projects := lookup(r.doc.root, "projects")
	for _, folder := range hostconfig.ProjectFolders(r.file.options.places()) {
		project := lookup(projects, folder)
		if project.Value == nil {
			project = lookup(projects, filepath.ToSlash(folder))
		}
		servers := lookup(project, "mcpServers")
		if servers.Value == nil {
			continue
		}
		r.place.folder, r.place.workspace = folder, folder
		r.readServers("projects."+quote(folder)+".mcpServers", servers)
		return
	}
}

func (r *fileReader) readServers(field string, v hujson.Value) {
	if v.Value.Kind() != '{' {
		r.fail("", field, v.StartOffset, wrongType("an object", v))
		return
	}
	r.found = true
	list := members(v)
	lines := make(map[string][]int, len(list))
	for _, m := range list {
		lines[m.name] = append(lines[m.name], m.at)
	}
	for i, m := range list {
		if len(r.file.names) == maxServers {
			r.fail("", field, m.at, caused(ErrLimit, "more than %d servers; the last %d are left out", maxServers, len(list)-i))
			return
		}
		r.readServer(m, lines[m.name])
	}
}

// definedTwice returns the error for a server with two entries on the given lines.
func definedTwice(first, second int) error {
	where := fmt.Sprintf("on lines %d and %d", first, second)
	if first == second {
		where = fmt.Sprintf("both times on line %d", first)
	}
	return caused(ErrDuplicate, "is defined twice, %s, so neither is used; rename or remove one", where)
}

// readServer reads one entry. at holds the offsets of all entries in the same object that have its
// name.
func (r *fileReader) readServer(m member, at []int) {
	if err := checkName(m.name); err != nil {
		r.fail("", "server "+quote(m.name), m.at, err)
		return
	}
	line := r.doc.line(m.at)
	if before, ok := r.file.names[m.name]; ok {
		// readServer reported a second entry in the same object together with the first.
		if len(at) == 1 && !hostconfig.HasScopes(r.file.Path) {
			r.fail(m.name, "", m.at, definedTwice(before, line))
			// It is unknown which of the two entries the author meant.
			r.file.Servers = slices.DeleteFunc(r.file.Servers, func(d *Definition) bool { return d.Name == m.name })
		}
		return
	}
	r.file.names[m.name] = line
	if len(at) > 1 {
		r.fail(m.name, "", m.at, definedTwice(line, r.doc.line(at[1])))
		return
	}
	e := &entryReader{fileReader: r, def: &Definition{
		Name: m.name, Line: line, Source: r.file.Path, Format: r.file.Format, Project: r.file.Project,
		variables: r.host.Variables(), folder: r.place.folder, workspace: r.place.workspace, file: r.file,
	}}
	if e.read(m.value) {
		r.file.Servers = append(r.file.Servers, e.def)
	}
}

const maxNameLength = 128

func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("the name is empty")
	case len(name) > maxNameLength:
		return caused(ErrLimit, "the name is longer than %d bytes", maxNameLength)
	case strings.ContainsFunc(name, isInvisible):
		return errors.New("the name has invisible characters")
	}
	return nil
}

func (r *fileReader) problem(server, field string, offset int, err error) *Problem {
	p := &Problem{Source: r.file.Path, Server: server, Field: field, Err: err}
	if offset > 0 {
		p.Line = r.doc.line(offset)
	}
	return p
}

func (r *fileReader) fail(server, field string, offset int, err error) {
	r.file.Problems = r.bounded(r.file.Problems, maxProblems, server, field, offset, err)
}

func (r *fileReader) warn(server, field string, offset int, err error) {
	r.file.Warnings = r.bounded(r.file.Warnings, maxWarnings, server, field, offset, err)
}

func (r *fileReader) bounded(list []*Problem, limit int, server, field string, offset int, err error) []*Problem {
	switch {
	case len(list) > limit:
		return list
	case len(list) == limit:
		return append(list, r.problem("", "", 0, errors.New("more of these; only the first are reported")))
	}
	return append(list, r.problem(server, field, offset, err))
}
