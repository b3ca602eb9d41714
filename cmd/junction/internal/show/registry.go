package show

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/registry"
)

// Found formats the servers found in registries. If sources is set, it adds the registry of each.
func Found(entries []registry.Entry, sources bool, width int) string {
	return each(entries, func(out *strings.Builder, e registry.Entry) {
		details := append([]string{e.Server.Title, e.Server.Version}, ways(e.Server)...)
		if e.Status != registry.Active {
			details = append(details, string(e.Status))
		}
		if sources {
			details = append(details, "of "+e.Source)
		}
		heading(out, e.Server.Name, details...)
		paragraph(out, plaintext.Line(e.Server.Description, maxText), width)
	})
}

// ways returns the distinct kinds of packages of a server, and "remote" if it has remotes.
func ways(s *registry.Server) []string {
	var all []string
	for _, p := range s.Packages {
		if !slices.Contains(all, p.RegistryType) {
			all = append(all, p.RegistryType)
		}
	}
	if len(s.Remotes) > 0 {
		all = append(all, "remote")
	}
	return all
}

// A Suspicion is a warning that the user should read before installing a server.
type Suspicion struct {
	Severity guard.Severity
	Where    string
	Why      string
}

const (
	// maxVersions is the maximum number of versions that the text lists.
	maxVersions = 12
	// maxText is the maximum length of a displayed description, in runes. The schema allows 100.
	maxText = 1_000
)

// Registered formats a version of a registered server, with its licence and the suspicions about
// it.
func Registered(e *registry.Entry, licence string, suspicions []Suspicion, width int) string {
	var out strings.Builder
	s := e.Server
	heading(&out, s.Name, s.Title, s.Version)
	paragraph(&out, plaintext.Line(s.Description, maxText), width)
	out.WriteByte('\n')
	rows := [][]string{{"Registry", plaintext.Line(e.Source, maxName)}}
	if len(e.Also) > 0 {
		rows[0][1] += "; also in " + plaintext.Line(strings.Join(e.Also, ", "), maxName)
	}
	add := func(what, value string) {
		if value != "" {
			rows = append(rows, []string{what, plaintext.Line(value, 2*maxName)})
		}
	}
	status := string(e.Status)
	if e.StatusMessage != "" {
		status += ": " + e.StatusMessage
	}
	add("Status", status)
	add("Published", dates(e))
	add("Versions", versions(e))
	if s.Repository != nil {
		add("Repository", s.Repository.URL)
	}
	add("Website", s.WebsiteURL)
	if licence == "" {
		licence = "the registry does not state it"
	}
	add("Licence", licence)
	out.WriteString(terminal.Table(rows, 0, width))
	for i := range s.Packages {
		registeredPackage(&out, &s.Packages[i], width)
	}
	for i := range s.Remotes {
		r := &s.Remotes[i]
		out.WriteString("\nRemote  " + plaintext.Line(r.URL, 2*maxName) + "  (" + plaintext.Line(r.Type, maxName) + ")\n")
		inputs(&out, remoteInputs(r), width)
	}
	if len(suspicions) > 0 {
		out.WriteString("\nCheck this before you add it\n")
		rows = nil
		for _, f := range suspicions {
			rows = append(rows, []string{f.Severity.String(), plaintext.Line(f.Where, maxName), plaintext.Line(f.Why, 2*maxName)})
		}
		out.WriteString(terminal.Table(rows, indent, width))
	}
	return out.String()
}

func dates(e *registry.Entry) string {
	day := func(t time.Time) string { return t.UTC().Format("2 January 2006") }
	switch {
	case e.Published.IsZero():
		return ""
	case e.Updated.Sub(e.Published) < 24*time.Hour:
		return day(e.Published)
	}
	return day(e.Published) + ", changed " + day(e.Updated)
}

func versions(e *registry.Entry) string {
	var all []string
	for _, v := range e.Versions[:min(len(e.Versions), maxVersions)] {
		text := v.Version
		switch {
		case v.Status != registry.Active:
			text += " (" + string(v.Status) + ")"
		case v.IsLatest:
			text += " (latest)"
		}
		all = append(all, text)
	}
	if more := len(e.Versions) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, ", ")
}

func registeredPackage(out *strings.Builder, p *registry.Package, width int) {
	fmt.Fprintf(out, "\nPackage  %s %s", plaintext.Line(p.RegistryType, maxName), plaintext.Line(p.Identifier, maxName))
	if p.Version != "" {
		out.WriteString(" " + plaintext.Line(p.Version, maxName))
	}
	out.WriteString("  (" + plaintext.Line(p.Transport.Type, maxName) + ")\n")
	if p.FileSHA256 != "" {
		out.WriteString(strings.Repeat(" ", indent) + "SHA-256 " + plaintext.Line(p.FileSHA256, maxName) + "\n")
	}
	line, notes := p.CommandLine(), p.Notes()
	if line != nil {
		var words []string
		for _, w := range line {
			words = append(words, quoted(w))
		}
		out.WriteString(strings.Repeat(" ", indent) + "runs " + plaintext.Line(strings.Join(words, " "), 10*maxName) + "\n")
	} else if runner.Of(p.RegistryType).Prefixes == nil {
		out.WriteString(strings.Repeat(" ", indent) + "cannot run here: this kind of package is not known\n")
	}
	for _, note := range notes {
		paragraph(out, plaintext.Line(note, maxText), width)
	}
	var all []input
	for _, v := range p.EnvironmentVariables {
		all = append(all, input{"variable", v.Name, v.Input})
	}
	for _, list := range [][]registry.Argument{p.RuntimeArguments, p.PackageArguments} {
		for _, a := range list {
			if name := cmp.Or(a.Name, a.ValueHint); name != "" {
				all = append(all, input{"argument", name, a.Input})
			}
		}
	}
	inputs(out, append(all, remoteInputs(&p.Transport)...), width)
}

// An input is a value that the user or the author of the server supplies.
type input struct {
	kind, name string
	registry.Input
}

func remoteInputs(r *registry.Remote) []input {
	var all []input
	for _, h := range r.Headers {
		all = append(all, input{"header", h.Name, h.Input})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Variables)) {
		all = append(all, input{"variable", name, r.Variables[name]})
	}
	return all
}

func inputs(out *strings.Builder, all []input, width int) {
	var rows [][]string
	for _, in := range all {
		what := "optional"
		switch {
		case in.Value != "":
			what = "set"
		case in.IsRequired:
			what = "required"
		}
		if in.IsSecret {
			what += ", secret"
		}
		text := in.Description
		if len(in.Choices) > 0 {
			text += " (one of " + strings.Join(in.Choices, ", ") + ")"
		}
		if in.Default != "" && !in.IsSecret {
			text += " (default " + in.Default + ")"
		}
		if in.Value != "" && !in.IsSecret {
			text += " (" + in.Value + ")"
		}
		rows = append(rows, []string{in.kind, plaintext.Line(in.name, maxName), what, plaintext.Line(strings.TrimSpace(text), 2*maxName)})
	}
	out.WriteString(terminal.Table(rows, indent, width))
}

// quoted quotes a word for a shell, if necessary.
func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n\"'\\$&|;<>()*?[]{}~#!`") || strings.HasPrefix(word, "<") && strings.HasSuffix(word, ">") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
