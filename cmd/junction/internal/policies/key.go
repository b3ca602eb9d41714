package policies

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/spf13/cobra"
)

const keyExample = `  junction key create ann    prints a key, once
  junction up --auth keys --http 0.0.0.0:7717 --allow-host gw.example.com \
              --tls-cert cert.pem --tls-key key.pem
  junction key remove ann    revokes it

Ann's client connects to https://gw.example.com:7717/mcp. Without --http only programs on this
machine can connect.`

const keyHelp = `Clients send a key as "Authorization: Bearer KEY" to a junction up that runs with
--auth keys. Only a hash of the key is stored, in keys.json in junction's folder, or in the
store that "state" in the settings names, for all replicas.`

// KeyCommand returns the command key.
func KeyCommand(a *cli.App) *cobra.Command {
	return withStateFlag(a, cli.Group("key", "Let colleagues and programs use your junction up, each with a key",
		"Let colleagues and programs use your junction up, each with a key:\n\n"+keyExample+"\n\n"+keyHelp,
		keyCreateCommand(a), keyListCommand(a), keyRemoveCommand(a)))
}

// withStateFlag defines --config for the subcommands of a group, which use the shared state that a
// configuration names.
func withStateFlag(a *cli.App, group *cobra.Command) *cobra.Command {
	for _, c := range group.Commands() {
		c.Flags().StringArrayVar(&a.Launch.Config, "config", nil, "use the shared state, if any, of the configuration in `FILE` only (repeatable)")
	}
	return group
}

// openKeys opens the keys of this installation, or of the replicas that the configuration describes.
func openKeys(ctx context.Context, a *cli.App) (*apikey.Keys, error) {
	if err := reach.UseConfiguredShared(ctx, a); err != nil {
		return nil, err
	}
	return reach.Keys(ctx, a)
}

func keyCreateCommand(a *cli.App) *cobra.Command {
	var scopes []string
	var lasts time.Duration
	cmd := &cobra.Command{
		Use:   "create USER",
		Short: "Create a key for a user, and print it",
		Long:  "Create a key for a user, and print it. Rules and the audit log use the name USER. The key\nis shown once and cannot be read again.\n\n" + keyHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("expected one USER, got %d words", len(args))
			}
			if lasts < 0 || lasts == 0 && cmd.Flags().Changed("expires") {
				return cli.Usagef("--expires: expected a time such as 720h, got %v", lasts)
			}
			k, err := openKeys(cmd.Context(), a)
			if err != nil {
				return err
			}
			var expires time.Time
			if lasts > 0 {
				expires = time.Now().Add(lasts)
			}
			return logged(cmd.Context(), a, func() ([]audit.Record, error) {
				key, kept, err := k.Create(cmd.Context(), args[0], scopes, expires)
				if err != nil {
					return nil, err
				}
				_, err = fmt.Fprintln(a.Stdout, key)
				return []audit.Record{{Event: audit.EventKeyCreate, Principal: kept.User, Name: kept.ID}}, err
			})
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "a `SCOPE` that rules see in principal.scopes (repeatable)")
	cmd.Flags().DurationVar(&lasts, "expires", 0, "how long the key is valid, such as `720h` (default: forever)")
	return cmd
}

func keyListCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the keys, without their secret part", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			k, err := openKeys(cmd.Context(), a)
			if err != nil {
				return err
			}
			all, err := k.All()
			if err != nil {
				return err
			}
			var rows [][]string
			for _, key := range all {
				until := "for ever"
				if !key.Expires.IsZero() {
					until = "until " + key.Expires.Local().Format(time.DateTime)
				}
				rows = append(rows, []string{key.ID, plaintext.Line(key.User, 200), until, "created " + key.Created.Local().Format(time.DateTime), plaintext.Line(strings.Join(key.Scopes, " "), 200)})
			}
			if len(rows) == 0 {
				a.Out.Printf("There are no keys; junction key create USER makes one.\n")
				return nil
			}
			a.Out.Printf("%s", a.Table(rows, 2))
			return nil
		},
	}
}

func keyRemoveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "remove ID|USER",
		Aliases: []string{"revoke"},
		Short:   "Remove a key, or all keys of a user",
		Long:    "Remove the key with this id, or all keys of this user. A running junction up refuses them\nwithin a second, or all replicas within two.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("expected the id of a key or the name of a user; junction key list lists them")
			}
			k, err := openKeys(cmd.Context(), a)
			if err != nil {
				return err
			}
			var revoked []apikey.Key
			err = logged(cmd.Context(), a, func() (done []audit.Record, err error) {
				revoked, err = k.Revoke(cmd.Context(), args[0])
				for _, key := range revoked {
					done = append(done, audit.Record{Event: audit.EventKeyRemove, Principal: key.User, Name: key.ID})
				}
				return done, err
			})
			if err != nil {
				return err
			}
			if len(revoked) == 0 {
				return fmt.Errorf("there is no key %q, and no user of that name has one; junction key list lists them", args[0])
			}
			a.Out.Printf("Removed: %s.\n", plaintext.Count(len(revoked), "key"))
			return nil
		},
	}
}
