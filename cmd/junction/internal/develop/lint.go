package develop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/lint"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// lintFlags holds the flags of lint.
type lintFlags struct {
	failOn string
	calls  []string
	noCall bool
	ignore []string
}

// LintCommand returns the command lint.
func LintCommand(a *cli.App) *cobra.Command {
	var f lintFlags
	cmd := &cobra.Command{
		Use:   "lint SERVER… | lint -- COMMAND…",
		Short: "Find mistakes in a server that you write",
		Long: `Find faults that the author of a server can fix: schemas that models do not accept, missing
descriptions, annotations that contradict each other, large definitions, texts that look like
orders to a model, results that break their output schema, and breaches of the specification.

Lint calls the tools that the server marks as read-only and that need no arguments. It calls
other tools only with --call. docs/lint.md has each rule, with an example.

` + cli.ExitCodes("no finding is as severe as --fail-on", "something was", "", "a server, or the result of a --call, could not be checked; the others were"),
		ValidArgsFunction: reach.SuggestServers(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return lintServers(a, cmd, args, f) },
	}
	cmd.Flags().StringVar(&f.failOn, "fail-on", "error", "exit with 1 at a finding of this `SEVERITY` or above: note, warning or error")
	cmd.Flags().StringArrayVar(&f.calls, "call", nil, "also call this tool: `TOOL`, or TOOL=JSON with arguments (repeatable)")
	cmd.Flags().BoolVar(&f.noCall, "no-call", false, "call only the tools of --call")
	cmd.Flags().StringArrayVar(&f.ignore, "ignore", nil, "leave out findings of `RULE`, or RULE:NAME for one tool, prompt or resource (repeatable)")
	reach.ConnectionFlags(a, cmd.Flags())
	a.JSONFlag(cmd, cli.ServersShown[*linted]{})
	return cmd
}

// A linted is the outcome for one server.
type linted struct {
	Server   string          `json:"server"`
	Findings []lint.Finding  `json:"findings"`
	Called   []string        `json:"called"`             // names of the called tools
	NoResult []string        `json:"noResult,omitempty"` // tools of --call that gave no result
	Error    json.RawMessage `json:"error,omitzero"`     // reason that the server was not checked
}

// lintServers checks the servers one after another.
func lintServers(a *cli.App, cmd *cobra.Command, args []string, f lintFlags) error {
	var limit lint.Severity
	if limit.UnmarshalText([]byte(f.failOn)) != nil {
		return cli.Usagef("--fail-on: expected note, warning or error, got %q", f.failOn)
	}
	calls, err := reach.ReadCalls(f.calls)
	if err != nil {
		return err
	}
	if err := f.checkIgnored(); err != nil {
		return err
	}
	dash := cmd.ArgsLenAtDash()
	if len(calls) > 0 && (len(args) > 1 && dash < 0 || dash > 0) {
		return cli.Usagef("--call is for one server, so name one only")
	}
	targets, err := lintTargets(a, cmd, args)
	if err != nil {
		return err
	}
	worst, failed := lint.Severity(0), false
	all := make([]*linted, 0, len(targets))
	for _, t := range targets {
		l := lintOne(cmd.Context(), a, t, lint.Options{Calls: calls, NoCalls: f.noCall})
		if cmd.Context().Err() != nil {
			return context.Cause(cmd.Context())
		}
		l.Findings = slices.DeleteFunc(l.Findings, f.ignores)
		worst, failed = max(worst, lint.Worst(l.Findings)), failed || l.Error != nil || len(l.NoResult) > 0
		if all = append(all, l); !a.Flags.JSON {
			showLinted(a, l, len(targets) > 1)
		}
	}
	if a.Flags.JSON {
		if err := a.PrintIndented(cli.ServersShown[*linted]{Servers: all}, "  "); err != nil {
			return err
		}
	}
	switch {
	case failed:
		return cli.ErrReported
	case worst >= limit:
		return cli.ErrToolFailed
	}
	return nil
}

// A lintTarget is a server, with the collector for its protocol breaches.
type lintTarget struct {
	launch.Target
	breaches *lint.Breaches
}

// lintTargets returns the servers named on the command line.
func lintTargets(a *cli.App, cmd *cobra.Command, args []string) ([]lintTarget, error) {
	if cmd.ArgsLenAtDash() > 0 {
		return nil, cli.Usagef("name either servers, or the command of one after \"--\"")
	}
	a.Breaches = new(lint.Breaches)
	first, names, err := reach.Target(cmd.Context(), a, cmd, args)
	if err != nil {
		return nil, err
	}
	targets := []lintTarget{{first, a.Breaches}}
	for _, name := range names {
		a.Breaches = new(lint.Breaches) // the transport of t will report to this collector
		t, err := reach.ServerTarget(cmd.Context(), a, name)
		if err != nil {
			return nil, err
		}
		targets = append(targets, lintTarget{t, a.Breaches})
	}
	return targets, nil
}

// checkIgnored returns a usage error if --ignore names an unknown rule. Such a rule would otherwise
// have no effect.
func (f *lintFlags) checkIgnored() error {
	for _, word := range f.ignore {
		rule, _, _ := strings.Cut(word, ":")
		if !slices.ContainsFunc(lint.Rules(), func(r lint.Rule) bool { return r.Name == rule }) {
			return cli.Usagef("--ignore: there is no rule %q; docs/lint.md has them all", rule)
		}
	}
	return nil
}

// ignores reports whether --ignore names the finding.
func (f *lintFlags) ignores(found lint.Finding) bool {
	return slices.Contains(f.ignore, found.Rule) || slices.Contains(f.ignore, found.Rule+":"+found.Name)
}

// lintOne checks one server, and returns the findings.
func lintOne(ctx context.Context, a *cli.App, t lintTarget, o lint.Options) *linted {
	l := &linted{Server: plaintext.Line(t.Title(), 200), Findings: []lint.Finding{}, Called: []string{}}
	seen, err := look(ctx, a, t, o)
	if err != nil {
		err = cli.AddTimeoutHint(err)
		l.Error = jsonrpc.Get(cli.ErrorObject(err), "error")
		a.Screen.Printf("junction: %s\n", why.Once(why.Text(err)))
		return l
	}
	for _, err := range seen.Unread {
		a.Screen.Printf("junction: not checked: %s\n", why.Once(why.Text(cli.AddTimeoutHint(err))))
	}
	for i, call := range seen.Calls {
		tool := plaintext.Line(call.Tool, 200)
		l.Called = append(l.Called, tool)
		if call.Err == nil {
			continue
		}
		named := i < len(o.Calls)
		a.Screen.Printf("junction: %s\n", unresolved(&call, named))
		if named {
			l.NoResult = append(l.NoResult, tool)
		}
	}
	if found := lint.Check(seen); len(found) > 0 {
		l.Findings = found
	}
	return l
}

// look connects to a server, and reads everything that lint checks.
func look(ctx context.Context, a *cli.App, t lintTarget, o lint.Options) (*lint.Seen, error) {
	a.Breaches, o.Breaches = t.breaches, t.breaches
	options := a.Launch.Options(t.Target)
	launch.OffersNothing(&options)
	client, err := reach.DialWithNotice(ctx, a, t.Target, options)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return lint.Look(ctx, client, o)
}

// unresolved explains in one line why a call has no result.
func unresolved(call *lint.Call, named bool) string {
	tool := plaintext.Line(call.Tool, 200)
	switch late := errors.Is(call.Err, context.DeadlineExceeded); {
	case late && named:
		return tool + " timed out; its result was not checked; --timeout allows more time"
	case late:
		return fmt.Sprintf("%s timed out; its result was not checked; --call %[1]s waits for the whole --timeout", tool)
	case errors.Is(call.Err, &mcp.Error{Code: mcp.CodeMissingCapability}):
		return fmt.Sprintf("the result of %s was not checked: it needs a client with features that lint lacks: %v", tool, call.Err)
	}
	return fmt.Sprintf("the call of %s gave no result: %v", tool, call.Err)
}

// showLinted prints the findings for one server.
func showLinted(a *cli.App, l *linted, several bool) {
	if several {
		a.Out.Printf("━━ %s\n", l.Server)
	}
	if l.Error != nil { // lintOne has printed the error
		return
	}
	for _, f := range l.Findings {
		a.Out.Printf("%s\n    %s\n", f, f.Remedy)
	}
	counts := map[lint.Severity]int{}
	for _, f := range l.Findings {
		counts[f.Severity]++
	}
	a.Out.Printf("%s, %s, %s; %s called.\n", plaintext.Count(counts[lint.Error], "error"), plaintext.Count(counts[lint.Warning], "warning"), plaintext.Count(counts[lint.Note], "note"), plaintext.Count(len(l.Called), "tool"))
}
