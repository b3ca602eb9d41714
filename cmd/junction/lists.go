package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
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

func (f *listFlags) define(a *cli.App, cmd *cobra.Command, written ...any) {
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "list those of all servers, as without SERVER")
	flags.BoolVar(&f.refresh, "refresh", false, "ask all servers, also those whose lists are remembered")
	connectionFlags(a, flags)
	a.JSONFlag(cmd, append([]any{allListed{}, listedShown{}}, written...)...)
	ownFlag(a, flags)
}

// newListCommand returns the command that lists what servers offer.
func newListCommand(a *cli.App, l list) *cobra.Command {
	switch l.command {
	case toolList().command:
		return toolsCommand(a)
	case skillList().command:
		return skillsCommand(a)
	}
	var f listFlags
	cmd := &cobra.Command{
		Use:               l.command + " [SERVER | -- COMMAND…]",
		Short:             "List the " + l.nouns() + " of a server, or of all servers",
		Long:              "List the " + l.nouns() + " of a server; without one, those of every configured server.\n\n" + listHelp(),
		ValidArgsFunction: suggestServers(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return listServers(a, cmd, l, args, f) },
	}
	f.define(a, cmd)
	return cmd
}

func toolsCommand(a *cli.App) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "tools [SERVER [TOOL…] | [TOOL…] -- COMMAND…]",
		Short: "List the tools of a server, or of all servers",
		Long: `List the tools of a server; without one, those of every configured server. A terminal
shows a line for each; with TOOL, or with --long, descriptions and arguments are shown
in full, as they are where no terminal is.

` + listHelp(),
		ValidArgsFunction: suggestToolNames(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return listServers(a, cmd, toolList(), args, f) },
	}
	f.define(a, cmd)
	cmd.Flags().BoolVarP(&f.long, "long", "l", false, "show descriptions and arguments in full")
	return cmd
}

func listHelp() string {
	return "Lists of all servers are as they were when each was last connected to; servers that\n" +
		"were never connected to are started, and so are all with --refresh."
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

// listServers lists what one server has, or with names only that of it; or what all have.
func listServers(a *cli.App, cmd *cobra.Command, l list, args []string, f listFlags) error {
	ctx := cmd.Context()
	if len(args) == 0 && cmd.ArgsLenAtDash() < 0 {
		l = l.shownAs(f.long || !a.Out.Terminal())
		return listAll(ctx, a, l, nil, f.refresh, false)
	}
	t, names, err := listTarget(a, cmd, args, f)
	if err != nil {
		return err
	}
	if len(names) > 0 && l.brief == nil {
		return cli.Usagef("%s: unexpected %q", cmd.CommandPath(), names[0])
	}
	return listOne(ctx, a, l, t, names, f)
}

// listTarget finds the server that a list is of, and returns what else is on the command line.
func listTarget(a *cli.App, cmd *cobra.Command, args []string, f listFlags) (launch.Target, []string, error) {
	if f.all {
		return launch.Target{}, nil, cli.Usagef("%s: --all lists those of all servers, so name none", cmd.CommandPath())
	}
	return target(cmd.Context(), a, cmd, args)
}

// listOne lists what one server has, or with names only that of it.
func listOne(ctx context.Context, a *cli.App, l list, t launch.Target, names []string, f listFlags) error {
	if t.Origin != "" && !a.Flags.JSON {
		a.Screen.Printf("%s: %s\n", t.Name, t.Origin)
	}
	listed := fetchList(ctx, a, l, t, nil)
	if listed.err != nil {
		return listed.err
	}
	if !a.Flags.JSON {
		for _, one := range listed.missing { // servers of a gateway
			a.Screen.Printf("junction: the %s of server %q are missing: %s\n", l.nouns(), plaintext.Line(one.Server, 80), plaintext.Line(one.Reason, cli.MaxReason))
		}
	}
	var err error
	if len(names) > 0 {
		listed.entries, err = named(listed.entries, names)
		if err != nil && (a.Flags.JSON || len(listed.entries) == 0) {
			return err
		}
	}
	l = l.shownAs(f.long || len(names) > 0 || !a.Out.Terminal())
	if a.Flags.JSON {
		return a.PrintIndented(l.shown(&listed), "")
	}
	if len(listed.entries) == 0 {
		a.Screen.Printf("The server has no %s.\n", l.nouns())
	}
	if err := cmp.Or(printList(a, l, t.Title(), listed.entries), err); err != nil {
		return err
	}
	if l.brief != nil && len(listed.entries) > 0 {
		a.Screen.Printf("(--long shows them in full; junction %s SERVER TOOL shows one.)\n", l.command)
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
			missing = append(missing, fmt.Sprintf("the server lists no tool %q%s", name, cli.OrMeant(nearest.Name(name, all))))
		}
	}
	if len(missing) == 0 {
		return some, nil
	}
	if hidesTools(all) {
		missing = append(missing, "call describe_tool for one that search_tools found")
	}
	return some, cli.Usagef("%s", strings.Join(missing, "; "))
}

// A listing is what one server listed.
type listing struct {
	entries []json.RawMessage
	// remembered says that the server was not asked, and read when it was last; zero where that is not known.
	remembered bool
	read       time.Time
	// runs is the server in a junction up; nil where none has it.
	runs *cli.RunningServer
	// missing are servers behind this one, a gateway, whose entries are not in the list.
	missing []absent
	err     error
}

// printList prints entries for people, and what is wrong with others.
func printList(a *cli.App, l list, server string, entries []json.RawMessage) error {
	text, fault := l.text(entries, a.Out.Width())
	if fault != nil {
		a.Screen.Printf("junction: server %q: %v\n", server, fault)
	}
	_, err := fmt.Fprint(a.Out, text)
	return err
}

// A listedShown is what a list prints of one server with --json: of its lists the one that was asked for, with all pages.
type listedShown struct {
	Source    string            `json:"source,omitempty"` // the file that defines the server
	Disabled  bool              `json:"disabled,omitempty"`
	Error     json.RawMessage   `json:"error,omitempty"` // why there is no list
	Tools     []json.RawMessage `json:"tools,omitzero"`
	Resources []json.RawMessage `json:"resources,omitzero"`
	Templates []json.RawMessage `json:"resourceTemplates,omitzero"`
	Prompts   []json.RawMessage `json:"prompts,omitzero"`
	Skills    []json.RawMessage `json:"skills,omitzero"`
	Missing   []absent          `json:"missing,omitempty"` // servers behind this one, a gateway, that it has not reached
}

// shown returns what a server listed, or why it could not be asked.
func (l list) shown(got *listing) (s listedShown) {
	if got.err != nil {
		s.Error = jsonrpc.Get(cli.ErrorObject(got.err), "error")
		return s
	}
	of := map[string]*[]json.RawMessage{"tools": &s.Tools, "resources": &s.Resources, "templates": &s.Templates, "prompts": &s.Prompts, "skills": &s.Skills}
	*of[l.command], s.Missing = append([]json.RawMessage{}, got.entries...), got.missing
	return s
}

// An allListed is what a list prints of several servers with --json.
type allListed struct {
	Servers byName[listedShown] `json:"servers"`
}

// byName are values by names, in their order.
type byName[T any] []struct {
	name  string
	value T
}

func (byName[T]) element() reflect.Type { return reflect.TypeFor[T]() }

func (all byName[T]) MarshalJSON() ([]byte, error) {
	w := jsonrpc.NewObject(nil)
	for _, one := range all {
		text, err := cli.IndentedJSON(one.value, "")
		if err != nil {
			return nil, err
		}
		w.Raw(one.name, text)
	}
	return w.Bytes(), nil
}

// printListed prints the lists of several servers; with about, where each server is defined, and whether it is switched off.
func printListed(a *cli.App, l list, all []listedServer, about bool) error {
	var servers byName[listedShown]
	for _, s := range all {
		one := l.shown(&s.listing)
		if about && s.entry.IsDisabled() {
			one = listedShown{Disabled: true}
		}
		if d := s.entry.Definition; about && d != nil {
			one.Source = d.Source
		}
		servers = append(servers, struct {
			name  string
			value listedShown
		}{s.entry.Name, one})
	}
	return a.PrintIndented(allListed{servers}, "")
}
