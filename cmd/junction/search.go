package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/registry"
	"github.com/spf13/cobra"
)

// maxServersFound is how many servers a search may print.
const maxServersFound = 1_000

func (a *app) searchCommand() *cobra.Command {
	var f registryFlags
	limit := 20
	cmd := &cobra.Command{
		Use:   "search WORD…",
		Short: "Find servers in the registries",
		Long: `Find servers by words, in any language. Those that have all words come first, and of
these the ones that have them in their names, changed lately, and show signs of care;
deprecated servers come last.

The registries are copied once, and what changed is read when the copy is an hour old:
searching itself needs no network. Which registries, the configuration says:

  {"junction": {"registries": [
    {"url": "https://registry.example.com", "token": "${secret:registry}"},
    {"folder": "our-servers"},
    {"name": "official", "url": "` + officialRegistry + `"}]}}

By default it is the last of these alone. Of a server that several have, the first counts.

With --json: {"servers": [{"server": {…}, "source": …, "status": …, …}], "total": …,
"sources": [{"name": …, "synced": …, …}]}.

` + exitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > maxServersFound {
				return usagef("--limit: expected 1 to %d, got %d", maxServersFound, limit)
			}
			return a.search(cmd.Context(), strings.Join(args, " "), limit, f)
		},
	}
	f.define(cmd.Flags())
	a.configFlags(cmd.Flags())
	cmd.Flags().IntVar(&limit, "limit", limit, "print at most `N` servers")
	cmd.Flags().BoolVar(&a.flags.json, "json", false, "print one object")
	return cmd
}

func (a *app) search(ctx context.Context, words string, limit int, f registryFlags) error {
	m, states, err := a.freshMirror(ctx, f)
	if err != nil {
		return err
	}
	found, err := m.Search(ctx, registry.Search{Words: words, Limit: limit})
	switch {
	case errors.Is(err, registry.ErrNoWords):
		return usagef("expected words to search for, got %q", words)
	case err != nil:
		return err
	}
	if a.flags.json {
		return a.printFound(found, states)
	}
	if len(found.Entries) == 0 {
		servers := 0
		for _, s := range states {
			servers += s.Servers
		}
		a.screen.Printf("junction: none of %s has %q\n", count(servers, "server"), words)
		return nil
	}
	if _, err := fmt.Fprint(a.out, show.Found(found.Entries, len(states) > 1, a.out.Width())); err != nil {
		return err
	}
	more := ""
	if found.Total > len(found.Entries) {
		more = fmt.Sprintf("%d of %d servers; --limit shows more. ", len(found.Entries), found.Total)
	}
	a.screen.Printf("(%sjunction info NAME shows all about one.)\n", more)
	return nil
}

// printFound prints what a search found for programs.
func (a *app) printFound(found *registry.Found, states []registry.SourceState) error {
	w := jsonrpc.NewObject(nil)
	w.Array("servers")
	for i := range found.Entries {
		w.ObjectElement()
		entryMembers(&w, &found.Entries[i])
		w.End()
	}
	w.End()
	w.Int("total", int64(found.Total))
	w.Array("sources")
	for _, s := range states {
		w.ObjectElement()
		w.String("name", s.Name)
		w.Int("servers", int64(s.Servers))
		timeMember(&w, "synced", s.Synced)
		if s.Fault != "" {
			w.String("fault", s.Fault)
		}
		w.End()
	}
	w.End()
	_, err := fmt.Fprintf(a.stdout, "%s\n", w.Bytes())
	return err
}

// entryMembers writes an entry as members of an object: the server.json as it came, and what else is known.
func entryMembers(w *jsonrpc.Writer, e *registry.Entry) {
	var line bytes.Buffer // files of folders are written for people
	if err := json.Compact(&line, e.Server.Raw); err == nil {
		w.Raw("server", line.Bytes())
	}
	if len(e.Meta) > 0 {
		w.Raw("_meta", json.RawMessage(e.Meta))
	}
	w.String("source", e.Source)
	if len(e.Also) > 0 {
		w.Array("also")
		for _, name := range e.Also {
			w.StringElement(name)
		}
		w.End()
	}
	w.String("status", string(e.Status))
	if e.StatusMessage != "" {
		w.String("statusMessage", e.StatusMessage)
	}
	w.Bool("isLatest", e.IsLatest)
	timeMember(w, "published", e.Published)
	timeMember(w, "updated", e.Updated)
}

func timeMember(w *jsonrpc.Writer, name string, t time.Time) {
	if !t.IsZero() {
		w.String(name, t.UTC().Format(time.RFC3339))
	}
}

// suggestRegistered completes names of servers in the registries, as they are in the copy.
func (a *app) suggestRegistered(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	a.screen = terminal.NewScreen(io.Discard)
	ctx, cancel := context.WithTimeout(cmd.Context(), suggestTimeout)
	defer cancel()
	registries, _ := cmd.Flags().GetStringArray("registry") // it is there, twice even
	m, err := a.openMirror(ctx, registryFlags{registries: slices.Compact(registries)})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, _ := m.Names(ctx, typed) // as far as they can be read
	return names, cobra.ShellCompDirectiveNoFileComp
}
