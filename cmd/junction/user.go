package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/authserver"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/spf13/cobra"
)

// maxPasswordLine bounds the line of a password on standard input, in bytes.
const maxPasswordLine = 4 << 10

const userHelp = `Users log in to a junction up that runs with --auth local. What is kept of a password
is a hash (argon2id), in users.json in junction's folder. It is asked for on the
terminal, or read as the first line of standard input.`

func (a *app) userCommand() *cobra.Command {
	return group("user", "Add, list and remove users who may log in to junction up",
		"Work with the users who may log in to junction up --auth local.\n\n"+userHelp,
		a.userAddCommand(), a.userListCommand(), a.userRemoveCommand(), a.userPasswdCommand())
}

// users are those of this installation.
func users() (*authserver.Users, error) { return kept("users.json", authserver.OpenUsers) }

// oneUser is the name that a command line has.
func oneUser(args []string) (string, error) {
	if len(args) != 1 {
		return "", usagef("expected the name of one user, got %d words", len(args))
	}
	return args[0], nil
}

// password asks for a new password, twice where it cannot be seen, or reads it.
func (a *app) password(ctx context.Context) (string, error) {
	if a.person == nil {
		line, err := bufio.NewReader(io.LimitReader(a.stdin, maxPasswordLine)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	end, err := a.person.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	first, err := a.person.Secret(ctx, "Password: ")
	if err != nil {
		return "", err
	}
	again, err := a.person.Secret(ctx, "Again: ")
	if err == nil && again != first {
		err = errors.New("the passwords are not the same")
	}
	return first, err
}

// isUser reports whether there is a user of a name, so that nobody is asked for a password in vain.
func isUser(u *authserver.Users, name string) (bool, error) {
	all, err := u.All()
	return slices.ContainsFunc(all, func(u authserver.User) bool { return u.Name == name }), err
}

// userFault says why a user could not be changed: a password that cannot be one was typed wrong.
func userFault(err error) error {
	if errors.Is(err, authserver.ErrPassword) {
		return &usageError{err}
	}
	return err
}

func (a *app) userAddCommand() *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use:   "add USER",
		Short: "Add a user, with a password",
		Long:  "Add a user, as rules and the audit log name them, with a password.\n\n" + userHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeUser(args, "Added", func(u *authserver.Users, name string) error {
				there, err := isUser(u, name)
				if err == nil && there {
					err = fmt.Errorf("there is a user %q already; junction user passwd gives another password", name)
				}
				if err != nil {
					return err
				}
				password, err := a.password(cmd.Context())
				if err != nil {
					return err
				}
				return u.Add(cmd.Context(), name, password, scopes)
			})
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "a `SCOPE` that the user has, which tools may need and rules see in principal.scopes (repeatable); it counts where a client asks for it at the login, as clients do for those that the settings name")
	return cmd
}

func (a *app) userListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the users", Args: noMore,
		RunE: func(*cobra.Command, []string) error {
			u, err := users()
			if err != nil {
				return err
			}
			all, err := u.All()
			if err != nil {
				return err
			}
			var rows [][]string
			for _, user := range all {
				rows = append(rows, []string{plaintext.Line(user.Name, 200), plaintext.Line(strings.Join(user.Scopes, " "), 200), "added " + user.Created.Local().Format(time.DateTime)})
			}
			if len(rows) == 0 {
				a.out.Printf("There are no users; junction user add NAME adds one.\n")
				return nil
			}
			a.out.Printf("%s", terminal.Table(rows, 2, lineWidth(a.out)))
			return nil
		},
	}
}

func (a *app) userRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove USER",
		Short: "Remove a user, and end the logins",
		Long:  "Remove a user. A junction up that runs refuses the user's tokens within some seconds.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeUser(args, "Removed", func(u *authserver.Users, name string) error { return u.Remove(cmd.Context(), name) })
		},
	}
}

func (a *app) userPasswdCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "passwd USER",
		Short: "Give a user another password, and end the logins",
		Long:  "Give a user another password. Logins with the one before end within some seconds.\n\n" + userHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeUser(args, "Changed", func(u *authserver.Users, name string) error {
				there, err := isUser(u, name)
				if err == nil && !there {
					err = fmt.Errorf("%w: %q", authserver.ErrNoUser, name)
				}
				if err != nil {
					return err
				}
				password, err := a.password(cmd.Context())
				if err != nil {
					return err
				}
				return u.SetPassword(cmd.Context(), name, password)
			})
		},
	}
}

func (a *app) changeUser(args []string, done string, change func(u *authserver.Users, name string) error) error {
	name, err := oneUser(args)
	if err != nil {
		return err
	}
	u, err := users()
	if err != nil {
		return err
	}
	if err := change(u, name); err != nil {
		if errors.Is(err, authserver.ErrNoUser) {
			err = fmt.Errorf("%w; junction user list lists them", err)
		}
		return userFault(err)
	}
	a.out.Printf("%s: %s.\n", done, plaintext.Line(name, 200))
	return nil
}
