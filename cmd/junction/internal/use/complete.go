package use

import (
	"context"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// CompleteCommand returns the command complete.
func CompleteCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "complete SERVER PROMPT|TEMPLATE ARGUMENT=TEXT [KEY=VALUE…]",
		Short: "Complete an argument of a prompt or resource template",
		Long: `Ask a server to complete the text of an argument, and print one suggestion a line.
A word with a ":" is a resource template, any other is a prompt. Values of other
arguments can follow.

` + cli.ExitHelp,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: reach.RunWithServer(a, func(_ *cobra.Command, words []string) (reach.Action, error) {
			request, err := completion(words)
			if err != nil {
				return nil, err
			}
			params, err := schema.Encode(nil, request)
			return func(ctx context.Context, client *mcp.Client) error {
				var result completionShown
				return reach.PrintRequest(ctx, a, "completion/complete", params, &result, func(int, show.Save) (string, error) {
					return strings.Join(append(result.Completion.Values, ""), "\n"), nil
				})
			}, err
		}),
	}
	reach.ConnectionFlags(a, cmd.Flags())
	a.JSONFlag(cmd, completionShown{})
	reach.OwnFlag(a, cmd.Flags())
	return cmd
}

// A completionShown is the output of complete --json.
type completionShown struct {
	Completion mcp.Completion `json:"completion"`
}

// completion parses the words of the command line into a request.
func completion(words []string) (mcp.CompletionRequest, error) {
	if len(words) < 2 {
		return mcp.CompletionRequest{}, cli.Usagef("expected a prompt or template, and ARGUMENT=TEXT")
	}
	request := mcp.CompletionRequest{Ref: mcp.CompletionReference{Type: mcp.RefPrompt, Name: words[0]}}
	if strings.Contains(words[0], ":") {
		request.Ref = mcp.CompletionReference{Type: mcp.RefResource, URI: words[0]}
	}
	request.Argument.Name, request.Argument.Value, _ = strings.Cut(words[1], "=")
	for _, word := range words[2:] {
		name, value, found := strings.Cut(word, "=")
		if !found {
			return request, cli.Usagef("argument %q: expected KEY=VALUE", word)
		}
		if request.Context == nil {
			request.Context = &mcp.CompletionContext{Arguments: map[string]string{}}
		}
		request.Context.Arguments[name] = value
	}
	return request, nil
}
