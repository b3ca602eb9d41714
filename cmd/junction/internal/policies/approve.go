package policies

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// ApproveCommand returns the command approve.
func ApproveCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approve [SERVER[@HASH]…]",
		Short: "Approve the definitions of servers that junction up withholds",
		Long: `List the tools and prompts of the configured servers that are new, or changed since they
were approved; junction up --review withholds these. With SERVER, approve the definitions
of that server. You see them first and are asked. SERVER@HASH approves exactly the
definitions with that hash, without a question. A running junction up offers them at once.

` + cli.ExitCodes("listed, or approved, or the answer was no", "", cli.NoTerminalHelp, "no such server, a file cannot be used, or the definitions changed meanwhile"),
		ValidArgsFunction: reach.SuggestServers(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return approve(cmd.Context(), a, args) },
	}
	reach.ConfigFlags(a, cmd.Flags())
	return cmd
}

// ApproveCommandLine returns the command line that approves the definitions of a server. With hash,
// the command approves only the definitions with that hash. With file, the command works in any
// folder.
func ApproveCommandLine(server, hash, file string) string {
	if hash != "" {
		server += "@" + hash
	}
	command := "junction server approve " + plaintext.ShellWord(server)
	if file != "" {
		command += " --config " + plaintext.ShellWord(filename.Absolute(file))
	}
	return command
}

// An Unapproved is a server with definitions that the user has not approved.
type Unapproved struct {
	Server   string
	file     string // the configuration file that defines the server
	Withheld []review.Withheld
	changed  int // number of changed definitions; all others are new
	findings int
}

// Hash returns a hash of the definitions that are not approved. The hash has 128 bits. With a
// shorter one, the author of the server could find two sets of definitions with the same hash.
func (u *Unapproved) Hash() string {
	h := sha256.New()
	for _, w := range u.Withheld {
		fmt.Fprintf(h, "%s %s\n", w.Definition.Kind, w.Verdict.Hash)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// approve prints the unapproved definitions of all servers, or approves those of the named servers.
func approve(ctx context.Context, a *cli.App, args []string) error {
	if err := reach.UseConfiguredShared(ctx, a); err != nil {
		return err
	}
	pins, err := reach.Pins(ctx, a)
	if err != nil {
		return err
	}
	set, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		return err
	}
	named := map[string]string{} // hash by server name
	var names []string
	for _, arg := range args {
		name, hash := arg, ""
		if i := strings.LastIndexByte(arg, '@'); i > 0 && !slices.ContainsFunc(entries, func(e launch.Entry) bool { return e.Name == arg }) {
			name, hash = arg[:i], arg[i+1:]
		}
		named[name] = hash
		names = append(names, name)
	}
	if entries, err = reach.SelectServers(entries, set, names); err != nil {
		return err
	}
	all, catalogue := FindUnapproved(ctx, a, entries, pins, review.All)
	if len(args) == 0 {
		return listUnapproved(a, all, set)
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(u *Unapproved) bool { return u.Server == name })
		if i < 0 {
			a.Out.Printf("Server %q has nothing to approve.\n", name)
			continue
		}
		if err := approveOne(ctx, a, pins, catalogue, all[i], named[name]); err != nil {
			return err
		}
	}
	return nil
}

// FindUnapproved returns the servers with stored definitions that the review mode does not count as
// approved. It also returns a catalogue of all stored tools.
func FindUnapproved(ctx context.Context, a *cli.App, entries []launch.Entry, pins *guard.Pins, mode review.Mode) ([]*Unapproved, *guard.Catalogue) {
	catalogue := new(guard.Catalogue)
	store := a.Store()
	offered := map[string][]guard.Definition{}
	for _, e := range entries {
		known := reach.StoredDefinitions(ctx, e, store)
		if known == nil {
			continue
		}
		offered[e.Name] = review.Definitions(e.Name, known.Tools, known.Prompts)
		catalogue.Set(e.Name, reach.DefinitionNames(known.Tools)...)
	}
	var all []*Unapproved
	for _, e := range entries {
		u := &Unapproved{Server: e.Name, file: e.Source()}
		for _, d := range offered[e.Name] {
			verdict := mode.Compare(pins, d)
			if verdict.State == guard.Same {
				continue
			}
			if verdict.State == guard.Changed {
				u.changed++
			}
			u.Withheld = append(u.Withheld, review.Withheld{Definition: d, Verdict: verdict})
			u.findings += len(catalogue.ScanDefinition(d))
		}
		if len(u.Withheld) > 0 {
			all = append(all, u)
		}
	}
	return all, catalogue
}

// listUnapproved prints the servers with unapproved definitions.
func listUnapproved(a *cli.App, all []*Unapproved, set *config.Set) error {
	if len(all) == 0 {
		var files []string
		for _, f := range set.Files {
			files = append(files, a.Short(f.Path))
		}
		if len(files) == 0 {
			a.Out.Printf("There is no configuration file here, and so nothing to approve. junction status shows what a running junction up withholds.\n")
		} else {
			a.Out.Printf("Nothing in %s waits for approval. junction chat asks about a command or a version that changed.\n", strings.Join(files, ", "))
		}
		return nil
	}
	slices.SortStableFunc(all, func(a, b *Unapproved) int { return cmp.Compare(b.changed, a.changed) })
	var rows [][]string
	for _, u := range all {
		rows = append(rows, []string{u.Server, u.summary(), ApproveCommandLine(u.Server, "", u.file)})
	}
	a.Out.Printf("%s", a.Table(rows, 2))
	return nil
}

// summary returns the numbers of unapproved definitions and warnings as text.
func (u *Unapproved) summary() string {
	var parts []string
	if u.changed > 0 {
		parts = append(parts, fmt.Sprintf("%d changed", u.changed))
	}
	if fresh := len(u.Withheld) - u.changed; fresh > 0 {
		parts = append(parts, fmt.Sprintf("%d new", fresh))
	}
	parts[len(parts)-1] += " (" + guard.Counted(u.Definitions()) + ")"
	if u.findings > 0 {
		parts = append(parts, plaintext.Count(u.findings, "warning"))
	}
	return strings.Join(parts, ", ")
}

// approveOne approves definitions of one server. With hash, it approves those with that hash.
// Without, it shows all of them and asks the user.
func approveOne(ctx context.Context, a *cli.App, pins *guard.Pins, catalogue *guard.Catalogue, u *Unapproved, hash string) error {
	if hash == "" {
		a.Out.Printf("%s", u.Text(catalogue))
		if a.Person == nil {
			return cli.Usagef("there is no terminal for questions; %s approves this", ApproveCommandLine(u.Server, u.Hash(), u.file))
		}
		agreed, err := a.Confirm(ctx, fmt.Sprintf("Approve this (%s)?", u.Hash()))
		if err != nil {
			return err
		}
		if !agreed {
			a.Out.Printf("No definition of server %q was approved.\n", u.Server)
			return logged(ctx, a, func() ([]audit.Record, error) {
				return []audit.Record{{Event: audit.EventApprove, Server: u.Server, Name: u.Hash(), Outcome: string(mcp.OutcomeCancelled)}}, nil
			})
		}
	} else if hash != u.Hash() {
		return fmt.Errorf("the definitions of server %q changed meanwhile: %s shows them", u.Server, ApproveCommandLine(u.Server, "", u.file))
	}
	err := logged(ctx, a, func() ([]audit.Record, error) {
		return ifDone(ApproveDefinitions(pins, u.Server, u.Definitions()), audit.Record{Event: audit.EventApprove, Server: u.Server, Name: u.Hash()})
	})
	if err != nil {
		return err
	}
	a.Out.Printf("Approved for server %q: %s.\n", u.Server, u.summary())
	return nil
}

// Definitions returns the definitions that are not approved.
func (u *Unapproved) Definitions() (list []guard.Definition) {
	for _, w := range u.Withheld {
		list = append(list, w.Definition)
	}
	return list
}

// Findings returns the warnings of the scanner about a definition.
func Findings(catalogue *guard.Catalogue, d guard.Definition) (all []string) {
	for _, f := range catalogue.ScanDefinition(d) {
		all = append(all, f.Why+" ("+f.Where+": "+f.Excerpt+")")
	}
	return all
}

// ApprovedDefinition returns the approved definition that w replaces. If w is new, the result has
// only a kind, server and name.
func ApprovedDefinition(w review.Withheld) guard.Definition {
	if w.Verdict.State == guard.Changed {
		return w.Verdict.Old
	}
	return guard.Definition{Kind: w.Definition.Kind, Server: w.Definition.Server, Name: w.Definition.Name}
}

// Text returns the unapproved definitions as text, with the warnings of the scanner. It makes
// hidden characters visible.
func (u *Unapproved) Text(catalogue *guard.Catalogue) string {
	var b strings.Builder
	for _, w := range u.Withheld {
		d, state := w.Definition, "new"
		text := guard.Diff(ApprovedDefinition(w), d)
		switch {
		case w.Verdict.State == guard.Changed:
			state = "changed"
		case w.Verdict.Old.Kind != "": // the earlier definition was never approved, so the text shows the whole new one
			state = "changed since it was first seen, and never approved"
			for _, c := range guard.Changes(w.Verdict.Old, d) {
				text += "--- " + c.Field + " (as it was first seen)\n-" + strings.ReplaceAll(strings.TrimSuffix(c.Old, "\n"), "\n", "\n-") + "\n"
			}
		}
		fmt.Fprintf(&b, "%s %s of server %s, %s:\n", d.Kind, plaintext.Line(d.Name, 200), u.Server, state)
		for _, found := range Findings(catalogue, d) {
			fmt.Fprintf(&b, "  warning: %s\n", plaintext.Line(found, cli.MaxReason))
		}
		for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
			fmt.Fprintf(&b, "  %s\n", plaintext.Unbroken(line))
		}
	}
	return b.String()
}

// ApproveDefinitions approves definitions of a server, and saves the approvals.
func ApproveDefinitions(p *guard.Pins, name string, definitions []guard.Definition) error {
	err := p.Approve(definitions...)
	if err == nil {
		err = p.Save()
	}
	if err != nil {
		return fmt.Errorf("server %q: %w", name, err)
	}
	return nil
}
