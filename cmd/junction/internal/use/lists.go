package use

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// AllLists returns all lists that servers may offer, in the order of the help text.
func AllLists() []List {
	return []List{
		ToolList(),
		{Method: revision.MethodNamed("resources/list"), Command: "resources", Text: texts(show.Resources), Brief: nil},
		{Method: revision.MethodNamed("resources/templates/list"), Command: "templates", Text: texts(show.Templates), Brief: nil},
		{Method: revision.MethodNamed("prompts/list"), Command: "prompts", Text: texts(show.Prompts), Brief: nil},
		skillList(),
	}
}

// ToolList returns the list of tools.
func ToolList() List {
	return List{Method: revision.MethodNamed("tools/list"), Command: "tools", Text: texts(show.Tools), Brief: texts(show.ToolLines)}
}

// A listFlags holds the flags of a list command.
type listFlags struct{ all, refresh, long bool }

// define defines the flags of a list command.
func (f *listFlags) define(a *cli.App, cmd *cobra.Command, written ...any) {
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "list those of all servers; the same as without SERVER")
	flags.BoolVar(&f.refresh, "refresh", false, "ask all servers, even those with remembered lists")
	reach.ConnectionFlags(a, flags)
	a.JSONFlag(cmd, append([]any{ListsShown{}, ListedShown{}}, written...)...)
	reach.OwnFlag(a, flags)
}

// NewListCommand returns the command that prints a list.
func NewListCommand(a *cli.App, l List) *cobra.Command {
	switch l.Command {
	case ToolList().Command:
		return toolsCommand(a)
	case skillList().Command:
		return skillsCommand(a)
	}
	var f listFlags
	cmd := &cobra.Command{
		Use:               l.Command + " [SERVER | -- COMMAND…]",
		Short:             "List the " + l.Nouns() + " of a server, or of all servers",
		Long:              "List the " + l.Nouns() + " of a server; without SERVER, those of every configured server.\n\n" + listHelp(),
		ValidArgsFunction: reach.SuggestServers(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return listServers(a, cmd, l, args, f) },
	}
	f.define(a, cmd)
	return cmd
}

// toolsCommand returns the command tools.
func toolsCommand(a *cli.App) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "tools [SERVER [TOOL…] | [TOOL…] -- COMMAND…]",
		Short: "List the tools of a server, or of all servers",
		Long: `List the tools of a server; without SERVER, those of every configured server. A terminal
shows one line for each. With TOOL or --long, and where there is no terminal,
descriptions and arguments are shown in full.

` + listHelp(),
		ValidArgsFunction: reach.SuggestToolNames(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return listServers(a, cmd, ToolList(), args, f) },
	}
	f.define(a, cmd)
	cmd.Flags().BoolVarP(&f.long, "long", "l", false, "show descriptions and arguments in full")
	return cmd
}

// listHelp returns the help text that all list commands share.
func listHelp() string {
	return "Lists of all servers are remembered from the last connection to each server. Servers\n" +
		"without a remembered list are started, and with --refresh all are."
}

// texts adapts a function for typed entries to entries in raw JSON. The adapted function omits
// entries that cannot be decoded, and returns their errors.
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

// listServers prints the list of one server, or only its named entries, or the lists of all
// servers.
func listServers(a *cli.App, cmd *cobra.Command, l List, args []string, f listFlags) error {
	ctx := cmd.Context()
	if len(args) == 0 && cmd.ArgsLenAtDash() < 0 {
		l = l.ShownAs(f.long || !a.Out.Terminal())
		return listAll(ctx, a, l, nil, f.refresh, false)
	}
	t, names, err := listTarget(a, cmd, args, f)
	if err != nil {
		return err
	}
	if len(names) > 0 && l.Brief == nil {
		return cli.Usagef("%s: unexpected %q", cmd.CommandPath(), names[0])
	}
	return listOne(ctx, a, l, t, names, f)
}

// listTarget returns the server named on the command line, and the words after it.
func listTarget(a *cli.App, cmd *cobra.Command, args []string, f listFlags) (launch.Target, []string, error) {
	if f.all {
		return launch.Target{}, nil, cli.Usagef("%s: --all lists those of all servers; leave out SERVER", cmd.CommandPath())
	}
	return reach.Target(cmd.Context(), a, cmd, args)
}

// listOne prints the list of one server, or only its named entries.
func listOne(ctx context.Context, a *cli.App, l List, t launch.Target, names []string, f listFlags) error {
	if t.Origin != "" && !a.Flags.JSON {
		a.Screen.Printf("%s: %s\n", t.Name, t.Origin)
	}
	listed := FetchList(ctx, a, l, t, nil)
	if listed.Err != nil {
		return listed.Err
	}
	if !a.Flags.JSON {
		for _, one := range listed.Missing { // servers behind a gateway
			a.Screen.Printf("junction: the %s of server %q are missing: %s\n", l.Nouns(), plaintext.Line(one.Server, 80), plaintext.Line(one.Reason, cli.MaxReason))
		}
	}
	var err error
	if len(names) > 0 {
		listed.Entries, err = named(listed.Entries, names)
		if err != nil && (a.Flags.JSON || len(listed.Entries) == 0) {
			return err
		}
	}
	l = l.ShownAs(f.long || len(names) > 0 || !a.Out.Terminal())
	if a.Flags.JSON {
		return a.PrintIndented(l.Shown(&listed), "")
	}
	if len(listed.Entries) == 0 {
		a.Screen.Printf("The server has no %s.\n", l.Nouns())
	}
	if err := cmp.Or(printList(a, l, t.Title(), listed.Entries), err); err != nil {
		return err
	}
	if l.Brief != nil && len(listed.Entries) > 0 {
		a.Screen.Printf("(--long shows them in full; junction %s SERVER TOOL shows one.)\n", l.Command)
	}
	return nil
}

// named returns the entries with the given names, in the order of the names. The error lists the
// missing names.
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
			missing = append(missing, fmt.Sprintf("the server lists no tool %q%s", name, cli.Suggestion(nearest.Name(name, all))))
		}
	}
	if len(missing) == 0 {
		return some, nil
	}
	if IsToolSearch(all) {
		missing = append(missing, "call describe_tool for a tool that search_tools found")
	}
	return some, cli.Usagef("%s", strings.Join(missing, "; "))
}

// printList prints entries as text. It also prints an error for the entries that cannot be decoded.
func printList(a *cli.App, l List, server string, entries []json.RawMessage) error {
	text, fault := l.Text(entries, a.Out.Width())
	if fault != nil {
		a.Screen.Printf("junction: server %q: %v\n", server, fault)
	}
	_, err := fmt.Fprint(a.Out, text)
	return err
}

// A ListsShown is the output of a list command with --json, for several servers.
type ListsShown struct {
	Servers byName[ListedShown] `json:"servers"`
}

// byName is an ordered JSON object of named values.
type byName[T any] []struct {
	name  string
	value T
}

// Element returns the type of the values. The help for --json uses it.
func (byName[T]) Element() reflect.Type { return reflect.TypeFor[T]() }

// MarshalJSON implements [json.Marshaler].
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

// printListed prints the lists of several servers as JSON. If about is set, it adds where each
// server is defined, and whether it is disabled.
func printListed(a *cli.App, l List, all []ListedServer, about bool) error {
	var servers byName[ListedShown]
	for _, s := range all {
		one := l.Shown(&s.Listing)
		if about && s.Entry.IsDisabled() {
			one = ListedShown{Disabled: true}
		}
		if d := s.Entry.Definition; about && d != nil {
			one.Source = d.Source
		}
		servers = append(servers, struct {
			name  string
			value ListedShown
		}{s.Entry.Name, one})
	}
	return a.PrintIndented(ListsShown{servers}, "")
}
