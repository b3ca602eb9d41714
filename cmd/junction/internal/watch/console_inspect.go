package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/doctor"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/console/inspect"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/oauth"
)

// A consoleInspector is the inspector of a console, with its own App.
type consoleInspector struct {
	*inspect.Inspector
	app *cli.App
}

// Close closes all connections.
func (i consoleInspector) Close() error {
	i.Inspector.Close()
	return i.app.Launch.Close()
}

// NewInspector returns the inspector of a console. It connects to servers in the same way as other
// commands. Its App has no terminal, because a word that the user types for another command must
// not count as consent.
func NewInspector(a *cli.App, once func(http.Handler) string) consoleInspector {
	own := reach.Ready(&cli.App{Place: a.Place, Signals: cli.Signals{Kill: a.Kill}, IO: cli.IO{Stdout: a.Stdout, Stderr: a.Stderr, Log: a.Log, Out: a.Out, Screen: a.Screen}})
	own.Launch.Gateway = a.Launch.Gateway
	own.Launch.Config, own.Launch.Verbose, own.Flags.LowestLog = a.Launch.Config, a.Launch.Verbose, a.Flags.LowestLog
	own.Launch.ShareLogins()
	turn := make(chan struct{}, 1) // only one connection at a time reads the configuration
	return consoleInspector{inspect.New(inspect.Options{Once: once, Open: func(ctx context.Context, s inspect.Server, hooks inspect.Hooks) (*inspect.Opened, error) {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
			return openInspected(ctx, own, s, hooks)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}}), own}
}

// openInspected returns the server to which a user of the console's page connects.
func openInspected(ctx context.Context, a *cli.App, s inspect.Server, hooks inspect.Hooks) (*inspect.Opened, error) {
	in := inspected{app: a, hooks: hooks}
	var err error
	switch {
	case s.Name != "" && launch.At(s.Name) == nil:
		err = in.configured(ctx, s.Name)
	case s.Name != "" && !isHTTP(s.Name):
		in.target, err = reach.ServerTarget(ctx, a, s.Name)
	case s.Name != "":
		s.URL = s.Name
		fallthrough
	case s.URL != "":
		err = in.given(&config.Server{Kind: config.HTTP, URL: s.URL, Headers: s.Headers})
	default:
		err = in.given(&config.Server{Kind: config.Stdio, Command: s.Command, Args: s.Args, Env: s.Env, Dir: s.Dir})
	}
	if err != nil {
		return nil, in.unopened(err)
	}
	return in.opened(), nil
}

// An inspected is a server to which the inspector connects.
type inspected struct {
	app    *cli.App
	hooks  inspect.Hooks
	target launch.Target
	server *config.Server // nil for a server without an entry
	known  bool           // whether the server is configured, so that other commands know its name
}

// configured sets the target to a configured server.
func (in *inspected) configured(ctx context.Context, name string) error {
	_, e, err := reach.FindConfigured(in.app, name)
	if err != nil {
		return err
	}
	if err := in.app.Launch.Consent(ctx, e); err != nil {
		return &inspect.FaultError{Fault: inspect.Fault{Link: "consent", Cause: err.Error(), Remedy: "junction list tools " + plaintext.ShellWord(name) + " in a terminal asks you about it; or start the console with --config " + plaintext.ShellWord(e.Definition.Source)}}
	}
	in.known = true
	in.target, err = in.app.Launch.TargetWith(ctx, e, func(s *config.Server, header http.Header) (*http.Client, error) {
		return in.app.Launch.Authorized(s.Name, s.URL, launch.OAuthOf(s), s.TLS, header, in.hooks.HTTP)
	})
	in.server = in.target.Server
	return err
}

// given sets the target to a server that the page describes.
func (in *inspected) given(s *config.Server) error {
	in.server = s
	t, err := in.app.Launch.Transport(s, nil, func(s *config.Server, header http.Header) (*http.Client, error) {
		return in.app.Launch.Authorized("", s.URL, config.OAuth{}, nil, header, in.hooks.HTTP)
	})
	in.target = launch.Target{By: launch.Of(s.Kind), Transport: t, Server: s}
	return err
}

// unopened returns the fault of a server to which the inspector cannot connect.
func (in *inspected) unopened(err error) error {
	if errors.As(err, new(*inspect.FaultError)) {
		return err
	}
	fault := inspect.Fault{Link: "entry", Cause: why.Text(err), Remedy: "change the entry"}
	switch {
	case errors.As(err, new(*url.Error)): // the text of a url.Error quotes the URL, which may contain a secret
		fault.Cause, fault.Remedy = "the URL cannot be read", "write it as https://HOST/PATH; each % must come before two hexadecimal digits"
	case errors.Is(err, config.ErrNotSet), errors.Is(err, config.ErrSecret):
		fault.Link, fault.Remedy = "variables", doctor.VariablesRemedy(err)
	case !in.known:
		fault.Remedy = "list the servers: junction list"
	}
	return &inspect.FaultError{Fault: fault}
}

// opened returns the options with which the inspector connects.
func (in *inspected) opened() *inspect.Opened {
	a, t, s := in.app, in.target, in.server
	o := &inspect.Opened{Name: t.Title(), Origin: t.Origin, Transport: t.Transport, Client: a.Launch.Options(t), Explain: in.explain, Entry: in.entry()}
	o.Client.ConnectTimeout = launch.StartLimit(in.target.StartTimeout)
	if c, is := t.Transport.(*command.Command); is {
		c.Stderr, c.Skipped = in.hooks.Stderr, in.hooks.Stdout
	}
	if s != nil && t.IsWeb() && !doctor.HasAuthorization(s.Headers) {
		o.Login = in.login
	}
	return o
}

// entry returns the server as an entry for a configuration, without secrets.
func (in *inspected) entry() inspect.Entry {
	e := inspect.Entry{Name: in.target.Name, Configured: in.known}
	if in.known {
		e.Config = in.app.Launch.Config
	}
	if in.server == nil {
		return e
	}
	s := in.server.Redacted()
	e.Command, e.Args, e.Dir, e.URL = s.Command, s.Args, s.Dir, s.URL
	e.Env, e.Headers = slices.Sorted(maps.Keys(s.Env)), slices.Sorted(maps.Keys(s.Headers))
	if t := in.target.By; t.IsOlder {
		e.Type = t.Name
	}
	return e
}

// explain returns the fault of a failed or lost connection in the way of junction doctor.
func (in *inspected) explain(ctx context.Context, err error, stray string) inspect.Fault {
	t, s, p := in.target, in.server, &doctor.Report{}
	answered := errors.As(err, new(*mcp.StatusError)) || errors.Is(err, oauth.ErrLogin)
	sound := s == nil || answered || doctor.CheckReachable(ctx, in.app, s, p)
	switch {
	case sound && stray != "" && errors.Is(err, context.DeadlineExceeded):
		p.Fail("output", fmt.Sprintf("standard output has a line that is not JSON-RPC, and no message followed: %q", stray), reach.RemedyStrayOutput)
	case sound:
		p.FailStart(t.Transport, err, t.Title(), stray, launch.StartLimit(in.target.StartTimeout))
	}
	last := p.Links[len(p.Links)-1]
	return inspect.Fault{Link: last.Name, Cause: last.Detail, Remedy: last.Remedy, Login: launch.WantsLogin(err) && s != nil && !doctor.HasAuthorization(s.Headers)}
}

// login logs the user in at the server. visit shows the login page.
func (in *inspected) login(ctx context.Context, scopes []string, visit func(page string)) (string, error) {
	auth := launch.OAuthOf(in.server)
	auth.Scopes = slices.Concat(auth.Scopes, scopes)
	open := oauth.Loopback(func(_ context.Context, page string) error {
		visit(page)
		return nil
	})
	if launch.LogsInAtProvider(&auth) {
		return "", &inspect.FaultError{Fault: inspect.Fault{Link: "authorization", Cause: "you log in at your organization's identity provider, for all servers", Remedy: "in a terminal: junction login " + plaintext.ShellWord(in.target.Name)}}
	}
	tokens, err := in.app.Launch.Tokens(auth, open, in.hooks.HTTP)
	if err != nil {
		return "", err
	}
	l, err := tokens.Login(ctx, in.server.URL, nil)
	switch {
	case errors.Is(err, oauth.ErrNotWanted):
		return "the server needs no login", nil
	case err != nil:
		return "", err
	}
	return account.DescribeLogin(l, time.Now()), account.MissingScopes(l, scopes)
}

// isHTTP reports whether a server is an HTTP URL.
func isHTTP(server string) bool {
	return len(server) > 7 && (server[:7] == "http://" || len(server) > 8 && server[:8] == "https://")
}
