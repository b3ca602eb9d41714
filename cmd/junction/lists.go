package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// maxDialing is how many servers are asked at the same time.
const maxDialing = 8

// A list is something that servers list.
type list struct {
	name   string // of the command
	method string
	member string // of the result
	what   string
	has    func(mcp.ServerCapabilities) bool
	text   func(entries []json.RawMessage, width int) (string, error)
}

// lists are the commands that list what servers offer.
func (a *app) lists() []*cobra.Command {
	var commands []*cobra.Command
	for _, l := range []list{
		{"tools", "tools/list", "tools", "tools", func(c mcp.ServerCapabilities) bool { return c.Tools != nil }, texts(show.Tools)},
		{"resources", "resources/list", "resources", "resources", func(c mcp.ServerCapabilities) bool { return c.Resources != nil }, texts(show.Resources)},
		{"templates", "resources/templates/list", "resourceTemplates", "resource templates", func(c mcp.ServerCapabilities) bool { return c.Resources != nil }, texts(show.Templates)},
		{"prompts", "prompts/list", "prompts", "prompts", func(c mcp.ServerCapabilities) bool { return c.Prompts != nil }, texts(show.Prompts)},
	} {
		cmd := &cobra.Command{
			Use:   l.name + " [SERVER | -- COMMAND…]",
			Short: "List the " + l.what + " of a server, or of all servers",
			Long: "List the " + l.what + " of a server; without one, those of every configured server.\n\n" +
				"With --json: one object {\"" + l.member + "\": […]} that holds all pages; without a server\n" +
				"{\"servers\": {NAME: {\"" + l.member + "\": […]} or {\"error\": {…}}}}.",
			ValidArgsFunction: a.suggestServers,
			RunE:              func(cmd *cobra.Command, args []string) error { return a.list(cmd, l, args) },
		}
		a.clientFlags(cmd.Flags())
		commands = append(commands, cmd)
	}
	return commands
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

func (a *app) list(cmd *cobra.Command, l list, args []string) error {
	ctx := cmd.Context()
	if len(args) == 0 && cmd.ArgsLenAtDash() < 0 {
		return a.listAll(ctx, l)
	}
	t, rest, err := a.target(ctx, cmd, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usagef("%s: unexpected %q", cmd.CommandPath(), rest[0])
	}
	listed := a.fetch(ctx, l, t)
	if listed.err != nil {
		return listed.err
	}
	if a.flags.json {
		_, err := fmt.Fprintf(a.stdout, "%s\n", object(l.member, listed.entries))
		return err
	}
	return a.printList(l, listed, "")
}

// A listing is what one server listed.
type listing struct {
	server  string
	entries []json.RawMessage
	err     error
}

// fetch lists all pages. A server that does not offer the feature has none.
func (a *app) fetch(ctx context.Context, l list, t target) listing {
	got := listing{server: t.name}
	client, err := a.connect(ctx, t)
	if err != nil {
		got.err = err
		return got
	}
	defer client.Close()
	for raw, err := range client.List(ctx, l.method, l.member) {
		if err != nil && !l.has(client.Capabilities()) && errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
			break
		}
		if err != nil {
			got.err = err
			break
		}
		got.entries = append(got.entries, raw)
	}
	return got
}

// listAll lists what every configured server has. The error says that
// some could not be asked, and was told.
func (a *app) listAll(ctx context.Context, l list) error {
	if err := a.checkFlags(); err != nil {
		return err
	}
	set, entries, err := a.servers()
	if err != nil {
		return err
	}
	a.tellProblems(set)
	listings := a.fetchAll(ctx, l, entries)
	if a.flags.json {
		if err := a.printJSON(l, listings); err != nil {
			return err
		}
	}
	var failed error
	for _, got := range listings {
		if got.err != nil {
			failed = errTold
			a.screen.Printf("junction: %v\n", got.err)
			continue
		}
		if a.flags.json {
			continue
		}
		if err := a.printList(l, got, got.server); err != nil {
			return err
		}
	}
	return failed
}

// fetchAll asks all servers, several at a time; consent is asked for first.
func (a *app) fetchAll(ctx context.Context, l list, entries []entry) []listing {
	var listings []listing
	var asked []entry
	for _, e := range entries {
		if e.definition != nil && e.definition.Disabled {
			continue
		}
		listings, asked = append(listings, listing{server: e.name, err: a.consent(ctx, e)}), append(asked, e)
	}
	free := make(chan struct{}, maxDialing)
	var all sync.WaitGroup
	for i, e := range asked {
		if listings[i].err != nil {
			continue
		}
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			t, err := a.resolve(ctx, e)
			if err != nil {
				listings[i].err = err
				return
			}
			listings[i] = a.fetch(ctx, l, t)
		})
	}
	all.Wait()
	return listings
}

// printList prints one server's entries for people.
func (a *app) printList(l list, got listing, heading string) error {
	text, err := l.text(got.entries, a.out.Width())
	if heading != "" {
		text = fmt.Sprintf("━━ %s: %d %s\n\n%s\n", plaintext.Line(heading, 80), len(got.entries), l.what, text)
	} else if len(got.entries) == 0 {
		a.screen.Printf("The server has no %s.\n", l.what)
	}
	if _, err := fmt.Fprint(a.out, text); err != nil {
		return err
	}
	if err != nil {
		a.screen.Printf("junction: %v\n", err)
	}
	return nil
}

// printJSON prints the listings of several servers as one object.
func (a *app) printJSON(l list, listings []listing) error {
	out := []byte(`{"servers":{`)
	for i, got := range listings {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonrpc.AppendString(out, got.server), ':')
		if got.err != nil {
			out = append(out, errorObject(got.err)...)
			continue
		}
		out = append(out, object(l.member, got.entries)...)
	}
	_, err := fmt.Fprintf(a.stdout, "%s}}\n", out)
	return err
}

// object is an object with one array of raw values.
func object(member string, entries []json.RawMessage) []byte {
	out := append(jsonrpc.AppendString([]byte{'{'}, member), ':', '[')
	for i, raw := range entries {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	return append(out, ']', '}')
}
