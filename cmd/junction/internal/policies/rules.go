package policies

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/policy"
	"github.com/spf13/cobra"
)

// policyListCommand returns the command policy list.
func policyListCommand(a *cli.App) *cobra.Command {
	var path, profile string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the rules, the strictest first, or the mistakes in them",
		Args:  cli.NoArguments,
		Long: `List the rules that apply here, the strictest first, with the built-in ones, or all mistakes
in their files, with their places. A rule may have a slip if it names a server that is not
configured, or a tool that the server did not list at its last connection. These are
listed, too.

` + policyHelp + "\n\n" + policyExitHelp,
		RunE: func(cmd *cobra.Command, _ []string) error {
			set, entries, err := reach.ConfiguredServers(a)
			if err != nil {
				return err
			}
			source, err := readPolicySource(a, set, path, profile)
			if err != nil {
				return err
			}
			book, err := source.book(profile)
			if err != nil {
				return err
			}
			source.report(profile)
			reportUnmatchedRules(cmd.Context(), a, book.Rules(), source, set, entries)
			return listRules(a, book)
		},
	}
	PolicyFlag(cmd.Flags(), &path)
	cmd.Flags().StringVar(&profile, "profile", "", "the rules that junction up has for this `PROFILE` of the configuration")
	reach.ConfigFlags(a, cmd.Flags())
	a.JSONFlag(cmd, rulesShown{})
	return cmd
}

// A rulesShown is the output of policy list --json.
type rulesShown struct {
	Files []string      `json:"files"`
	Rules []policy.Rule `json:"rules"`
}

// listRules prints all rules of a rulebook.
func listRules(a *cli.App, book *rules.Book) error {
	if a.Flags.JSON {
		return a.PrintJSON(rulesShown{book.Paths(), book.Rules()})
	}
	rows := [][]string{}
	for _, r := range book.Rules() {
		rows = append(rows, []string{string(r.Effect), plaintext.Line(r.Source, 200), plaintext.Line(DescribeRule(r), cli.MaxLog)})
	}
	_, err := fmt.Fprint(a.Out, a.Table(rows, 0))
	return err
}

// DescribeRule returns the name, conditions and reason of a rule as text.
func DescribeRule(r policy.Rule) string {
	about := ""
	if r.Name != "" {
		about = r.Name + ": "
	}
	r.Name, r.Source = "", ""
	about += strings.TrimPrefix(r.String(), string(r.Effect)+" ")
	if r.Reason != "" {
		about += " (" + r.Reason + ")"
	}
	return about
}

// reportUnmatchedRules prints the rules that name unconfigured servers or unlisted tools. Without
// --config, it reports an unconfigured server only if its name resembles another.
func reportUnmatchedRules(ctx context.Context, a *cli.App, rules []policy.Rule, source *policySource, set *config.Set, entries []launch.Entry) {
	if len(entries) == 0 {
		return
	}
	w := &reach.Vocabulary{Servers: launch.ConfiguredNames(set, entries), Known: map[string]*reach.Offering{}}
	for _, e := range entries {
		if d := reach.StoredDefinitions(ctx, e, a.Store()); d != nil {
			w.Known[e.Name] = reach.NewOffering(e.Name, d, source.settings.Servers[e.Name])
		}
	}
	for i := range rules {
		r := &rules[i]
		fault := w.UnknownServer(r)
		if len(a.Launch.Config) == 0 && nearest.Name(r.Server, w.Servers) == "" {
			fault = ""
		}
		if fault = cmp.Or(fault, w.UnknownTool(r)); fault != "" {
			a.Screen.Printf("junction: %s: %s\n", r, fault)
		}
	}
}
