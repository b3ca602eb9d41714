package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/registry"
	"github.com/spf13/cobra"
)

// InfoCommand returns the command server info.
func InfoCommand(a *cli.App) *cobra.Command {
	var f RegistryFlags
	cmd := &cobra.Command{
		Use:   "info NAME[@VERSION]",
		Short: "Show a server of the registries, and suspicious points",
		Long: `Show a server of the registries: its versions, packages and remotes, the values it needs,
the command line for other hosts, its repository and licence. Its texts are scanned for
hidden orders, and its name and packages are compared with better known ones.

Part of a name is enough if only one server has it. See junction server search for the
registries. If the registries lack the server or cannot be read, info shows the data in
junction.lock, for a server of your configuration or its package, such as npm:NAME.

` + cli.ExitHelp,
		ValidArgsFunction: suggestRegistered(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("expected the NAME of one server, got %d words", len(args))
			}
			return info(cmd.Context(), a, args[0], f)
		},
	}
	f.Define(cmd.Flags())
	reach.ConfigFlags(a, cmd.Flags())
	a.JSONFlag(cmd, infoShown{}, lockedShown{})
	return cmd
}

// info prints a server of the registries. If they do not have it, it prints the lock of the server.
func info(ctx context.Context, a *cli.App, word string, f RegistryFlags) error {
	if prefix, _, _ := strings.Cut(word, ":"); runner.Prefixed(prefix).Type != "" {
		if found, err := infoLocked(a, word); found || err != nil {
			return err
		}
		return cli.Usagef("%s is a package, and it is not locked; registries use other names: junction server search finds servers, and junction server add %s shows the package before it is added", plaintext.Line(word, 200), plaintext.ShellWord(word))
	}
	m, _, err := SyncMirror(ctx, a, f)
	var e registry.Entry
	if err == nil {
		e, err = registered(ctx, a, m, word)
	}
	if err != nil && ctx.Err() == nil {
		found, failed := infoLocked(a, word)
		if found {
			a.Screen.Printf("junction: %s; this is the locked version\n", why.Once(why.Text(err)))
			return failed
		}
	}
	if err != nil {
		return err
	}
	suspicions, err := suspicionsOf(ctx, m, &e)
	if err != nil {
		return err
	}
	if a.Flags.JSON {
		return printInfo(a, &e, suspicions)
	}
	_, err = fmt.Fprint(a.Out, show.Registered(&e, licence(&e), suspicions, a.Out.Width()))
	return err
}

// registered returns the server with a name, which may include a version. A part of a name is
// sufficient if only one server matches.
func registered(ctx context.Context, a *cli.App, m *registry.Mirror, word string) (registry.Entry, error) {
	name, version, _ := strings.Cut(word, "@")
	e, err := m.LookupVersion(ctx, name, version)
	if err == nil {
		return e, nil
	}
	if !errors.Is(err, registry.ErrNotFound) {
		return e, err
	}
	if version != "" {
		if known, err := m.Lookup(ctx, name); err == nil {
			var all []string
			for _, v := range known.Versions {
				all = append(all, v.Version)
			}
			return e, cli.Usagef("server %s has no version %s; it has %s", name, version, strings.Join(all[:min(len(all), 10)], ", "))
		}
	}
	names, err := m.Names(ctx, name)
	if err != nil {
		return e, err
	}
	if len(names) == 1 {
		a.Screen.Printf("junction: showing %s\n", names[0])
		return m.LookupVersion(ctx, names[0], version)
	}
	var own []string
	for _, n := range names {
		if _, part, _ := strings.Cut(n, "/"); part == name {
			own = append(own, n)
		}
	}
	if len(own) > 0 {
		return e, cli.Usagef("several servers match %s; name one of %s", name, strings.Join(own[:min(len(own), 10)], ", "))
	}
	alike, err := m.Names(ctx, name[:min(len(name), 2)])
	if err != nil {
		return e, err
	}
	for _, n := range alike {
		_, part, _ := strings.Cut(n, "/")
		own = append(own, n, part)
	}
	if near := nearest.Name(name, own); near != "" {
		return e, cli.Usagef("no registry has a server %s; did you mean %s?", name, near)
	}
	return e, cli.Usagef("no registry has a server %s; junction server search finds servers by words", name)
}

// suspicionsOf returns warnings about a server: names that resemble better known ones, and findings
// of the scanner.
func suspicionsOf(ctx context.Context, m *registry.Mirror, e *registry.Entry) ([]show.Suspicion, error) {
	var all []show.Suspicion
	like := func(where string, similar []registry.Likeness) {
		for _, l := range similar {
			all = append(all, show.Suspicion{Severity: guard.Warn, Where: where, Why: "looks like the better known " + l.Name + ": " + l.Why})
		}
	}
	s := e.Server
	similar, err := m.Similar(ctx, s.Name)
	if err != nil {
		return nil, err
	}
	like("name", similar)
	for i, p := range s.Packages {
		if similar, err = m.SimilarPackage(ctx, p.RegistryType, p.Identifier); err != nil {
			return nil, err
		}
		like(fmt.Sprintf("packages[%d].identifier", i), similar)
	}
	jsonrpc.EachText("", s.Raw, func(at, text string) bool {
		for _, f := range (*guard.Catalogue)(nil).Scan(text, guard.Where{Part: guard.InInstructions, Server: s.Name, Field: at}) {
			all = append(all, show.Suspicion{Severity: f.Severity, Where: f.Where, Why: f.Why + ": " + f.Excerpt})
		}
		return true
	})
	return all, nil
}

// licence returns the licence that the author of a server or a registry names. The schema has no
// member for a licence, so it tries several.
func licence(e *registry.Entry) string {
	meta := jsonrpc.Get(e.Server.Raw, "_meta")
	for _, object := range [][]byte{e.Server.Raw, jsonrpc.Get(meta, ownMeta), e.Meta} {
		for _, name := range []string{"license", "licence", "spdx"} {
			if text, ok := jsonrpc.Unquote(jsonrpc.Get(object, name)); ok && text != "" {
				return text
			}
		}
	}
	return ""
}

// An infoShown is the output of info --json for a server of a registry. A lockedShown is the output
// for locked servers.
type (
	infoShown struct {
		registeredShown
		Licence  string           `json:"licence,omitempty"`
		Versions []versionShown   `json:"versions"`
		Commands []commandShown   `json:"commands"`
		Findings []suspicionShown `json:"findings"`
	}
	versionShown struct {
		Version   string          `json:"version"`
		Status    registry.Status `json:"status"`
		IsLatest  bool            `json:"isLatest"`
		Published time.Time       `json:"published,omitzero"`
	}
	commandShown struct {
		Type       string   `json:"registryType"`
		Identifier string   `json:"identifier"`
		Command    []string `json:"command"`
		Notes      []string `json:"notes,omitempty"`
	}
	suspicionShown struct {
		Severity string `json:"severity"`
		Where    string `json:"where"`
		Why      string `json:"why"`
	}
	lockedShown struct {
		Locked map[string]*install.LockedServer `json:"locked"`
	}
)

// printInfo prints a server as JSON.
func printInfo(a *cli.App, e *registry.Entry, suspicions []show.Suspicion) error {
	answer := infoShown{registeredShown: showRegistered(e), Licence: licence(e)}
	for _, v := range e.Versions {
		answer.Versions = append(answer.Versions, versionShown{v.Version, v.Status, v.IsLatest, second(v.Published)})
	}
	for _, p := range e.Server.Packages {
		answer.Commands = append(answer.Commands, commandShown{p.RegistryType, p.Identifier, p.CommandLine(), p.Notes()})
	}
	for _, f := range suspicions {
		answer.Findings = append(answer.Findings, suspicionShown{f.Severity.String(), f.Where, f.Why})
	}
	return a.PrintJSON(answer)
}

// infoLocked prints the locked servers that word names: a configured server, a server of a
// registry, or a package. found reports whether there are any.
func infoLocked(a *cli.App, word string) (found bool, err error) {
	all, _, err := lockedEntries(a, nil)
	if err != nil {
		return false, err
	}
	shown := map[string]*install.LockedServer{}
	for _, l := range all {
		if !l.is(word) {
			continue
		}
		if shown[l.Name] = l.locked; !a.Flags.JSON {
			a.Out.Printf("%s, %s\n", plaintext.Line(l.Name, 200), plaintext.Unbroken(cmp.Or(a.Launch.LockText(l.Entry), "whose definitions junction.lock has")))
		}
	}
	if a.Flags.JSON && len(shown) > 0 {
		err = a.PrintJSON(lockedShown{shown})
	}
	return len(shown) > 0, err
}

// is reports whether word names the locked server or its package.
func (l *lockedEntry) is(word string) bool {
	if word == l.Name || word == l.locked.Name {
		return true
	}
	prefix, rest, _ := strings.Cut(word, ":")
	p := l.locked.Package
	return p != nil && runner.Prefixed(prefix).Type == p.Type && (rest == p.Name || rest == p.Name+"@"+p.Version)
}
