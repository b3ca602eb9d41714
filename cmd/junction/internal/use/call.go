package use

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/arguments"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/unanswered"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// CallCommand returns the command call.
func CallCommand(a *cli.App) *cobra.Command {
	var raw string
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL [KEY=VALUE… | JSON | --args JSON]",
		Short: "Call a tool of a server",
		Long: `Call a tool of a server, and print its result.

Arguments are typed by the tool's input schema:

  city=Oslo        text, a number, true or false
  tags=a tags=b    a list; or tags='["a","b"]', or tags= for an empty one
  where.lat=59.9   a member of an object; or where='{"lat":59.9}'
  days:=3          JSON, sent unchanged
  text=@note.txt   the content of a file; @- is standard input, @@ begins with an @

A single argument that begins with { holds all arguments as one JSON object. --args
takes such an object, @FILE, or - for standard input. They are sent unchanged. With a
command at the end, leave out SERVER:

  junction call TOOL KEY=VALUE -- npx -y some-server

` + cli.ExitHelp,
		ValidArgsFunction: reach.SuggestTools(a),
		RunE: reach.RunWithServer(a, func(_ *cobra.Command, words []string) (reach.Action, error) {
			if len(words) == 0 {
				return func(ctx context.Context, client *mcp.Client) error { return listForCall(ctx, a, client) }, nil
			}
			given, err := JSONArguments(a, raw, words[1:])
			return func(ctx context.Context, client *mcp.Client) error {
				return callTool(ctx, a, client, words[0], words[1:], given)
			}, err
		}),
	}
	cmd.Flags().StringVar(&raw, "args", "", "all arguments as one `JSON` object, @FILE, or - for standard input")
	reach.RequestFlags(a, cmd.Flags())
	a.JSONFlag(cmd, CallShown{})
	reach.FrozenFlag(a, cmd.Flags())
	reach.RecordFlag(a, cmd.Flags())
	return cmd
}

// A CallShown is the output of call --json.
type CallShown struct {
	Content           []mcp.Content   `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitzero"`
	IsError           bool            `json:"isError,omitempty"`
	Meta              json.RawMessage `json:"_meta,omitzero"`
}

// listForCall handles a command line without a tool. It prints the tools of the server, and returns
// a usage error.
func listForCall(ctx context.Context, a *cli.App, client *mcp.Client) error {
	if !a.Flags.JSON {
		l := ToolList().ShownAs(false)
		var tools []json.RawMessage
		for raw, err := range client.List(ctx, l.Name, l.Member) {
			if err != nil {
				return err
			}
			tools = append(tools, raw)
		}
		text, _ := l.Text(tools, a.Screen.Width()) // the error concerns only tools that cannot be decoded
		a.Screen.Printf("%s", text)
	}
	return cli.Usagef("name a tool of the server")
}

// callTool calls a tool, and prints its result. The arguments of the call are given as a whole, or
// built from words if given is nil.
func callTool(ctx context.Context, a *cli.App, client *mcp.Client, tool string, words []string, given json.RawMessage) (err error) {
	var names []string // names of the tools listed so far
	if given == nil {
		if given, names, err = toolArguments(ctx, a, client, tool, words); err != nil {
			return unlistedTool(ctx, client, tool, names, err)
		}
	}
	answer, err := reach.Do(ctx, a, "tools/call", reach.Params("name", tool, given))
	if errors.As(err, new(*mcp.Error)) {
		return unlistedTool(ctx, client, tool, names, err)
	}
	if err != nil {
		return err
	}
	var result mcp.CallToolResult
	by := refused.In(answer.Meta)
	if by != "" && !a.Flags.JSON {
		body, err := answer.Encoded()
		if err == nil {
			err = schema.DecodeLoose(body, &result)
		}
		return cmp.Or(err, error(&cli.RefusedError{Why: result.Text()}))
	}
	err = reach.PrintAnswer(a, "tools/call", answer, &result, func(width int, save show.Save) (string, error) {
		if result.IsError {
			a.Screen.Printf("The tool %s failed:\n", tool)
		}
		return show.CallResult(&result, width, save)
	})
	switch {
	case err != nil || !result.IsError:
		return err
	case by != "": // the gateway refused the call, and its reason is already printed
		a.Screen.Printf("junction: %v\n", &cli.RefusedError{Why: result.Text()})
		return &cli.ExitError{Code: cli.ExitRefused}
	}
	// Some servers answer a call of an unknown tool with a result, not an error.
	if unlisted := unlistedTool(ctx, client, tool, names, cli.ErrToolFailed); unlisted != cli.ErrToolFailed {
		a.Screen.Printf("junction: %v\n", unlisted)
	}
	return cli.ErrToolFailed
}

// unlistedTool returns a [reach.UnlistedError] if the server does not list the tool, and otherwise
// err. The argument names has the tools listed so far, or nil. Errors of a gateway are returned
// unchanged, because the gateway may have hidden the tool or failed to reach its server.
func unlistedTool(ctx context.Context, client *mcp.Client, tool string, names []string, err error) error {
	if fault, is := errors.AsType[*mcp.Error](err); is && (fault.Code == mcp.CodeInternalError || unanswered.In(fault.Data) != "" || refused.In(fault.Data) != "") {
		return err
	}
	if names == nil {
		for t, failed := range client.Tools(ctx) {
			if failed != nil {
				return err
			}
			names = append(names, t.Name)
		}
	}
	if IsToolSearch(names) {
		return err // the tool may exist without being listed
	}
	return reach.WrapUnlisted("tool", tool, names, err)
}

// JSONArguments returns the JSON object given with --args, or as the only word. It returns nil if
// there is none.
func JSONArguments(a *cli.App, raw string, words []string) (json.RawMessage, error) {
	flag := "--args"
	switch object := len(words) == 1 && strings.HasPrefix(strings.TrimSpace(words[0]), "{"); {
	case raw == "" && object:
		raw, words, flag = words[0], nil, "arguments"
	case raw == "":
		return nil, nil
	}
	if len(words) > 0 {
		return nil, cli.Usagef("give the arguments either as KEY=VALUE or with --args, not both")
	}
	data := []byte(raw)
	name, isFile := strings.CutPrefix(raw, "@")
	if raw == "-" {
		name, isFile = "-", true
	}
	if isFile {
		var err error
		if data, err = a.ReadFile(name); err != nil {
			return nil, cli.Usagef("--args: %w", err)
		}
	}
	if _, fault := jsonrpc.Index(data, jsonrpc.Limits{}); fault != nil {
		return nil, cli.Usagef("%s: expected a JSON object: %s", flag, fault.Message)
	}
	return data, nil
}

// toolArguments builds arguments from words, according to the schema of the tool. It also returns
// the names of the tools that the server lists, up to this one.
func toolArguments(ctx context.Context, a *cli.App, client *mcp.Client, tool string, words []string) (given json.RawMessage, names []string, err error) {
	var schema json.RawMessage
	for t, err := range client.Tools(ctx) {
		if err != nil {
			return nil, []string{tool}, fmt.Errorf("the tool's schema cannot be read; --args works without it: %w", err)
		}
		names = append(names, t.Name)
		if t.Name == tool {
			schema = t.InputSchema
			break
		}
	}
	if schema == nil && IsToolSearch(names) {
		definition, err := DescribeTool(ctx, client, tool)
		if err != nil {
			return nil, []string{tool}, err
		}
		schema, names = jsonrpc.Get(definition, "inputSchema"), append(names, tool)
	}
	given, err = arguments.Build(schema, words, a.ReadFile)
	if err != nil {
		err = cli.Usagef("tool %q: %w", tool, err)
	}
	return given, names, err
}
