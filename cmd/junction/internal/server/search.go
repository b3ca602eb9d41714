package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/registry"
	"github.com/spf13/cobra"
)

// maxServersFound is the largest number of servers that a search prints.
const maxServersFound = 1_000

// SearchCommand returns the command server search.
func SearchCommand(a *cli.App) *cobra.Command {
	var f RegistryFlags
	limit := 20
	cmd := &cobra.Command{
		Use:   "search WORD…",
		Short: "Find servers in the registries",
		Long: `Find servers by words, in any language. Servers with all words come first. Among these
the order is by matches in the name, recent changes, and signs of maintenance.
Deprecated servers come last.

The registries are copied once, and the copy is updated when it is an hour old. The
search itself needs no network. The configuration names the registries:

  {"junction": {"registries": [
    {"url": "https://registry.example.com", "token": "${secret:registry}"},
    {"folder": "our-servers"},
    {"name": "official", "url": "` + OfficialRegistry + `"}]}}

The default is only the last of these. If several have a server, the first one counts.

` + cli.ExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > maxServersFound {
				return cli.Usagef("--limit: expected 1 to %d, got %d", maxServersFound, limit)
			}
			return searchRegistries(cmd.Context(), a, strings.Join(args, " "), limit, f)
		},
	}
	f.Define(cmd.Flags())
	reach.ConfigFlags(a, cmd.Flags())
	cmd.Flags().IntVar(&limit, "limit", limit, "print at most `N` servers")
	a.JSONFlag(cmd, foundShown{})
	return cmd
}

// searchRegistries prints the servers that match words.
func searchRegistries(ctx context.Context, a *cli.App, words string, limit int, f RegistryFlags) error {
	m, states, err := SyncMirror(ctx, a, f)
	if err != nil {
		return err
	}
	found, err := m.Search(ctx, registry.Search{Words: words, Limit: limit})
	switch {
	case errors.Is(err, registry.ErrNoWords):
		return cli.Usagef("expected words to search for, got %q", words)
	case err != nil:
		return err
	}
	if a.Flags.JSON {
		return printFound(a, found, states)
	}
	if len(found.Entries) == 0 {
		servers := 0
		for _, s := range states {
			servers += s.Servers
		}
		a.Screen.Printf("junction: nothing found in %s for %q\n", plaintext.Count(servers, "server"), words)
		return nil
	}
	if _, err := fmt.Fprint(a.Out, show.Found(found.Entries, len(states) > 1, a.Out.Width())); err != nil {
		return err
	}
	more := ""
	if found.Total > len(found.Entries) {
		more = fmt.Sprintf("%d of %d servers; --limit shows more. ", len(found.Entries), found.Total)
	}
	a.Screen.Printf("(%sjunction server info NAME shows one in full.)\n", more)
	return nil
}

// A foundShown is the output of search --json.
type foundShown struct {
	Servers []registeredShown `json:"servers"`
	Total   int               `json:"total"`
	Sources []sourceShown     `json:"sources"`
}

type sourceShown struct {
	Name    string    `json:"name"`
	Servers int       `json:"servers"`
	Synced  time.Time `json:"synced,omitzero"`
	Fault   string    `json:"fault,omitempty"`
}

// printFound prints the result of a search as JSON.
func printFound(a *cli.App, found *registry.Found, states []registry.SourceState) error {
	answer := foundShown{Total: found.Total}
	for i := range found.Entries {
		answer.Servers = append(answer.Servers, showRegistered(&found.Entries[i]))
	}
	for _, s := range states {
		answer.Sources = append(answer.Sources, sourceShown{s.Name, s.Servers, second(s.Synced), s.Fault})
	}
	return a.PrintJSON(answer)
}

// A registeredShown is a server of a registry in the output: its server.json as received, and its
// status.
type registeredShown struct {
	Server        json.RawMessage `json:"server"`
	Meta          json.RawMessage `json:"_meta,omitzero"`
	Source        string          `json:"source"`
	Also          []string        `json:"also,omitempty"`
	Status        registry.Status `json:"status"`
	StatusMessage string          `json:"statusMessage,omitempty"`
	IsLatest      bool            `json:"isLatest"`
	Published     time.Time       `json:"published,omitzero"`
	Updated       time.Time       `json:"updated,omitzero"`
}

// showRegistered returns the form of a server for the output.
func showRegistered(e *registry.Entry) registeredShown {
	return registeredShown{e.Server.Raw, e.Meta, e.Source, e.Also, e.Status, e.StatusMessage, e.IsLatest, second(e.Published), second(e.Updated)}
}

// second returns a time in UTC, truncated to the second.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// suggestRegistered returns a completion function for names of servers in the copy of the
// registries.
func suggestRegistered(a *cli.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.Screen = terminal.NewScreen(io.Discard)
		ctx, cancel := context.WithTimeout(cmd.Context(), reach.SuggestTimeout)
		defer cancel()
		registries, _ := cmd.Flags().GetStringArray("registry") // the flag exists, and its values occur twice
		m, err := OpenMirror(ctx, a, RegistryFlags{Registries: slices.Compact(registries)})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, _ := m.Names(ctx, typed) // errors are ignored
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
