package policies

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/authserver"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/state"
	"github.com/spf13/cobra"
)

// maxPasswordLine limits the bytes read from standard input for a password.
const maxPasswordLine = 4 << 10

const userHelp = `Users log in to a junction up that runs with --auth local. Only a hash (argon2id) of a
password is stored, in users.json in junction's folder, or in the store that "state" in the
settings names, for all replicas. You type the password on the terminal, or write it as the
first line of standard input.`

// UserCommand returns the command user.
func UserCommand(a *cli.App) *cobra.Command {
	return withStateFlag(a, cli.Group("user", "Let colleagues use the servers of your \"junction up\", each with a password",
		"Let colleagues use the servers of your \"junction up\", each with a password:\n\n  junction user add ann\n  junction up --auth local\n\n"+userHelp,
		UserAddCommand(a), userListCommand(a), userLogoutCommand(a), userRemoveCommand(a), UserPasswdCommand(a)))
}

// openUsers opens the users of this installation, or of the replicas that the configuration
// describes.
func openUsers(ctx context.Context, a *cli.App) (*authserver.Users, error) {
	if err := reach.UseConfiguredShared(ctx, a); err != nil {
		return nil, err
	}
	return reach.Users(ctx, a)
}

// oneUser returns the user name on a command line with exactly one word.
func oneUser(args []string) (string, error) {
	if len(args) != 1 {
		return "", cli.Usagef("expected one USER, got %d words", len(args))
	}
	return args[0], nil
}

// password asks for a new password. On a terminal, it asks twice. Otherwise it reads the password
// from standard input.
func password(ctx context.Context, a *cli.App) (string, error) {
	if a.Person == nil {
		line, err := bufio.NewReader(io.LimitReader(a.Stdin, maxPasswordLine)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	end, err := a.Person.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	first, err := a.Person.Secret(ctx, "Password: ")
	if err != nil {
		return "", err
	}
	again, err := a.Person.Secret(ctx, "Again: ")
	if err == nil && again != first {
		err = errors.New("the passwords are not the same")
	}
	return first, err
}

// passwordFor first checks that the user does not exist yet if isNew is set, or that the user
// exists otherwise. Then it asks for a password, as [password] does.
func passwordFor(ctx context.Context, a *cli.App, u *authserver.Users, name string, isNew bool) (string, error) {
	all, err := u.All()
	is := slices.ContainsFunc(all, func(u authserver.User) bool { return u.Name == name })
	switch {
	case err != nil:
		return "", err
	case is && isNew:
		return "", fmt.Errorf("there is a user %q already; junction user passwd changes the password", name)
	case !is && !isNew:
		return "", fmt.Errorf("%w: %q", authserver.ErrNoUser, name)
	}
	return password(ctx, a)
}

// UserAddCommand returns the command user add.
func UserAddCommand(a *cli.App) *cobra.Command {
	var scopes []string
	cmd := &cobra.Command{
		Use:   "add USER",
		Short: "Add a user, with a password",
		Long:  "Add a user with a password. Rules and the audit log use the name USER.\n\n" + userHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeUser(cmd.Context(), a, args, "Added", func(u *authserver.Users, name string) error {
				password, err := passwordFor(cmd.Context(), a, u, name, true)
				if err != nil {
					return err
				}
				return logged(cmd.Context(), a, func() ([]audit.Record, error) {
					return ifDone(u.Add(cmd.Context(), name, password, scopes), audit.Record{Event: audit.EventUserAdd, Principal: name})
				})
			})
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scope", nil, "a `SCOPE` of the user, which tools may need and rules see in principal.scopes (repeatable); a login gets it if the client requests it, and clients request those that the settings name")
	return cmd
}

func userListCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the users, and who is logged in", Args: cli.NoArguments,
		Long: "List the users with their scopes, and the valid logins, also of users of an OpenID provider.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			u, err := openUsers(cmd.Context(), a)
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
				a.Out.Printf("There are no users; junction user add NAME adds one.\n")
			} else {
				a.Out.Printf("%s", a.Table(rows, 2))
			}
			return listLogins(cmd.Context(), a)
		},
	}
}

// localLogins returns the store of logins with --auth local. It returns nil if no login was ever
// stored.
func localLogins(ctx context.Context, a *cli.App) (state.Store, error) {
	store, _, err := a.Launch.OpenLogins(ctx, false)
	if errors.Is(err, state.ErrNotFound) {
		return nil, nil
	}
	return store, err
}

// listLogins prints the users with active logins.
func listLogins(ctx context.Context, a *cli.App) error {
	store, err := localLogins(ctx, a)
	if err != nil || store == nil {
		return err
	}
	all, err := authserver.Logins(ctx, store)
	if err != nil || len(all) == 0 {
		return err
	}
	slices.SortFunc(all, func(a, b authserver.Login) int { return cmp.Or(strings.Compare(a.User, b.User), a.At.Compare(b.At)) })
	var rows [][]string
	for _, l := range all {
		rows = append(rows, []string{plaintext.Line(l.User, 200), "since " + l.At.Local().Format(time.DateTime), "until " + l.Until.Local().Format(time.DateTime)})
	}
	a.Out.Printf("Logged in:\n%s", a.Table(rows, 2))
	return nil
}

// logout ends all logins of a user, and returns their number.
func logout(ctx context.Context, a *cli.App, name string) (int, error) {
	store, err := localLogins(ctx, a)
	if err != nil || store == nil {
		return 0, err
	}
	ended, err := authserver.Logout(ctx, store, name)
	if g := a.Launch.Shared(); err == nil && g != nil {
		err = g.Changed(ctx, authserver.SharedLogins)
	}
	return ended, err
}

// loggedOut returns a line about ended logins of a user.
func loggedOut(name string, ended int) audit.Record {
	return audit.Record{Event: audit.EventLogout, Principal: name, Name: strconv.Itoa(ended)}
}

// ifDone returns a line about a change, unless the change failed.
func ifDone(err error, r audit.Record) ([]audit.Record, error) {
	if err != nil {
		return nil, err
	}
	return []audit.Record{r}, nil
}

func userLogoutCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "logout USER",
		Short: "End all logins of a user",
		Long: "End all logins of a user, also of one who logged in at an OpenID provider. A running junction up\n" +
			"refuses the user's tokens within some seconds. The user may log in again.\nTo prevent that, use junction user remove, or block the user at the provider.",
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := oneUser(args)
			if err != nil {
				return err
			}
			if err := reach.UseConfiguredShared(cmd.Context(), a); err != nil {
				return err
			}
			ended := 0
			err = logged(cmd.Context(), a, func() (done []audit.Record, err error) {
				if ended, err = logout(cmd.Context(), a, name); ended > 0 {
					done = append(done, loggedOut(name, ended))
				}
				return done, err
			})
			if err == nil && ended == 0 {
				err = fmt.Errorf("%s is not logged in; junction user list shows the logins", plaintext.Line(name, 200))
			}
			if err != nil {
				return err
			}
			a.Out.Printf("Logged out: %s (%d).\n", plaintext.Line(name, 200), ended)
			return nil
		},
	}
}

func userRemoveCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "remove USER",
		Short: "Remove a user, and end the logins",
		Long:  "Remove a user. A running junction up refuses the user's tokens within some seconds. For a user of\nan OpenID provider this ends the logins.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeUser(cmd.Context(), a, args, "Removed", func(u *authserver.Users, name string) error {
				return logged(cmd.Context(), a, func() ([]audit.Record, error) {
					done, err := ifDone(u.Remove(cmd.Context(), name), audit.Record{Event: audit.EventUserRemove, Principal: name})
					ended, fault := logout(cmd.Context(), a, name)
					if ended > 0 {
						done = append(done, loggedOut(name, ended))
					}
					if errors.Is(err, authserver.ErrNoUser) && ended > 0 {
						a.Out.Printf("%s is a user of the OpenID provider, and may log in again there.\n", plaintext.Line(name, 200))
						err = nil
					}
					return done, errors.Join(err, fault)
				})
			})
		},
	}
}

// UserPasswdCommand returns the command user passwd.
func UserPasswdCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "passwd USER",
		Short: "Give a user another password, and end the logins",
		Long:  "Give a user another password. Logins with the old one end within some seconds.\n\n" + userHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			return changeUser(cmd.Context(), a, args, "Changed", func(u *authserver.Users, name string) error {
				password, err := passwordFor(cmd.Context(), a, u, name, false)
				if err != nil {
					return err
				}
				return logged(cmd.Context(), a, func() ([]audit.Record, error) {
					return ifDone(u.SetPassword(cmd.Context(), name, password), audit.Record{Event: audit.EventUserPassword, Principal: name})
				})
			})
		},
	}
}

// changeUser calls change for the user on the command line. On success, it prints the word done
// with the user name.
func changeUser(ctx context.Context, a *cli.App, args []string, done string, change func(u *authserver.Users, name string) error) error {
	name, err := oneUser(args)
	if err != nil {
		return err
	}
	u, err := openUsers(ctx, a)
	if err != nil {
		return err
	}
	if err := change(u, name); err != nil {
		if errors.Is(err, authserver.ErrNoUser) {
			err = fmt.Errorf("%w; junction user list lists them", err)
		}
		if errors.Is(err, authserver.ErrPassword) { // the password that the user typed is invalid
			err = &cli.UsageError{Err: err}
		}
		return err
	}
	a.Out.Printf("%s: %s.\n", done, plaintext.Line(name, 200))
	return nil
}
