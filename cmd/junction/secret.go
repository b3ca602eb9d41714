package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/state"
	"github.com/spf13/cobra"
)

const (
	maxSecret  = 64 << 10  // bytes of a secret
	maxSecrets = 1000      // that are listed
	secretKeys = "secret/" // where they are kept
)

const secretHelp = `A configuration names a secret as ${secret:NAME}, in env, headers, args and url:

  {"mcpServers": {"tracker": {"url": "https://example.com/mcp",
    "headers": {"Authorization": "Bearer ${secret:tracker}"}}}}

Secrets are kept encrypted, in state.db in junction's folder; the key is in the keyring of
this system, or where there is none in a file that only you can read. ${file:PATH} takes
what a file holds instead.`

func secretCommand(a *app) *cobra.Command {
	return group("secret", "Keep passwords and tokens out of configuration files",
		"Work with secrets that a configuration names, so that they do not stand in it.\n\n"+secretHelp,
		secretSetCommand(a), secretListCommand(a), secretRemoveCommand(a))
}

// keptSecrets are what of the user's secrets is open in this process.
type keptSecrets struct {
	mu    sync.Mutex
	store state.Store // nil until it is used
	ring  *seal.Ring
}

// openSecrets opens the user's secrets. Unless they are to be made, [state.ErrNotFound] says that there are none.
func (a *app) openSecrets(ctx context.Context, create bool) (state.Store, *seal.Ring, error) {
	s := &a.secrets
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		return s.store, s.ring, nil
	}
	store, key, err := a.launch.OpenLogins(create)(ctx)
	if err != nil {
		return nil, nil, err
	}
	ring, err := seal.NewRing(key)
	if err != nil {
		return nil, nil, err
	}
	s.store, s.ring = store, ring
	return store, ring, nil
}

// secret is one that the user keeps, for a configuration.
func (a *app) secret(ctx context.Context, name string) (string, error) {
	store, ring, err := a.openSecrets(ctx, false)
	var kept state.Entry
	if err == nil {
		kept, err = store.Get(ctx, secretKeys+name)
	}
	if errors.Is(err, state.ErrNotFound) || err == nil && checkSecretName(name) != nil {
		return "", fmt.Errorf("it is not kept; junction secret set %s keeps it", plaintext.ShellWord(name))
	}
	if err != nil {
		return "", err
	}
	value, err := ring.Open(string(kept.Value), []byte(secretKeys+name))
	if err != nil {
		return "", fmt.Errorf("it cannot be opened with the present key; junction secret set %s keeps it anew", plaintext.ShellWord(name))
	}
	a.launch.Hide(string(value))
	return string(value), nil
}

// isKept reports whether there is a secret of this name.
func isKept(ctx context.Context, a *app, name string) (bool, error) {
	store, _, err := a.openSecrets(ctx, false)
	if err == nil {
		_, err = store.Get(ctx, secretKeys+name)
	}
	if errors.Is(err, state.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// storeSecret keeps a secret in place of one of this name.
func storeSecret(ctx context.Context, a *app, name, value string) error {
	if err := checkSecretName(name); err != nil {
		return err
	}
	store, ring, err := a.openSecrets(ctx, true)
	if err == nil {
		_, err = store.Put(ctx, secretKeys+name, []byte(ring.Seal([]byte(value), []byte(secretKeys+name))), state.Write{})
	}
	return err
}

var secretName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,100}$`) })

func checkSecretName(name string) error {
	if !secretName().MatchString(name) {
		return usagef("expected a name of up to 100 letters, digits, _, . and -, got %q", name)
	}
	return nil
}

// oneSecret is the name that the command line gives.
func oneSecret(args []string) (string, error) {
	if len(args) != 1 {
		return "", usagef("expected the NAME of one secret, got %d words", len(args))
	}
	return args[0], checkSecretName(args[0])
}

func secretSetCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME",
		Short: "Keep a secret, typed on the terminal or read from standard input",
		Long:  "Keep a secret in place of one of this name, if there is any. It is typed on the terminal,\nand not shown, or read from standard input: never from the command line, which others see.\n\n" + secretHelp,
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
			if err := storeSecret(ctx, a, name, value); err != nil {
				return fmt.Errorf("the secret is not kept: %w", err)
			}
			a.screen.Printf("junction: ${secret:%s} in a configuration is this secret now; servers get it when they next start or connect\n", name)
			return nil
		},
	}
}

// readSecret is what the person types, or all of standard input.
func readSecret(ctx context.Context, a *app, name string) (value string, err error) {
	if a.person != nil {
		value, err = a.person.Secret(ctx, "Value of "+name+", which is not shown: ")
	} else {
		var data []byte
		data, err = io.ReadAll(io.LimitReader(a.stdin, maxSecret+3))
		value = strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("the secret was not read: %w", err)
	case value == "":
		return "", usagef("the secret is empty; type it, or write it to standard input")
	case len(value) > maxSecret:
		return "", usagef("the secret has more than %d KiB", maxSecret>>10)
	}
	return value, nil
}

// A secretsShown is what secret list --json prints.
type secretsShown struct {
	Secrets []string `json:"secrets"`
}

func secretListCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the names of the secrets that are kept", Args: noMore,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names := []string{}
			store, _, err := a.openSecrets(cmd.Context(), false)
			if err == nil {
				var all []state.Entry
				all, err = store.List(cmd.Context(), secretKeys, "", maxSecrets)
				for _, e := range all {
					names = append(names, strings.TrimPrefix(e.Key, secretKeys))
				}
			}
			if err != nil && !errors.Is(err, state.ErrNotFound) {
				return err
			}
			if a.flags.json {
				return a.printJSON(secretsShown{names})
			}
			if len(names) == 0 {
				a.screen.Printf("junction: no secret is kept; junction secret set NAME keeps one\n")
			}
			for _, name := range names {
				if _, err := fmt.Fprintln(a.out, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	a.jsonFlag(cmd, secretsShown{})
	return cmd
}

func secretRemoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a secret",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			name, err := oneSecret(args)
			if err != nil {
				return err
			}
			store, _, err := a.openSecrets(ctx, false)
			if err == nil {
				if _, err = store.Get(ctx, secretKeys+name); err == nil {
					err = store.Delete(ctx, secretKeys+name, state.Hold{})
				}
			}
			if errors.Is(err, state.ErrNotFound) {
				return fmt.Errorf("no secret %q is kept; junction secret list shows which are", name)
			}
			return err
		},
	}
}
