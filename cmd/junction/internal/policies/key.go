package policies

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/spf13/cobra"
)

const keyExample = `  junction key create ann    prints a key, once
  junction up --auth keys --http 0.0.0.0:7717 --allow-host gw.example.com \
              --tls-cert cert.pem --tls-key key.pem
  junction key rotate ID --overlap 24h    replaces it; both work for a day
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
		keyCreateCommand(a), keyListCommand(a), keyRotateCommand(a), keyRemoveCommand(a)))
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
	var like apikey.Key
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
			if like.User = args[0]; lasts > 0 {
				like.Expires = time.Now().Add(lasts)
			}
			return logged(cmd.Context(), a, func() ([]audit.Record, error) {
				key, kept, err := k.Make(cmd.Context(), like)
				if err != nil {
					return nil, err
				}
				warnProfile(a, kept.Profile)
				_, err = fmt.Fprintln(a.Stdout, key)
				return []audit.Record{{Event: audit.EventKeyCreate, Principal: kept.User, Name: kept.ID}}, err
			})
		},
	}
	cmd.Flags().StringSliceVar(&like.Scopes, "scope", nil, "a `SCOPE` that rules see in principal.scopes (repeatable)")
	cmd.Flags().DurationVar(&lasts, "expires", 0, "how long the key is valid, such as `720h` (default: forever)")
	cmd.Flags().StringVar(&like.Purpose, "purpose", "", "a `TEXT` about its use, for junction key list")
	cmd.Flags().StringVar(&like.Profile, "profile", "", "the `NAME` of a profile whose endpoint, /mcp/NAME, is the only one that takes the key")
	return cmd
}

// warnProfile prints a line if the configuration here does not have the profile of a key. That of
// junction up may have it.
func warnProfile(a *cli.App, name string) {
	set, _, err := reach.ConfiguredServers(a)
	if err != nil {
		return // openKeys has read the configuration
	}
	s, _, err := a.Launch.QuietSettings(set)
	if err != nil || CheckProfile(s, name) == nil {
		return
	}
	known := slices.Sorted(maps.Keys(s.Profiles))
	a.Screen.Printf("junction: no profile %q is configured here, and no other endpoint takes this key; there are %s%s\n", plaintext.Line(name, 100), cmp.Or(strings.Join(known, ", "), "none"), cli.Suggestion(nearest.Name(name, known)))
}

func keyRotateCommand(a *cli.App) *cobra.Command {
	var overlap time.Duration
	cmd := &cobra.Command{
		Use:   "rotate ID",
		Short: "Replace a key by a new one, and print that",
		Long: "Replace a key by a new one for the same user, scopes, purpose and profile, and print the new one.\n" +
			"Both work for the time of --overlap, then the old one ends. A key that was to expire gets a successor\nthat lives as long.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.Usagef("expected the id of a key; junction key list lists them")
			}
			if overlap < 0 {
				return cli.Usagef("--overlap: expected a time such as 24h, got %v", overlap)
			}
			k, err := openKeys(cmd.Context(), a)
			if err != nil {
				return err
			}
			return logged(cmd.Context(), a, func() ([]audit.Record, error) {
				key, kept, err := k.Rotate(cmd.Context(), args[0], overlap)
				if errors.Is(err, apikey.ErrNoKey) {
					return nil, fmt.Errorf("there is no key %q; junction key list lists the ids", args[0])
				}
				if err != nil {
					return nil, err
				}
				_, err = fmt.Fprintln(a.Stdout, key)
				return []audit.Record{{Event: audit.EventKeyRotate, Principal: kept.User, Name: args[0], Reason: "its successor is " + kept.ID}}, err
			})
		},
	}
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old key still works, such as `24h`; 0s ends it at once")
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
			used, err := k.Used()
			if err != nil {
				return err
			}
			var rows [][]string
			for _, key := range all {
				until := "for ever"
				if !key.Expires.IsZero() {
					until = "until " + key.Expires.Local().Format(time.DateTime)
				}
				if !key.Expires.IsZero() && time.Now().After(key.Expires) {
					until = "ended " + key.Expires.Local().Format(time.DateTime)
				}
				last := "never used"
				if at := used[key.ID]; !at.IsZero() {
					last = "used " + at.Local().Format(hourFormat)
				}
				rows = append(rows, []string{key.ID, plaintext.Line(key.User, 200), until, "created " + key.Created.Local().Format(time.DateTime), last, details(key), plaintext.Line(strings.Join(key.Scopes, " "), 200)})
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

// hourFormat is the format of the time of a key's last use, which is known to the hour.
const hourFormat = "2006-01-02 15h"

// details returns the purpose, the profile and the predecessor of a key.
func details(k apikey.Key) string {
	var all []string
	if k.Purpose != "" {
		all = append(all, plaintext.Line(k.Purpose, 200))
	}
	if k.Profile != "" {
		all = append(all, "only at /mcp/"+plaintext.Line(k.Profile, 100))
	}
	if k.Follows != "" {
		all = append(all, "replaces "+k.Follows)
	}
	return strings.Join(all, ", ")
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
