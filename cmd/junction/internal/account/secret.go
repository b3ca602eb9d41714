package account

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/state"
	"github.com/spf13/cobra"
)

const (
	maxSecrets = 1000 // number that the list shows

)

const secretHelp = `A configuration refers to a secret as ${secret:NAME}, in env, headers, args and url:

  {"mcpServers": {"tracker": {"url": "https://example.com/mcp",
    "headers": {"Authorization": "Bearer ${secret:tracker}"}}}}

Secrets are kept encrypted, in state.db in junction's folder. The key is in the keyring of
this system. Without a keyring it is in a file that only you can read. ${file:PATH} takes
the value from a file instead.`

// SecretCommand returns the command secret.
func SecretCommand(a *cli.App) *cobra.Command {
	return cli.Group("secret", "Keep passwords and tokens out of configuration files",
		"Work with secrets that a configuration refers to, so that it does not contain them.\n\n"+secretHelp,
		secretSetCommand(a), secretListCommand(a), secretRemoveCommand(a))
}

// HasSecret reports whether a secret with this name is stored.
func HasSecret(ctx context.Context, a *cli.App, name string) (bool, error) {
	store, _, err := a.Launch.OpenSecrets(ctx, false)
	if err == nil {
		_, err = store.Get(ctx, launch.SecretKeys+name)
	}
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// StoreSecret stores a secret. It replaces a secret with the same name.
func StoreSecret(ctx context.Context, a *cli.App, name, value string) error {
	if err := launch.CheckSecretName(name); err != nil {
		return err
	}
	store, ring, err := a.Launch.OpenSecrets(ctx, true)
	if err == nil {
		_, err = store.Put(ctx, launch.SecretKeys+name, []byte(ring.Seal([]byte(value), []byte(launch.SecretKeys+name))), state.Write{})
	}
	return err
}

// oneSecret returns the secret name on a command line with exactly one word. It checks that the
// name is valid.
func oneSecret(args []string) (string, error) {
	if len(args) != 1 {
		return "", cli.Usagef("expected the NAME of one secret, got %d words", len(args))
	}
	return args[0], launch.CheckSecretName(args[0])
}

func secretSetCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME",
		Short: "Keep a secret, typed on the terminal or read from standard input",
		Long:  "Keep a secret. It replaces a secret with the same name. Type it on the terminal, which does not\nshow it, or write it to standard input. The command line takes no secret, as other users\ncan see it.\n\n" + secretHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			name, err := oneSecret(args)
			if err != nil {
				return err
			}
			value, err := readSecret(ctx, a, name)
			if err != nil {
				return err
			}
			if err := StoreSecret(ctx, a, name, value); err != nil {
				return fmt.Errorf("the secret was not kept: %w", err)
			}
			a.Screen.Printf("junction: ${secret:%s} in a configuration now stands for this secret; servers get it when they next start or connect, and running ones as onSecretChange says\n", name)
			return nil
		},
	}
}

// readSecret asks the user for a secret. Without a terminal, it reads all of standard input.
func readSecret(ctx context.Context, a *cli.App, name string) (value string, err error) {
	if a.Person != nil {
		value, err = a.Person.Secret(ctx, "Value of "+name+", which is not shown: ")
	} else {
		var data []byte
		data, err = io.ReadAll(io.LimitReader(a.Stdin, launch.MaxSecret+3))
		value = strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("the secret was not read: %w", err)
	case value == "":
		return "", cli.Usagef("the secret is empty; type it, or write it to standard input")
	case len(value) > launch.MaxSecret:
		return "", cli.Usagef("the secret has more than %d KiB", launch.MaxSecret>>10)
	}
	return value, nil
}

// A SecretsShown is the output of secret list --json.
type SecretsShown struct {
	Secrets []string `json:"secrets"`
}

func secretListCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the names of the secrets", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names := []string{}
			store, _, err := a.Launch.OpenSecrets(cmd.Context(), false)
			if err == nil {
				var all []state.Entry
				all, err = store.List(cmd.Context(), launch.SecretKeys, "", maxSecrets)
				for _, e := range all {
					names = append(names, strings.TrimPrefix(e.Key, launch.SecretKeys))
				}
			}
			if err != nil && !errors.Is(err, state.ErrNotFound) {
				return err
			}
			if a.Flags.JSON {
				return a.PrintJSON(SecretsShown{names})
			}
			if len(names) == 0 {
				a.Screen.Printf("junction: there are no secrets; to keep one: junction secret set NAME\n")
			}
			for _, name := range names {
				if _, err := fmt.Fprintln(a.Out, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	a.JSONFlag(cmd, SecretsShown{})
	return cmd
}

func secretRemoveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a secret",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			name, err := oneSecret(args)
			if err != nil {
				return err
			}
			store, _, err := a.Launch.OpenSecrets(ctx, false)
			if err == nil {
				if _, err = store.Get(ctx, launch.SecretKeys+name); err == nil {
					err = store.Delete(ctx, launch.SecretKeys+name, state.Hold{})
				}
			}
			if errors.Is(err, state.ErrNotFound) {
				return fmt.Errorf("there is no secret %q; junction secret list shows their names", name)
			}
			return err
		},
	}
}
