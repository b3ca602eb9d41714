package account

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/spf13/cobra"
)

// defaultLogin is the time that the user has to log in.
const defaultLogin = 5 * time.Minute

const loginHelp = `All commands, junction chat and junction up use a login. One of them at a time renews
it before it expires. Logins are kept in state.db in junction's folder, encrypted. The
key is in the keyring of your system. Without a keyring it is in logins.key, which only
you can read.`

// A LoginServer is a server where the user can log in.
type LoginServer struct {
	Name string // the name on the command line
	URL  string
	auth config.OAuth
	asks []string // scopes of --scope, added to those of auth
}

// findSigner returns the login server named on the command line.
func findSigner(a *cli.App, cmd *cobra.Command, args []string) (LoginServer, error) {
	if len(args) != 1 {
		return LoginServer{}, cli.Usagef("%s: expected one SERVER: a name from a configuration, or a URL", cmd.CommandPath())
	}
	if launch.At(args[0]) != nil {
		return LoginServer{Name: args[0], URL: args[0]}, nil
	}
	t, err := reach.ConfiguredTarget(cmd.Context(), a, args[0])
	if err != nil {
		return LoginServer{}, err
	}
	if t.Server == nil || !t.IsWeb() {
		return LoginServer{}, cli.Usagef("%s: %s has no URL, so it needs no login; its credentials are in its own settings", cmd.CommandPath(), args[0])
	}
	return LoginServer{Name: args[0], URL: t.Server.URL, auth: launch.OAuthOf(t.Server)}, nil
}

// LoginCommand returns the command login.
func LoginCommand(a *cli.App) *cobra.Command {
	var asksNoBrowser bool
	var scopes []string
	var client string
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Log in at a server that requires it (also: logout, whoami)",
		Long: `Log in at a server that requires it. Your browser shows the page of the server's
authorization server, and then returns to an address of this machine. If no browser can
be opened here, open the page elsewhere, and paste the address at which you arrive.
If the server's entry names your organization's identity provider, you log in there, for
all servers that trust it. It is an error if you do not get a scope of --scope; you are
logged in with the others.

` + loginHelp,
		Example:           "  junction login https://mcp.example.com/mcp\n  junction login github --no-browser",
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := findSigner(a, cmd, args)
			if err != nil {
				return err
			}
			if client != "" {
				s.auth.ClientID, s.auth.ClientSecret, s.auth.KeyFile = client, "", ""
			}
			s.asks = strings.Fields(strings.Join(scopes, " "))
			s.auth.Scopes = slices.Concat(s.auth.Scopes, s.asks)
			return Login(cmd.Context(), a, s, !asksNoBrowser && CanOpenBrowser(a.Place))
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asksNoBrowser, "no-browser", false, "print the page's address, and ask for the address at which you arrive")
	flags.StringSliceVar(&scopes, "scope", nil, "request this `SCOPE`, too (repeatable)")
	flags.StringVar(&client, "client-id", "", "the `ID` of a client that you registered with the authorization server")
	flags.DurationVar(&a.Launch.Timeout, "timeout", 0, fmt.Sprintf("how long you may take (default %v)", defaultLogin))
	reach.ConfigFlags(a, flags)
	return cmd
}

// Login logs the user in at a server, and prints the login. If browser is false, the user opens the
// page elsewhere, and pastes the address where the login ends.
func Login(ctx context.Context, a *cli.App, s LoginServer, browser bool) error {
	visit := func(p0 context.Context, redirect string) (*oauth.Visit, error) { return pastedVisit(p0, a, redirect) }
	if browser {
		visit = oauth.Loopback(func(ctx context.Context, page string) error { return openBrowser(ctx, a, page) })
	} else if a.Person == nil {
		return cli.Usagef("junction login: this needs a browser or a terminal, and there is neither; run it in a terminal")
	}
	limit := defaultLogin
	if a.Launch.Timeout > 0 {
		limit = a.Launch.Timeout
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no login within %v", limit))
	defer cancel()
	o, err := a.Launch.TokenOptions(s.auth, visit)
	if err != nil {
		return err
	}
	label := "Logged in"
	if launch.LogsInAtProvider(&s.auth) { // the login below then shows whether the provider refuses this server
		l, err := a.Launch.Identity(&s.auth, o).Login(ctx)
		if err != nil {
			return err
		}
		a.Out.Printf("%s: %s\n", label, DescribeLogin(l, time.Now()))
		label = "A token"
	}
	l, err := oauth.New(o).Login(ctx, s.URL, nil)
	switch {
	case errors.Is(err, oauth.ErrNotWanted):
		a.Out.Printf("%s needs no login.\n", plaintext.Line(s.Name, 200))
		return nil
	case err != nil && launch.LogsInAtProvider(&s.auth):
		return fmt.Errorf("you are logged in at %s, but got no token for %s: %w", plaintext.Line(s.auth.IdentityProvider, 200), plaintext.Line(s.Name, 200), err)
	case err != nil:
		return err
	}
	a.Out.Printf("%s: %s\n", label, DescribeLogin(l, time.Now()))
	return MissingScopes(l, s.asks)
}

// MissingScopes returns an error if the server did not grant some of the requested scopes. The
// error explains that another login would not help.
func MissingScopes(l *oauth.Login, asked []string) error {
	missing := slices.DeleteFunc(slices.Clone(asked), func(scope string) bool {
		return slices.Contains(l.Scopes, scope) || scope == "offline_access" && l.Renews // some servers never list this scope
	})
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%s did not grant %s, as your user there does not have it; ask the operator of the server",
		plaintext.Line(l.Issuer, 200), plaintext.Line(strings.Join(missing, ", "), 200))
}

// DescribeLogin describes a login in one line.
func DescribeLogin(l *oauth.Login, now time.Time) string {
	text := plaintext.Line(l.Resource, 200) + " at " + plaintext.Line(l.Issuer, 200)
	if l.Identity {
		text = "your identity, at " + plaintext.Line(l.Issuer, 200)
	} else if len(l.Scopes) > 0 {
		text += " (" + plaintext.Line(strings.Join(l.Scopes, " "), 200) + ")"
	}
	switch left := l.Expires.Sub(now).Round(time.Second); {
	case l.Renews:
		text += ", renewed by itself"
	case l.Expires.IsZero():
	case left > 0:
		text += fmt.Sprintf(", for %v", left)
	default:
		text += ", expired"
	}
	return text
}

// openBrowser prints the address of a page, and opens it in the browser.
func openBrowser(ctx context.Context, a *cli.App, page string) error {
	u, err := url.Parse(page)
	if err != nil {
		return err
	}
	a.Screen.Printf("Your browser should show the login of %s now. If it does not, open\n  %s\n", plaintext.Line(u.Host, 200), page)
	if err := StartBrowser(ctx, a.Place, page); err != nil {
		a.Screen.Printf("A browser cannot be opened from here: %v\n", err)
	}
	return nil // on failure, the user can open the page by hand
}

// StartBrowser opens a page in the user's browser, without waiting for the browser to end.
func StartBrowser(ctx context.Context, p place.Place, page string) error {
	name, args := browser(p)
	cmd := p.Command(context.WithoutCancel(ctx), name, append(args, page)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // the browser may stay open
	return nil
}

// browser returns the command that opens web pages.
func browser(p place.Place) (name string, args []string) {
	switch own := p.Getenv("JUNCTION_BROWSER"); {
	case own != "":
		return own, nil
	case runtime.GOOS == "darwin":
		return "open", nil
	case runtime.GOOS == "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	}
	return "xdg-open", nil
}

// CanOpenBrowser reports whether this machine seems able to show a browser to the user.
func CanOpenBrowser(p place.Place) bool {
	name, _ := browser(p)
	if _, err := p.LookPath(name); err != nil {
		return false
	}
	if p.Getenv("JUNCTION_BROWSER") != "" || runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return true
	}
	return p.Getenv("DISPLAY") != "" || p.Getenv("WAYLAND_DISPLAY") != ""
}

// pastedVisit returns a visit for a login in any browser. The user opens the page, and pastes the
// address where the login ends. No program listens at that address.
func pastedVisit(_ context.Context, a *cli.App, redirect string) (*oauth.Visit, error) {
	if redirect == "" {
		redirect = oauth.LoopbackRedirect(defaultCallback)
	}
	return &oauth.Visit{Redirect: redirect, Go: func(ctx context.Context, page string) (string, error) {
		end, err := a.Person.Begin(ctx)
		if err != nil {
			return "", err
		}
		defer end()
		a.Person.Printf("Open this page in a browser, and log in:\n\n  %s\n\nThe browser then goes to an address that begins with %s, and may\nreport that it cannot reach it. Paste that address here:\n", page, redirect)
		back, err := a.Person.Line(ctx, "> ")
		return strings.TrimSpace(back), err
	}}, nil
}

// defaultCallback is the port of the address where such a pasted login ends.
const defaultCallback = 3118

// LogoutCommand returns the command logout.
func LogoutCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "logout SERVER",
		Short:             "Forget the login at a server, and revoke it",
		Long:              "Forget the login at a server. Its authorization server revokes it, if it can.",
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := findSigner(a, cmd, args)
			if err != nil {
				return err
			}
			if launch.LogsInAtProvider(&s.auth) {
				return logoutAtProvider(cmd.Context(), a, s)
			}
			tokens, err := a.Launch.Tokens(s.auth, nil, nil)
			if err != nil {
				return err
			}
			l, revoked, err := tokens.Logout(cmd.Context(), s.URL)
			switch {
			case errors.Is(err, oauth.ErrNoLogin):
				a.Out.Printf("You are not logged in at %s.\n", plaintext.Line(s.Name, 200))
				return nil
			case err != nil:
				return err
			case revoked:
				a.Out.Printf("Logged out: %s revoked it.\n", plaintext.Line(l.Issuer, 200))
			default:
				a.Out.Printf("Logged out here. %s cannot revoke tokens: the old token works until it expires.\n", plaintext.Line(l.Issuer, 200))
			}
			return nil
		},
	}
	reach.ConfigFlags(a, cmd.Flags())
	return cmd
}

// logoutAtProvider removes the token for a server, and ends the login at the identity provider.
func logoutAtProvider(ctx context.Context, a *cli.App, s LoginServer) error {
	o, err := a.Launch.TokenOptions(s.auth, nil)
	if err != nil {
		return err
	}
	_, _, errToken := oauth.New(o).Logout(ctx, s.URL)
	_, revoked, err := a.Launch.Identity(&s.auth, o).Logout(ctx)
	none := errors.Is(err, oauth.ErrNoLogin)
	switch {
	case errToken != nil && !errors.Is(errToken, oauth.ErrNoLogin):
		return errToken
	case err != nil && !none:
		return err
	case none && errToken != nil:
		a.Out.Printf("You are not logged in at %s.\n", plaintext.Line(s.auth.IdentityProvider, 200))
	case none:
		a.Out.Printf("The token for %s is forgotten; you are not logged in at %s.\n", plaintext.Line(s.Name, 200), plaintext.Line(s.auth.IdentityProvider, 200))
	default:
		how := "Logged out here: %s cannot revoke tokens."
		if revoked {
			how = "Logged out: %s revoked it."
		}
		a.Out.Printf(how+" Tokens of other servers work until they expire.\n", plaintext.Line(s.auth.IdentityProvider, 200))
	}
	return nil
}

// A LoginsShown is the output of whoami --json.
type LoginsShown struct {
	Logins []*oauth.Login `json:"logins"`
}

// WhoamiCommand returns the command whoami.
func WhoamiCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "whoami [SERVER]",
		Short:             "Show where you are logged in",
		Long:              "Show where you are logged in: at a server, or everywhere.\n\n" + loginHelp,
		ValidArgsFunction: reach.SuggestServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			logins, err := whoami(a, cmd, args)
			if err != nil {
				return err
			}
			if a.Flags.JSON {
				return a.PrintJSON(LoginsShown{logins})
			}
			if len(logins) == 0 {
				a.Out.Printf("You are not logged in at any server; to log in: junction login SERVER\n")
				return nil
			}
			var rows [][]string
			for _, l := range logins {
				rows = append(rows, []string{plaintext.Line(l.Server, 200), DescribeLogin(l, time.Now())})
			}
			a.Out.Printf("%s", a.Table(rows, 2))
			return nil
		},
	}
	a.JSONFlag(cmd, LoginsShown{})
	reach.ConfigFlags(a, cmd.Flags())
	return cmd
}

// whoami returns all logins. If the command line names a server, it returns only the logins that
// this server uses.
func whoami(a *cli.App, cmd *cobra.Command, args []string) ([]*oauth.Login, error) {
	if len(args) == 0 {
		tokens, err := a.Launch.Tokens(config.OAuth{}, nil, nil)
		if err != nil {
			return nil, err
		}
		return tokens.Logins(cmd.Context())
	}
	s, err := findSigner(a, cmd, args)
	if err != nil {
		return nil, err
	}
	o, err := a.Launch.TokenOptions(s.auth, nil)
	if err != nil {
		return nil, err
	}
	token, err := oauth.New(o).LoginOf(cmd.Context(), s.URL)
	at, all := s.Name, []*oauth.Login{token}
	if launch.LogsInAtProvider(&s.auth) && (err == nil || errors.Is(err, oauth.ErrNoLogin)) {
		var who *oauth.Login
		if at, all = s.auth.IdentityProvider, nil; err == nil {
			all = []*oauth.Login{token}
		}
		who, err = a.Launch.Identity(&s.auth, o).Current(cmd.Context())
		all = slices.Insert(all, 0, who)
	}
	if errors.Is(err, oauth.ErrNoLogin) {
		return nil, fmt.Errorf("you are not logged in at %s; run junction login %s", plaintext.Line(at, 200), plaintext.ShellWord(s.Name))
	}
	return all, err
}

// RenewLoginCommand returns a hidden command, which another junction process runs to renew a login.
func RenewLoginCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: launch.RenewCommand + " URL MARK", Short: "Renew the login at a server, for another junction", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usagef("expected the URL of a server, and the mark of the token to replace")
			}
			a.Launch.Renews = true
			tokens, err := a.Launch.Tokens(config.OAuth{}, nil, nil)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), launch.RenewTime, fmt.Errorf("the login was not renewed within %v", launch.RenewTime))
			defer cancel()
			return tokens.Renew(ctx, args[0], args[1])
		},
	}
}
