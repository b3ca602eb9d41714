package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxDialing is how many servers are asked at the same time.
const maxDialing = 8

// A list is something that servers list.
type list struct {
	*revision.Method
	command string
	text    func(entries []json.RawMessage, width int) (string, error)
	// brief is text with a line for each entry; nil where there is no such form.
	brief func(entries []json.RawMessage, width int) (string, error)
}

// declares reports whether a server declares to have a list. Those of extensions may only be asked for then.
func declares(c mcp.ServerCapabilities, l *revision.Method) bool {
	if l.Name == skills.MethodList {
		return skills.Declared(c)
	}
	return c.List(l.Capability) != nil
}

func allLists() []list {
	return []list{
		toolList(),
		{revision.MethodNamed("resources/list"), "resources", texts(show.Resources), nil},
		{revision.MethodNamed("resources/templates/list"), "templates", texts(show.Templates), nil},
		{revision.MethodNamed("prompts/list"), "prompts", texts(show.Prompts), nil},
		skillList(),
	}
}

func toolList() list {
	return list{revision.MethodNamed("tools/list"), "tools", texts(show.Tools), texts(show.ToolLines)}
}

// nouns names several entries of the list.
func (l list) nouns() string { return l.Noun + "s" }

// A listFlags is what the command line of a list says.
type listFlags struct{ all, refresh, long bool }

func (f *listFlags) define(a *app, flags *pflag.FlagSet) {
	flags.BoolVar(&f.all, "all", false, "list those of all servers, as without SERVER")
	flags.BoolVar(&f.refresh, "refresh", false, "ask all servers, also those whose lists are remembered")
	a.clientFlags(flags)
	a.ownFlag(flags)
}

// newCommand returns the command that lists what servers offer.
func (l list) newCommand(a *app) *cobra.Command {
	switch l.command {
	case toolList().command:
		return a.toolsCommand()
	case skillList().command:
		return a.skillsCommand()
	}
	var f listFlags
	cmd := &cobra.Command{
		Use:               l.command + " [SERVER | -- COMMAND…]",
		Short:             "List the " + l.nouns() + " of a server, or of all servers",
		Long:              "List the " + l.nouns() + " of a server; without one, those of every configured server.\n\n" + listHelp(l),
		ValidArgsFunction: a.suggestServers,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.list(cmd, l, args, f) },
	}
	f.define(a, cmd.Flags())
	return cmd
}

func (a *app) toolsCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "tools [SERVER [TOOL…] | [TOOL…] -- COMMAND…]",
		Short: "List the tools of a server, or of all servers",
		Long: `List the tools of a server; without one, those of every configured server. A terminal
shows a line for each; with TOOL, or with --long, descriptions and arguments are shown
in full, as they are where no terminal is.

` + listHelp(toolList()),
		ValidArgsFunction: a.suggestToolNames,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.list(cmd, toolList(), args, f) },
	}
	f.define(a, cmd.Flags())
	cmd.Flags().BoolVarP(&f.long, "long", "l", false, "show descriptions and arguments in full")
	return cmd
}

func listHelp(l list) string {
	return "Lists of all servers are as they were when each was last connected to; servers that\n" +
		"were never connected to are started, and so are all with --refresh.\n\n" +
		"With --json: one object {\"" + l.Member + "\": […]} that holds all pages; without a server\n" +
		"{\"servers\": {NAME: {\"" + l.Member + "\": […]} or {\"error\": {…}}}}. Of a gateway that has not\n" +
		"reached all of its servers, {\"missing\": [{\"server\": …, \"reason\": …}]} is there, too."
}

// texts makes a renderer of typed entries one of raw entries. What cannot be
// read is left out, so that it does not hide the others.
func texts[T any](render func([]*T, int) string) func([]json.RawMessage, int) (string, error) {
	return func(entries []json.RawMessage, width int) (string, error) {
		var items []*T
		var faults []error
		for i, raw := range entries {
			item := new(T)
			if err := schema.DecodeLoose(raw, item); err != nil {
				faults = append(faults, fmt.Errorf("entry %d cannot be read: %w", i+1, err))
				continue
			}
			items = append(items, item)
		}
		return render(items, width), errors.Join(faults...)
	}
}

// list lists what one server has, or with names only that of it; or what all have.
func (a *app) list(cmd *cobra.Command, l list, args []string, f listFlags) error {
	ctx := cmd.Context()
	if len(args) == 0 && cmd.ArgsLenAtDash() < 0 {
		l = l.shownAs(f.long || !a.out.Terminal())
		return a.listAll(ctx, l, nil, f.refresh, false)
	}
	t, names, err := a.listTarget(cmd, args, f)
	if err != nil {
		return err
	}
	if len(names) > 0 && l.brief == nil {
		return usagef("%s: unexpected %q", cmd.CommandPath(), names[0])
	}
	return a.listOne(ctx, l, t, names, f)
}

// listTarget finds the server that a list is of, and returns what else is on the command line.
func (a *app) listTarget(cmd *cobra.Command, args []string, f listFlags) (launch.Target, []string, error) {
	if f.all {
		return launch.Target{}, nil, usagef("%s: --all lists those of all servers, so name none", cmd.CommandPath())
	}
	return a.target(cmd.Context(), cmd, args)
}

// listOne lists what one server has, or with names only that of it.
func (a *app) listOne(ctx context.Context, l list, t launch.Target, names []string, f listFlags) error {
	if t.Origin != "" && !a.flags.json {
		a.screen.Printf("%s: %s\n", t.Name, t.Origin)
	}
	listed := a.fetch(ctx, l, t, nil)
	if listed.err != nil {
		return listed.err
	}
	if !a.flags.json {
		for _, one := range listed.missing { // servers of a gateway
			a.screen.Printf("junction: the %s of server %q are missing: %s\n", l.nouns(), plaintext.Line(one.server, 80), plaintext.Line(one.reason, maxReason))
		}
	}
	var err error
	if len(names) > 0 {
		listed.entries, err = named(listed.entries, names)
		if err != nil && (a.flags.json || len(listed.entries) == 0) {
			return err
		}
	}
	l = l.shownAs(f.long || len(names) > 0 || !a.out.Terminal())
	if a.flags.json {
		w := jsonrpc.NewObject(nil)
		listed.members(&w, l.Member)
		_, err := fmt.Fprintf(a.stdout, "%s\n", w.Bytes())
		return err
	}
	if len(listed.entries) == 0 {
		a.screen.Printf("The server has no %s.\n", l.nouns())
	}
	if err := cmp.Or(a.printList(l, t.Title(), listed.entries), err); err != nil {
		return err
	}
	if l.brief != nil && len(listed.entries) > 0 {
		a.screen.Printf("(--long shows them in full; junction %s SERVER TOOL shows one.)\n", l.command)
	}
	return nil
}

// shownAs returns the list with its entries shown in full, or a line each where
// there is such a form.
func (l list) shownAs(full bool) list {
	if !full && l.brief != nil {
		l.text = l.brief
		return l
	}
	l.brief = nil
	return l
}

// named returns the entries with these names, in the order of the names. The error
// says which there are not.
func named(entries []json.RawMessage, names []string) ([]json.RawMessage, error) {
	byName, all := map[string]json.RawMessage{}, []string(nil)
	for _, raw := range entries {
		if name, ok := jsonrpc.Unquote(jsonrpc.Get(raw, "name")); ok {
			byName[name], all = raw, append(all, name)
		}
	}
	var some []json.RawMessage
	var missing []string
	for _, name := range names {
		if raw, ok := byName[name]; ok {
			some = append(some, raw)
		} else {
			missing = append(missing, fmt.Sprintf("the server lists no tool %q%s", name, orMeant(nearest.Name(name, all))))
		}
	}
	if len(missing) == 0 {
		return some, nil
	}
	if hidesTools(all) {
		missing = append(missing, "call describe_tool for one that search_tools found")
	}
	return some, usagef("%s", strings.Join(missing, "; "))
}

// A listing is what one server listed.
type listing struct {
	entries []json.RawMessage
	// remembered says that the server was not asked, and read when it was last; zero where that is not known.
	remembered bool
	read       time.Time
	// runs is the server in a junction up; nil where none has it.
	runs *runningServer
	// missing are servers behind this one, a gateway, whose entries are not in the list.
	missing []absent
	err     error
}

// printList prints entries for people, and what is wrong with others.
func (a *app) printList(l list, server string, entries []json.RawMessage) error {
	text, fault := l.text(entries, a.out.Width())
	if fault != nil {
		a.screen.Printf("junction: server %q: %v\n", server, fault)
	}
	_, err := fmt.Fprint(a.out, text)
	return err
}

// members writes what a server listed, or why it could not be asked, as members of an object.
func (got *listing) members(w *jsonrpc.Writer, member string) {
	if got.err != nil {
		w.Members(json.RawMessage(errorObject(got.err)))
		return
	}
	w.Array(member)
	for _, raw := range got.entries {
		w.Element(raw)
	}
	w.End()
	if len(got.missing) == 0 {
		return
	}
	w.Array("missing")
	for _, one := range got.missing {
		w.ObjectElement()
		w.String("server", one.server)
		w.String("reason", one.reason)
		w.End()
	}
	w.End()
}

// printJSON prints the lists of several servers as one object; with about, where each server is
// defined, and whether it is switched off.
func (a *app) printJSON(l list, all []listedServer, about bool) error {
	w := jsonrpc.NewObject(nil)
	w.Object("servers")
	for _, s := range all {
		w.Object(s.entry.name)
		if d := s.entry.definition; about && d != nil {
			w.String("source", d.Source)
		}
		if about && s.entry.isDisabled() {
			w.Bool("disabled", true)
		} else {
			s.listing.members(&w, l.Member)
		}
		w.End()
	}
	w.End()
	_, err := fmt.Fprintf(a.stdout, "%s\n", w.Bytes())
	return err
}
