package reach

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/lint"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// Do sends a request and shows its progress.
func Do(ctx context.Context, a *cli.App, method string, params json.RawMessage) (mcp.Result, error) {
	bar := &terminal.Bar{Screen: a.Screen, Lines: a.Launch.Verbose}
	defer bar.Done()
	ctx = mcp.WatchProgress(ctx, func(p mcp.ProgressUpdate) { bar.Show(p.Progress, p.Total, p.Message) })
	return a.Calls.Do(ctx, method, params)
}

// An Action is the work of a command on a connected server.
type Action func(ctx context.Context, client *mcp.Client) error

// RunWithServer returns the RunE function of a command that calls one server. It calls read with
// the words after SERVER, connects to the server, and then runs the action.
func RunWithServer(a *cli.App, read func(cmd *cobra.Command, words []string) (Action, error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()
		if err := StartRecording(a, cmd.Name(), "", true); err != nil {
			return err
		}
		t, words, err := Target(ctx, a, cmd, args)
		if err != nil {
			return err
		}
		run, err := read(cmd, words)
		if err != nil {
			return err
		}
		if t.Through != "" && a.Screen.Terminal() {
			a.Screen.Printf("(through %s; --own starts the server for this command)\n", t.Through)
		}
		within, bound, stop := a.WithTimeout(ctx)
		defer stop()
		client, end, err := connectCaller(ctx, a, t, bound)
		if err != nil {
			return err
		}
		defer end()
		return run(within, client)
	}
}

// PrintRequest sends a request and prints its result with [PrintAnswer].
func PrintRequest(ctx context.Context, a *cli.App, method string, params json.RawMessage, into any, text func(width int, save show.Save) (string, error)) error {
	answer, err := Do(ctx, a, method, params)
	if err != nil {
		return err
	}
	return PrintAnswer(a, method, answer, into, text)
}

// PrintAnswer decodes a result into into and prints it: as JSON with --json, and otherwise as the
// text that text returns. It saves data to the file of --output.
func PrintAnswer(a *cli.App, method string, r mcp.Result, into any, text func(width int, save show.Save) (string, error)) error {
	body, err := r.Encoded()
	if err != nil {
		return err
	}
	if err := schema.DecodeLoose(body, into); err != nil && !a.Flags.JSON {
		return fmt.Errorf("%s: the server's answer cannot be read; --json prints it unchanged: %w", method, err)
	}
	if !a.Flags.JSON {
		words, err := text(a.Out.Width(), show.SaveTo(a.Path(a.Flags.Output)))
		_, printing := fmt.Fprint(a.Out, words)
		return cmp.Or(err, printing)
	}
	if a.Flags.Output != "" {
		if _, err := text(a.Out.Width(), show.SaveTo(a.Path(a.Flags.Output))); err != nil {
			return err
		}
	}
	shaped, err := shape(method, r, body)
	if err != nil {
		return err
	}
	return a.PrintJSON(json.RawMessage(shaped))
}

// shape returns a result with the members of its envelope, such as _meta.
func shape(method string, r mcp.Result, body json.RawMessage) ([]byte, error) {
	if r.Type != "" {
		around := revision.Envelope{Type: revision.ResultType(r.Type), Meta: r.Meta, TTL: int64(r.TTL / time.Millisecond), Scope: revision.CacheScope(r.Scope)}
		return revision.Latest().AppendResult(nil, method, around, revision.Body{JSON: body})
	}
	if r.Meta == nil {
		return body, nil
	}
	return jsonrpc.With(body, "_meta", r.Meta), nil
}

// Params returns parameters with a name or URI as member and, unless it is nil, arguments.
func Params(member, subject string, arguments json.RawMessage) json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String(member, subject)
	if arguments != nil {
		w.Raw("arguments", arguments)
	}
	return w.Bytes()
}

// ReadCalls parses the values of --call. The arguments default to {}.
func ReadCalls(words []string) ([]lint.Call, error) {
	var calls []lint.Call
	for _, word := range words {
		tool, arguments, given := strings.Cut(word, "=")
		call := lint.Call{Tool: tool, Arguments: json.RawMessage("{}")}
		if given {
			if _, fault := jsonrpc.Index([]byte(arguments), jsonrpc.Limits{}); fault != nil {
				return nil, cli.Usagef("--call %s: expected a JSON object after the =: %s", tool, fault.Message)
			}
			call.Arguments = json.RawMessage(arguments)
		}
		calls = append(calls, call)
	}
	return calls, nil
}

// NeedsArguments reports whether a tool has required arguments.
func NeedsArguments(t *mcp.Tool) (needs bool) {
	jsonrpc.EachElement(jsonrpc.Get(t.InputSchema, "required"), func([]byte) bool { needs = true; return false })
	return needs
}

// OpenConversations opens the stored conversations.
func OpenConversations(ctx context.Context, p place.Place) (*archive.Archive, error) {
	return cli.OpenState(p, "conversations.db", func(path string) (*archive.Archive, error) { return archive.Open(ctx, path) })
}
