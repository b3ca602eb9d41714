package chat

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A flagGroup is a group of flags in the help.
type flagGroup struct {
	title string
	names string
}

// chatGroups returns the groups of the flags of chat.
func chatGroups() []flagGroup {
	return []flagGroup{
		{"The question and its answer", "prompt attach instructions json trace trace-file record"},
		{"The model", "model base-url key-env injected window max-answer price effort"},
		{"The servers", "config frozen up root env header timeout revision elicit"},
		{"Permissions", "allow trust approve policy"},
		{"Limits of a run", "max-steps max-time max-tokens max-cost"},
		{"Size of the model's input", "tool-budget always result-budget embeddings embeddings-model embeddings-key-env"},
		{"Conversations", "resume fork no-save"},
		{"The terminal", "theme plain no-alerts verbose help"},
	}
}

// groupFlags makes the help of a command list its flags in groups.
func groupFlags(cmd *cobra.Command, groups []flagGroup) {
	cmd.SetUsageFunc(func(shown *cobra.Command) error {
		if shown != cmd { // a subcommand inherits this function
			return cli.PlainUsage(shown, cli.HelpWidth)
		}
		var b strings.Builder
		for _, g := range groups {
			fmt.Fprintf(&b, "%s:\n", g.title)
			set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
			set.SortFlags = false
			for name := range strings.FieldsSeq(g.names) {
				if f := cmd.Flags().Lookup(name); f != nil {
					shown := *f
					if f.Value.Type() == "float64Slice" {
						shown.DefValue = "" // pflag would print [] as the default
					}
					set.AddFlag(&shown)
				}
			}
			b.WriteString(cli.FlagUsages(set, cli.HelpWidth) + "\n")
		}
		return cli.Usage(cmd, b.String())
	})
}
