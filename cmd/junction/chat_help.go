package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is how many columns help takes, helpColumn where the texts of flags begin.
const (
	helpWidth  = 80
	helpColumn = 27
)

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
			for name := range strings.FieldsSeq(g.names) {
				if f := cmd.Flags().Lookup(name); f != nil {
					b.WriteString(flagLines(f))
				}
			}
		}
		_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
		return err
	})
}

// flagLines are a flag and what it does.
func flagLines(f *pflag.Flag) string {
	value, text := pflag.UnquoteUsage(f)
	name := "      --" + f.Name
	if f.Shorthand != "" {
		name = "  -" + f.Shorthand + ", --" + f.Name
	}
	switch {
	case f.NoOptDefVal != "" && value != "" && f.Value.Type() != "bool":
		name += "[=" + value + "]"
	case value != "":
		name += " " + value
	}
	var b strings.Builder
	line := fmt.Sprintf("%-*s", helpColumn-1, name)
	if len(name) > helpColumn-2 {
		b.WriteString(name + "\n")
		line = strings.Repeat(" ", helpColumn-1)
	}
	for word := range strings.FieldsSeq(text) {
		if len([]rune(line))+1+len([]rune(word)) > helpWidth {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", helpColumn-1)
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}
