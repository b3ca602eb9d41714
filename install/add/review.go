package add

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

const (
	// maxNamesShown is the number of tool names on one line of a review.
	maxNamesShown = 12
	// maxFindingsShown is the number of findings in a review.
	maxFindingsShown = 8
)

// show shows the server that is about to be added on one screen.
func (w *addition) show() {
	var card launch.Card
	row := func(name, format string, args ...any) {
		card.Rows = append(card.Rows, [2]string{name, plaintext.Line(fmt.Sprintf(format, args...), maxReason)})
	}
	all := func(name, text string) { card.Rows = append(card.Rows, [2]string{name, plaintext.Unbroken(text)}) } // shown completely, because the user agrees to this text
	about := aboutPackage{}
	if w.locked != nil {
		about = w.about()
		card.Title = plaintext.Line(w.name+" is "+w.locked.Type+":"+w.locked.Name+" "+w.locked.Version, 300)
	} else {
		card.Title = w.name + " is reached at " + plaintext.Unbroken(w.written.URL)
	}
	if text := w.server.Description; text != "" {
		row("says", "%s", text)
	} else if about.Description != "" {
		row("says", "%s", about.Description)
	}
	if w.entry != nil {
		row("listed", "as %s, in the registry %s", w.entry.Server.Name, w.entry.Source)
	}
	row("source", "%s", cmp.Or(strings.TrimSuffix(strings.TrimPrefix(w.sourceURL(about), "git+"), ".git"), "none is known"))
	if w.locked != nil {
		row("licence", "%s", cmp.Or(about.Licence, "none is known"))
		all("runs", plaintext.ShellWords(append(w.shownProgram(), install.OwnArgs(w.locked, w.written.Args[len(w.words())-1:])...)))
		all("written", plaintext.ShellWords(append([]string{w.written.Command}, w.written.Args...)))
		if len(w.locked.WantScripts) > 0 && !w.locked.Scripts {
			row("did not run", "install scripts of %s", strings.Join(w.locked.WantScripts, ", "))
		}
	}
	row("offers", "%s", w.dry.offers())
	if named := toolNames(w.dry.tools, true); named != "" {
		row("  to read", "%s", named)
	}
	if named := toolNames(w.dry.tools, false); named != "" {
		row("  others", "%s", named)
	}
	if gets := w.permissions(); len(gets) > 0 {
		row("gets", "%s", strings.Join(gets, "; "))
	}
	for _, one := range w.fixed {
		all("author sets", one)
	}
	if w.locked != nil {
		all("program", w.confinement())
	}
	for _, note := range w.notes {
		row("note", "%s", note)
	}
	for _, line := range w.warnings() {
		row("WARNING", "%s", line)
	}
	w.Launcher.User().Show(card)
}

// warnings returns the findings without duplicates, because many tools of a server may have the
// same sentence.
func (w *addition) warnings() (lines []string) {
	places := map[string][]string{}
	var order []string
	for _, f := range severe(w.dry.findings) {
		key := f.Why + ": " + f.Excerpt
		if places[key] == nil {
			order = append(order, key)
		}
		places[key] = append(places[key], f.Where)
	}
	for _, key := range order[:min(len(order), maxFindingsShown)] {
		where := places[key][0]
		if more := len(places[key]) - 1; more > 0 {
			where += ", and in " + plaintext.Count(more, "more place")
		}
		lines = append(lines, key+" ("+where+")")
	}
	if more := len(order) - maxFindingsShown; more > 0 {
		lines = append(lines, fmt.Sprintf("%d more; junction lint %s shows them once it is added", more, plaintext.ShellWord(w.name)))
	}
	return lines
}

// offers returns a count of a server's features.
func (d *dryRun) offers() string {
	if d.login {
		return "nothing is known yet: it needs a login first"
	}
	reading := 0
	for _, t := range d.tools {
		if t.Annotations.ReadsOnly() {
			reading++
		}
	}
	said := []string{plaintext.Count(len(d.tools), "tool")}
	if reading > 0 {
		said[0] += fmt.Sprintf(" (%d declared as read-only)", reading)
	}
	if d.prompts > 0 {
		said = append(said, plaintext.Count(d.prompts, "prompt"))
	}
	if d.resources > 0 {
		said = append(said, plaintext.Count(d.resources, "resource"))
	}
	return strings.Join(said, ", ")
}

// toolNames returns the names of the tools that are read-only, or of the others.
func toolNames(tools []*mcp.Tool, reading bool) string {
	var names []string
	for _, t := range tools {
		if t.Annotations.ReadsOnly() == reading {
			names = append(names, plaintext.Line(t.Name, 60))
		}
	}
	slices.Sort(names)
	if more := len(names) - maxNamesShown; more > 0 {
		names = append(names[:maxNamesShown], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// permissions describes the access that the entry gives to the server.
func (w *addition) permissions() (all []string) {
	if u, err := url.Parse(w.written.URL); err == nil && u.Host != "" {
		all = append(all, "what is sent to "+u.Host)
		if u.Scheme == "http" && !outside.IsHere(u.Hostname()) {
			all = append(all, "which others on the network can read")
		}
	}
	if names := slices.Sorted(maps.Keys(w.written.Headers)); len(names) > 0 {
		all = append(all, "headers "+strings.Join(names, ", "))
	}
	if names := slices.Sorted(maps.Keys(w.written.Env)); len(names) > 0 {
		all = append(all, "variables "+strings.Join(names, ", "))
	}
	for name := range w.secrets {
		all = append(all, "the secret "+name)
	}
	return all
}

// sourceURL returns the address of the source code that the author declares.
func (w *addition) sourceURL(about aboutPackage) string {
	if w.server.Repository != nil && w.server.Repository.URL != "" {
		return w.server.Repository.URL
	}
	return about.Source
}

// aboutPackage is the author's description of a package.
type aboutPackage struct {
	install.About
	DataVariable string // variable in its README that seems to name a place for data, or ""
	DataFile     string // example value of DataVariable in the README without its folder, or ""
	isOnly       bool   // the README mentions no other such variable
}

// dataVariable matches names of variables such as MEMORY_FILE_PATH and DATA_DIR.
var dataVariable = regexp.MustCompile(`\b[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*(?:FILE|PATH|DIR|DIRECTORY|FOLDER|DB)\b`)

// readData finds the variable for data in a README.
func (about *aboutPackage) readData(readme string) {
	about.DataVariable = dataVariable.FindString(readme)
	about.isOnly = !slices.ContainsFunc(dataVariable.FindAllString(readme, -1), func(other string) bool { return other != about.DataVariable })
	if about.DataVariable == "" {
		return
	}
	given := regexp.MustCompile(about.DataVariable + `["'` + "`" + `]?\s*[:=]\s*["'` + "`" + `]?(?:[^\s"'` + "`" + `]*[/\\])?(\w[\w-]*\.\w{1,8})\b`)
	if found := given.FindStringSubmatch(readme); found != nil {
		about.DataFile = found[1]
	}
}

// about returns the description of the package.
func (w *addition) about() aboutPackage {
	about := aboutPackage{About: install.AboutOf(w.locked, w.program.Dir)}
	about.readData(about.Readme)
	return about
}

// askConsent asks the user to agree. With Yes it does not ask, but then returns an error for
// findings unless Sure is set.
func (w *addition) askConsent(ctx context.Context, question string, choices []launch.Choice) (bool, error) {
	found := severe(w.dry.findings)
	switch {
	case w.Yes && len(found) > 0 && !w.Sure:
		return false, fmt.Errorf("server %q is not added: %s: %s; review it without --yes, or add it nevertheless with --sure", w.name, plaintext.Count(len(found), "warning"), found[0].Why)
	case w.Yes:
		return true, nil
	case w.Launcher.User().Absent() != "":
		return false, commandline.Errorf("not a terminal: --yes confirms what is shown")
	}
	key, err := w.Launcher.User().Choose(ctx, question, choices)
	switch {
	case err != nil:
		return false, err
	case key == "data":
		return w.giveData(ctx)
	case key == "":
		w.say("Nothing was changed.")
	}
	return key != "", nil
}
