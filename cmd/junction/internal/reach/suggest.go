package reach

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/arguments"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// SuggestTimeout is how long a shell waits for completions from a server.
const SuggestTimeout = 3 * time.Second

// SuggestServers returns a completion function for SERVER. It suggests configured names.
func SuggestServers(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if dash := cmd.ArgsLenAtDash(); dash >= 0 && dash < len(args) { // cobra appends its own dashes at the end
			return nil, cobra.ShellCompDirectiveDefault
		}
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.Screen = terminal.NewScreen(io.Discard)
		return ServerValues(a, cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
}

// SuggestTools returns a completion function for the name of a tool and, after that, for its
// arguments.
func SuggestTools(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 1 {
			return suggestArguments(a, cmd, args, typed)
		}
		return suggest(a, cmd, args, ListNames((*mcp.Client).Tools, func(t *mcp.Tool) (name, what string) { return t.Name, t.Description }))
	}
}

// SuggestToolNames returns a completion function for any number of tool names.
func SuggestToolNames(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return SuggestTools(a)(cmd, args[:min(len(args), 1)], typed)
	}
}

// suggestArguments completes KEY=VALUE. It suggests keys that are missing, or the values of an
// enumeration.
func suggestArguments(a *cli.App, cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	key, _, valued := strings.Cut(typed, "=")
	words, directive := suggest(a, cmd, args[:1], func(ctx context.Context, c *mcp.Client, add func(name, what string)) {
		for t, err := range c.Tools(ctx) {
			if err != nil || t.Name != args[1] {
				continue
			}
			for _, f := range arguments.Fields(t.InputSchema) {
				given := slices.ContainsFunc(args[2:], func(word string) bool { return strings.HasPrefix(word, f.Name+"=") })
				switch {
				case valued && f.Name == key:
					for _, choice := range f.Choices {
						add(f.Name+"="+choice, "")
					}
				case !valued && !given:
					add(f.Name+"=", f.String())
				}
			}
		}
	})
	if !valued {
		directive |= cobra.ShellCompDirectiveNoSpace
	}
	return words, directive
}

// CompleteFrom returns a completion function for the word after SERVER. It suggests the names that
// list adds.
func CompleteFrom(a *cli.App, list func(context.Context, *mcp.Client, func(name, what string))) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return suggest(a, cmd, args, list)
	}
}

// ListNames returns a function for [CompleteFrom] that adds the entries of a list. It ignores
// errors.
func ListNames[T any](list func(*mcp.Client, context.Context) iter.Seq2[T, error], words func(T) (name, what string)) func(context.Context, *mcp.Client, func(name, what string)) {
	return func(ctx context.Context, c *mcp.Client, add func(name, what string)) {
		for entry, err := range list(c, ctx) {
			if err == nil {
				add(words(entry))
			}
		}
	}
}

// suggest completes the word after SERVER with the names that list adds. A completion cannot ask
// the user, so there are no suggestions for a server that needs consent or an input.
func suggest(a *cli.App, cmd *cobra.Command, args []string, list func(context.Context, *mcp.Client, func(name, what string))) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return SuggestServers(a)(cmd, args, "")
	}
	a.Screen, a.Person = terminal.NewScreen(io.Discard), nil
	a.Desk.Screen, a.Desk.Person, a.Sharing = a.Screen, nil, sharedCalls
	ctx, cancel := context.WithTimeout(cmd.Context(), SuggestTimeout)
	defer cancel()
	t, err := ServerTarget(ctx, a, args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	client, err := Connect(ctx, a, t)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer client.Close()
	var words []string
	list(ctx, client, func(name, what string) {
		if plaintext.Clean(name) == name && !strings.ContainsAny(name, "\t\n") {
			words = append(words, name+"\t"+plaintext.Line(what, 80))
		}
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}

// ServerValues returns the configured servers as completions with descriptions.
func ServerValues(a *cli.App, _ context.Context) (values []string) {
	_, entries, err := ConfiguredServers(a)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		kind := "ships with junction"
		if d := e.Definition; d != nil {
			kind = plaintext.Line(d.Kind.String()+", "+d.Source, 100)
		}
		values = append(values, e.Name+"\t"+kind)
	}
	return values
}
