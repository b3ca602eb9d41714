package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how many columns help takes.
const helpWidth = 80

// A flagGroup are flags that a person looks for in one place.
type flagGroup struct {
	title string
	names string
}

func chatGroups() []flagGroup {
	return []flagGroup{
		{"The question and its answer", "prompt attach instructions json trace trace-file record"},
		{"The model", "model base-url key-env injected window max-answer price effort"},
		{"The servers", "config frozen up root env header timeout revision elicit"},
		{"What may be done", "allow trust approve policy"},
		{"Limits of a run", "max-steps max-time max-tokens max-cost"},
		{"What the model sees at once", "tool-budget always result-budget embeddings embeddings-model embeddings-key-env"},
		{"Conversations", "resume fork no-save"},
		{"The terminal", "theme plain no-alerts verbose help"},
	}
}

// groupFlags has a command's help list its flags by what they are for.
func groupFlags(cmd *cobra.Command, groups []flagGroup) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
		for _, g := range groups {
			fmt.Fprintf(&b, "\n%s:\n", g.title)
			set := pflag.NewFlagSet(g.title, pflag.ContinueOnError)
			set.SortFlags = false
			for name := range strings.FieldsSeq(g.names) {
				if f := cmd.Flags().Lookup(name); f != nil {
					shown := *f
					shown.Value, shown.DefValue = struct{ pflag.Value }{f.Value}, "" // the text says it; of what is no list or number, that is none
					set.AddFlag(&shown)
				}
			}
			b.WriteString(set.FlagUsagesWrapped(helpWidth))
		}
		_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
		return err
	})
}
