package reach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

// ConfiguredServers reads the configuration. If --config names the files, an unreadable file is an
// error; otherwise its error is printed. Without a configuration, it returns servers that ship with
// junction.
func ConfiguredServers(a *cli.App) (*config.Set, []launch.Entry, error) {
	c, err := a.Launch.Read()
	if err != nil && len(a.Launch.Config) > 0 {
		return nil, nil, err
	}
	if err != nil {
		a.Screen.Printf("junction: %v\n", err)
	}
	a.Unread, a.Faulty = err, err != nil || len(c.Set.Problems()) > 0
	return c.Set, c.Entries, nil
}

// HostOptions returns the options for reading the configuration files of hosts.
func HostOptions(p place.Place) hostconfig.Options {
	home, _ := p.UserHomeDir()
	return hostconfig.Options{Getenv: p.Getenv, WorkDir: p.Dir, HomeDir: home}
}

// ConfiguredTarget returns the target of a configured server. If the server needs consent, it asks
// the user first. The target may lead to a running junction up.
func ConfiguredTarget(ctx context.Context, a *cli.App, name string) (launch.Target, error) {
	set, e, err := FindConfigured(a, name)
	if err != nil {
		return launch.Target{}, err
	}
	if e.Definition != nil {
		ReportIgnored(a, set, e.Definition)
	}
	if t, is := shared(ctx, a, e); is {
		return t, nil
	}
	if err := a.Launch.Consent(ctx, e); err != nil {
		return launch.Target{}, err
	}
	t, err := a.Launch.Target(ctx, e)
	if err == nil {
		t.IsGateway = t.StartsUp(a.Place) || t.Server != nil && isRunningUp(ctx, a, t.Server.URL)
	}
	if err == nil && a.Sharing == sharedCalls && a.Screen.Terminal() {
		s, _, _ := a.Launch.QuietSettings(set) // junction up reports an error of the settings
		if what := bypassed(s, name); what != "" {
			a.Screen.Printf("(directly to %s: the %s of junction up are not applied)\n", plaintext.Line(name, 80), what)
		}
	}
	return t, err
}

// bypassed returns what protects a server in junction up only: rules, or settings of the server. It
// returns "" for neither.
func bypassed(s *settings.Settings, server string) string {
	if s == nil {
		return ""
	}
	if s.Policy != "" {
		return "rules"
	}
	protects := func(r settings.Redact) bool { return len(r.Arguments)+len(r.Results) > 0 }
	one := s.Servers[server]
	protected := len(one.Only)+len(one.Hide) > 0 || one.Secrets != "" && one.Secrets != "pass" || protects(one.Redact)
	for _, tool := range one.Tools {
		protected = protected || tool.Hide || protects(tool.Redact)
	}
	if protected {
		return "settings"
	}
	return ""
}

// isRunningUp reports whether a URL is an endpoint of a junction up of this user.
func isRunningUp(ctx context.Context, a *cli.App, address string) bool {
	if launch.At(address) == nil {
		return false
	}
	all, _ := cli.Instances(ctx, a.Place) // without them, the server is not known to be one
	return slices.ContainsFunc(all, func(i cli.Instance) bool {
		return launch.At(i.Endpoint) != nil && (address == i.Endpoint || strings.HasPrefix(address, i.Endpoint+"/"))
	})
}

// FindConfigured reads the configuration and finds a server as [Find] does.
func FindConfigured(a *cli.App, name string) (*config.Set, launch.Entry, error) {
	set, entries, err := ConfiguredServers(a)
	if err != nil {
		return nil, launch.Entry{}, err
	}
	e, err := Find(name, set, entries)
	return set, e, err
}

// Find returns the entry with a name, or the entry of a server that ships with junction. The error
// names the fault of an invalid entry, or suggests a similar name.
func Find(name string, set *config.Set, entries []launch.Entry) (launch.Entry, error) {
	if i := slices.IndexFunc(entries, func(e launch.Entry) bool { return e.Name == name }); i >= 0 {
		return entries[i], nil
	}
	for _, p := range set.Problems() {
		if p.Server == name {
			return launch.Entry{}, Unusable(p, set)
		}
	}
	if slices.Contains(cli.ShippedNames(), name) {
		return launch.Entry{Name: name}, nil
	}
	return launch.Entry{}, unknownServer(name, set, entries)
}

// FindEnabled is like [Find], but returns an error for a disabled server.
func FindEnabled(name string, set *config.Set, entries []launch.Entry) (launch.Entry, error) {
	e, err := Find(name, set, entries)
	if err == nil && e.IsDisabled() {
		err = fmt.Errorf("server %q is disabled; enable it in %s", name, e.Definition.Source)
	}
	return e, err
}

// ServerNames returns the names of entries.
func ServerNames(entries []launch.Entry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// unknownServer returns the error for an unknown name. It suggests a similar name, if there is one.
func unknownServer(name string, set *config.Set, entries []launch.Entry) error {
	names := ServerNames(entries)
	if near := nearest.Name(name, append(slices.Clone(names), cli.ShippedNames()...)); near != "" {
		return fmt.Errorf("no server is called %q; did you mean %q?", name, near)
	}
	var files []string
	for _, f := range set.Files {
		files = append(files, f.Path)
	}
	where := "there is no configuration file"
	if len(files) > 0 {
		where = "not in " + strings.Join(files, ", ")
	}
	return fmt.Errorf("no server is called %q (%s; there are: %s)", name, where, strings.Join(names, ", "))
}

// CommandLine returns the words of a typed command line, with ambiguous words in quotes. If a word
// names a file relative to the current folder, it appends the folder, because in other folders the
// same words start another program.
func CommandLine(p place.Place, typed []string) []string {
	words := slices.Clone(typed)
	here := false
	for i, word := range words {
		if word == "" || word[0] == '(' || strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r == '"' }) {
			words[i] = strconv.Quote(word)
		}
		info, err := os.Stat(p.Path(word))
		here = here || !filepath.IsAbs(word) && err == nil && info.Mode().IsRegular()
	}
	if here {
		words = append(words, "(in "+p.Real(".")+")")
	}
	return words
}

// IsWithin reports whether the current folder is folder or is below it.
func IsWithin(p place.Place, folder string) bool {
	here, err := p.Getwd()
	if err != nil {
		return false
	}
	rest, err := filepath.Rel(p.Real(folder), p.Real(here))
	return err == nil && filepath.IsLocal(rest)
}

// otherMembers maps names of members in other programs, in lower case, to Junction's names.
var otherMembers = map[string]string{
	"cmd": "command", "executable": "command", "arguments": "args", "environment": "env", "workingdirectory": "cwd", "workdir": "cwd",
	"endpoint": "url", "address": "url",
}

// SuggestMember returns the member that an ignored one was probably meant to be, or "".
func SuggestMember(warning *config.Problem) string {
	if meant := otherMembers[strings.ToLower(warning.Field)]; meant != "" {
		return meant
	}
	of, name := "", warning.Field
	if dot := strings.LastIndex(name, "."); dot >= 0 {
		of, name = name[:dot+1], name[dot+1:]
	}
	var names []string
	for _, member := range config.EntryMembers() {
		if member, ok := strings.CutPrefix(member, of); ok && !strings.Contains(member, ".") {
			names = append(names, member)
		}
	}
	meant := nearest.Name(name, names)
	if meant == name {
		return ""
	}
	return meant
}

// ignored returns a line for each ignored member of the servers that is accepts. It skips members
// that resemble no known one, unless they have no effect.
func ignored(set *config.Set, is func(server string) bool) []string {
	var lines []string
	for _, w := range set.Warnings() {
		if !is(w.Server) {
			continue
		}
		if errors.Is(w, config.ErrNoEffect) {
			lines = append(lines, fmt.Sprintf("%s %v", w.Field, w.Err))
		} else if meant := SuggestMember(w); meant != "" {
			lines = append(lines, fmt.Sprintf("%s is ignored; did you mean %q?", w.Field, meant))
		}
	}
	return lines
}

// ReportProblems prints the problems of a configuration. It also prints warnings: all of them if
// the command is verbose, and otherwise only those about ignored members.
func ReportProblems(a *cli.App, set *config.Set) {
	for _, p := range set.Problems() {
		a.Screen.Printf("junction: %v\n", Unusable(p, set))
	}
	for _, w := range set.Warnings() {
		if a.Launch.Verbose {
			a.Screen.Printf("junction: warning: %v\n", w)
		}
	}
	for _, d := range set.Servers {
		if !a.Launch.Verbose {
			ReportIgnored(a, set, d)
		}
	}
}

// ReportIgnored prints a warning for each ignored member of a server's entry.
func ReportIgnored(a *cli.App, set *config.Set, d *config.Definition) {
	for _, line := range ignored(set, func(server string) bool { return server == d.Name }) {
		a.Screen.Printf("junction: warning: %s: server %q: %s\n", d.Source, d.Name, line)
	}
}

// Unusable returns the error of a server that cannot be used. The error lists the ignored members
// of its entry.
func Unusable(p *config.Problem, set *config.Set) error {
	if p.Server == "" {
		return p
	}
	lines := ignored(set, func(server string) bool { return server == p.Server })
	if len(lines) == 0 {
		return p
	}
	return fmt.Errorf("%w; %s", p, strings.Join(lines, "; "))
}

// HasProblem reports whether the entry of a server is invalid.
func HasProblem(set *config.Set, name string) bool {
	return slices.ContainsFunc(set.Problems(), func(p *config.Problem) bool { return p.Server == name })
}

// An UnlistedError reports a name that a server or the stored conversations do not list.
type UnlistedError struct {
	Text string
	Err  error
}

// Error implements [error].
func (e *UnlistedError) Error() string { return e.Text }

// Unwrap returns the wrapped error.
func (e *UnlistedError) Unwrap() error { return e.Err }

// WrapUnlisted returns an [UnlistedError] with a suggestion if name is not in names. It returns err
// unchanged if name is in names, or if err already has the name and there is no similar one.
func WrapUnlisted(what, name string, names []string, err error) error {
	if slices.Contains(names, name) {
		return err
	}
	near := nearest.Name(name, names)
	text := fmt.Sprintf("the server lists no %s %q; junction list %ss lists those that it has", what, name, what)
	switch {
	case near != "":
		text = fmt.Sprintf("the server lists no %s %q; did you mean %q?", what, name, near)
	case strings.Contains(err.Error(), name):
		return err
	}
	if fault, is := errors.AsType[*mcp.Error](err); is { // the server may have a further reason
		text += " Its error: " + plaintext.Line(fault.Message, cli.MaxLog)
	}
	return &UnlistedError{text, err}
}

// ImportedServers holds the servers that junction host connect copied from a host. They stay in
// Junction's file when the host's own servers are restored.
type ImportedServers struct {
	host    string              // ID of the host; empty if the user named a file
	path    string              // path of the host's file
	File    string              // path of Junction's configuration file
	Servers []string            // names of the copied servers
	Secrets map[string][]string // names of the secrets of each server
}

// Title returns the name of the host, or a description of its file.
func (s *ImportedServers) Title(p place.Place) string {
	if h, _, known := hostconfig.LookupHost(s.host); known {
		return h.Name
	}
	return "the host of " + p.Short(s.path)
}

// FindImported returns the servers that junction host connect copied, according to the record of
// the change. The host's entry for Junction names Junction's file; if it is gone, the user's own
// file is used.
func FindImported(p place.Place, r *hostconfig.Record) *ImportedServers {
	s := &ImportedServers{host: r.Host, path: r.Path, File: config.Own(launch.ConfigOptions(p)), Secrets: map[string][]string{}}
	if _, ours, _, err := r.Look(); err == nil && ours != nil {
		if at := slices.Index(ours.Args, "--config") + 1; at > 0 && at < len(ours.Args) {
			s.File = ours.Args[at]
		}
	}
	file, err := config.Load(s.File, launch.ConfigOptions(p))
	if err != nil {
		return s // code that uses the file reports the error
	}
	for _, change := range r.Changes {
		for _, took := range change.Took {
			for _, name := range []string{took.Name, took.Name + "-" + r.Host} { // connect adds the host's ID if the name is taken
				d, found := file.Server(name)
				if !found || slices.Contains(s.Servers, name) {
					continue
				}
				s.Servers = append(s.Servers, name)
				for _, variable := range d.Variables() {
					if secret, is := strings.CutPrefix(variable, "secret:"); is {
						s.Secrets[name] = append(s.Secrets[name], secret)
					}
				}
			}
		}
	}
	return s
}

// maxKept is the number of files that ShowKept names.
const maxKept = 12

// ShowKept prints the files in Junction's folder, such as settings, rules, logs and keys. They stay
// after the last server is removed and the last host is disconnected.
func ShowKept(a *cli.App) {
	folder, err := a.State("")
	if err != nil {
		return // without a folder there are no files
	}
	entries, _ := os.ReadDir(folder) // an unreadable folder is not described
	var names []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, plaintext.Line(name, 80))
	}
	if len(names) == 0 {
		return
	}
	if more := len(names) - maxKept; more > 0 {
		names = append(names[:maxKept], fmt.Sprintf("%d more", more))
	}
	a.Out.Printf("Still in %s: %s. If you no longer use Junction, remove this folder with its settings, rules, logs and keys.\n", a.Short(folder), strings.Join(names, ", "))
}

// WarnConnected prints a warning for each connected host that loses the server name, because the
// server was removed from a configuration file.
func WarnConnected(a *cli.App, file, name string) {
	journal, err := launch.OpenJournal(a.Place)
	if err != nil {
		return
	}
	records, _ := journal.Records() // unreadable records are skipped
	for _, r := range records {
		if s := FindImported(a.Place, r); r.Connected && a.Real(s.File) == file {
			a.Screen.Printf("junction: warning: %s used %q through junction and no longer has it; %s restores the host's own servers\n", s.Title(a.Place), plaintext.Line(name, 100), r.Remedy())
		}
	}
}

// ReviewNone is the value of the review setting that disables reviews.
const ReviewNone = "none"
