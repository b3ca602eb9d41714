package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/spf13/cobra"
)

func (a *app) listCommand() *cobra.Command {
	var refresh bool
	cmd := &cobra.Command{
		Use:     "list [SERVER…]",
		Aliases: []string{"ls"},
		Short:   "List servers, the files that define them, and their tools, a line each",
		Long: `List every configured server, or those named: the file that defines it, and its tools
with the first sentence of each description.

What servers offer is remembered when they are connected to; those that are remembered
are not started. Others are connected to.

With --json: {"servers": {NAME: {"source": FILE, "tools": […]}}}; source is missing for
a server that ships with junction, "disabled" says that a file switches it off, and
"error" says why there are no tools.`,
		ValidArgsFunction: a.suggestServers,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() >= 0 {
				return usagef(`%s: lists configured servers; for the command of one, see %s tools -- COMMAND`, cmd.CommandPath(), cmd.Root().Name())
			}
			return a.overview(cmd.Context(), args, refresh)
		},
	}
	cmd.Flags().BoolVar(&refresh, "refresh", false, "ask all servers, also those whose tools are remembered")
	a.clientFlags(cmd.Flags())
	return cmd
}

func (a *app) overview(ctx context.Context, names []string, refresh bool) error {
	return a.listAll(ctx, toolList(), names, refresh, true, func(all []listedServer) error {
		if err := a.askOpen(ctx, toolList(), all, len(names) > 0); err != nil {
			return err
		}
		for i, s := range all {
			if err := a.printOverview(s, i == 0); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *app) printOverview(s listedServer, first bool) error {
	details := []string{s.entry.origin()}
	switch d := s.entry.definition; {
	case d != nil && d.Disabled:
		details = append(details, "disabled")
	case errors.As(s.listing.err, new(*consentError)):
		details = append(details, "not agreed to")
	case s.listing.err != nil:
		details = append(details, "not connected")
	default:
		details = append(details, plaintext.Count(len(s.listing.entries), "tool"))
	}
	if s.listing.remembered {
		details = append(details, "remembered")
	}
	text, fault := texts(show.ToolLines)(s.listing.entries, a.out.Width())
	text = plaintext.Line(s.entry.name, 80) + "  (" + plaintext.Line(strings.Join(details, ", "), 300) + ")\n" + text
	if !first {
		text = "\n" + text
	}
	if fault != nil {
		a.screen.Printf("junction: server %q: %v\n", s.entry.name, fault)
	}
	_, err := fmt.Fprint(a.out, text)
	return err
}

// reportEmpty says that no server is configured, where a list would be empty without a word.
func (a *app) reportEmpty(set *config.Set, entries []entry) {
	if why := nothing("there is no server", set, entries); why != nil && len(entries) == 0 && len(set.Problems()) == 0 {
		a.screen.Printf("junction: %v\n", why)
	}
}
