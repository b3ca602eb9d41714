package use

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/junction-mcp/junction/cmd/junction/internal/arguments"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/show"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

// PromptCommand returns the command prompt.
func PromptCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prompt SERVER NAME [KEY=VALUE…]",
		Short: "Fill in a prompt and print its messages",
		Long: `Fill in a prompt of a server and print its messages. Arguments are always text;
KEY=@FILE reads the text from a file.

` + cli.ExitHelp,
		ValidArgsFunction: reach.CompleteFrom(a, reach.ListNames((*mcp.Client).Prompts, func(p *mcp.Prompt) (name, what string) { return p.Name, p.Description })),
		RunE: reach.RunWithServer(a, func(_ *cobra.Command, words []string) (reach.Action, error) {
			if len(words) == 0 {
				return nil, cli.Usagef("NAME is missing; junction list prompts lists them")
			}
			return func(ctx context.Context, client *mcp.Client) error {
				return prompt(ctx, a, client, words[0], words[1:])
			}, nil
		}),
	}
	reach.RequestFlags(a, cmd.Flags())
	a.JSONFlag(cmd, mcp.GetPromptResult{})
	return cmd
}

// prompt gets a prompt from the server, and prints its messages.
func prompt(ctx context.Context, a *cli.App, client *mcp.Client, name string, words []string) error {
	form, names, err := promptSchema(ctx, client, name)
	if err != nil {
		return err
	}
	given, err := arguments.Build(form, words, a.ReadFile)
	if err != nil {
		return cli.Usagef("prompt %q: %w", name, err)
	}
	if len(words) == 0 {
		given = nil
	}
	var result mcp.GetPromptResult
	err = reach.PrintRequest(ctx, a, "prompts/get", reach.Params("name", name, given), &result, func(width int, save show.Save) (string, error) {
		return show.PromptResult(&result, width, save)
	})
	if errors.As(err, new(*mcp.Error)) {
		return reach.WrapUnlisted("prompt", name, names, err)
	}
	return err
}

// promptSchema returns a schema for the arguments of a prompt, or nil if the server does not list
// it. It also returns the names of the listed prompts, up to this one.
func promptSchema(ctx context.Context, client *mcp.Client, name string) (form json.RawMessage, names []string, err error) {
	for p, err := range client.Prompts(ctx) {
		if errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
			return nil, names, nil
		}
		if err != nil {
			return nil, nil, err
		}
		names = append(names, p.Name)
		if p.Name == name {
			form, err = schemaOf(p.Arguments)
			return form, names, err
		}
	}
	return nil, names, nil
}

// schemaOf returns a schema for the arguments of a prompt.
func schemaOf(args []mcp.PromptArgument) (json.RawMessage, error) {
	type property struct {
		Type        string `json:"type"`
		Description string `json:"description,omitempty"`
	}
	var form struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required"`
		Additional bool                `json:"additionalProperties"`
	}
	form.Type, form.Properties = "object", map[string]property{}
	for _, arg := range args {
		form.Properties[arg.Name] = property{"string", arg.Description}
		if arg.Required {
			form.Required = append(form.Required, arg.Name)
		}
	}
	return schema.Encode(nil, form)
}
