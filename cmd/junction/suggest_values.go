package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/spf13/cobra"
)

// A valueSource returns the possible values at a place of the command line. A value may be followed
// by a tab and a description.
type valueSource func(a *cli.App, ctx context.Context) []string

// suggestValues sets completions that do not ask a server. Some complete the words of a command
// that takes several, and others complete the values of flags.
func suggestValues(a *cli.App, root *cobra.Command) {
	for _, at := range []struct {
		command, flag string // without flag: the words of the command
		values        valueSource
	}{
		{"host connect", "", hostValues}, {"host disconnect", "", hostValues}, {"host import", "", hostValues}, {"host tap", "", hostValues},
		{"chat", "", reach.ServerValues}, {"chat", "resume", conversationValues}, {"chat", "fork", conversationValues}, {"chat", "theme", themeValues}, {"chat", "model", modelValues},
		{"chat", "trust", reach.ServerValues}, {"chat", "always", reach.ServerValues},
		{"chat history export", "", conversationValues}, {"chat history fork", "", conversationValues}, {"chat history remove", "", conversationValues},
		{"traffic", "server", reach.ServerValues}, {"audit query", "server", reach.ServerValues}, {"test", "server", reach.ServerValues},
	} {
		suggest := func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
			a.Screen = terminal.NewScreen(io.Discard)
			directive := cobra.ShellCompDirectiveNoFileComp
			values := slices.DeleteFunc(at.values(a, cmd.Context()), func(value string) bool {
				name, _, _ := strings.Cut(value, "\t")
				return at.flag == "" && slices.Contains(given, name)
			})
			if slices.ContainsFunc(values, func(value string) bool { return strings.HasSuffix(value, ":") }) {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			return values, directive
		}
		for _, path := range spellings(at.command) {
			cmd, _, _ := root.Find(strings.Fields(path))
			switch {
			case cmd == root: // the command was not added, because words cannot reach it
			case at.flag == "":
				cmd.ValidArgsFunction = suggest
			default:
				_ = cmd.RegisterFlagCompletionFunc(at.flag, suggest) // fails if the flag does not exist or already has a completion
			}
		}
	}
}

func hostValues(*cli.App, context.Context) (values []string) {
	for _, h := range hostconfig.Hosts() {
		values = append(values, h.ID+"\t"+h.Name)
	}
	return values
}

// conversationValues returns the most recent conversations.
func conversationValues(a *cli.App, ctx context.Context) (values []string) {
	stored, err := reach.OpenConversations(ctx, a.Place)
	if err != nil {
		return nil
	}
	defer stored.Close()
	all, err := stored.List(ctx, archive.Filter{})
	if err != nil {
		return nil
	}
	for _, c := range all {
		values = append(values, c.ID+"\t"+plaintext.Line(c.Title, chat.MaxTitleShown))
	}
	return values
}

func themeValues(*cli.App, context.Context) []string {
	return []string{"auto", "dark", "light", "mono"}
}

// modelValues returns the prefixes of models' names, and the built-in model.
func modelValues(*cli.App, context.Context) []string {
	values := []string{"offline"}
	for _, provider := range chat.ProviderNames() {
		values = append(values, provider+":")
	}
	return values
}
