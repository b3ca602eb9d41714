package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plainhttp"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/spf13/cobra"
)

// A target is a server that can be connected to.
type target struct {
	name      string // empty: the transport's own
	origin    string // where it is defined; empty where the command line gives it
	transport mcp.Transport
	timeout   time.Duration // 0: the default
	// server is what a configuration says of it; nil where none does.
	server       *config.Server
	isInstalled  bool                  // what is started is what junction.lock has, and not what server names
	locked       *install.LockedServer // what is locked of it; nil: nothing
	startTimeout time.Duration         // 0: the default
}

// title is the name by which a person knows the server.
func (t *target) title() string { return cmp.Or(t.name, t.transport.String()) }

// target finds the server that a command line means, and returns what else
// stands on it.
func (a *app) target(ctx context.Context, cmd *cobra.Command, args []string) (target, []string, error) {
	if err := a.checkFlags(); err != nil {
		return target{}, nil, err
	}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if len(args) == dash {
			return target{}, nil, usagef(`after "--" stands the command of a server`)
		}
		if len(args) == dash+1 && isURL(args[dash]) {
			t, err := a.named(ctx, args[dash])
			return t, args[:dash], err
		}
		if a.flags.frozen {
			return target{}, nil, usagef("--frozen is for the servers of a configuration: no lock has a command that is typed")
		}
		t, err := a.command(args[dash], args[dash+1:])
		return t, args[:dash], err
	}
	if len(args) == 0 {
		return target{}, nil, usagef(`%s: SERVER is missing: a name from a configuration, a URL, or "--" and a command at the end`, cmd.CommandPath())
	}
	t, err := a.named(ctx, args[0])
	if at := slices.IndexFunc(args, isURL); err != nil && at > 0 && cmd.Name() == "call" {
		err = usagef("the server comes first: %s %s %s", cmd.CommandPath(), args[at], args[0])
	}
	return t, args[1:], err
}

func (a *app) checkFlags() error {
	if a.flags.timeout < 0 {
		return usagef("--timeout: expected a positive duration, such as 30s")
	}
	if name := a.flags.revision; name != "" && revision.Lookup(name) == nil {
		return usagef("--revision: junction does not speak %q, but %s", name, strings.Join(append(revision.Modern(), revision.Legacy()...), ", "))
	}
	return nil
}

// wrongEnv is what is wrong with a value of --env.
const wrongEnv = "--env: expected NAME=VALUE"

// command is a server that is started.
func (a *app) command(name string, args []string) (target, error) {
	if len(a.flags.header) > 0 {
		return target{}, usagef("--header is for servers with a URL")
	}
	if _, err := pairs(a.flags.env, wrongEnv); err != nil {
		return target{}, err
	}
	variable, err := a.chained(nil)
	if err != nil {
		return target{}, err
	}
	c := command.New(name, args...)
	c.Kill = a.kill
	c.Env, c.Logger = append(slices.Clone(a.flags.env), variable), a.logger()
	a.hideVariables(a.flags.env)
	c.Stderr = a.serverStderr(name)
	return target{transport: c}, nil
}

// serverStderr shows what a server writes to its standard error, if wanted.
func (a *app) serverStderr(name string) func(line string) {
	if !a.flags.verbose {
		return nil
	}
	name = plaintext.Line(name, 80)
	return func(line string) { a.screen.Printf("[%s] %s\n", name, line) }
}

// named is the server that SERVER means: a URL, or a name.
func (a *app) named(ctx context.Context, server string) (target, error) {
	scheme, rest, isURL := strings.Cut(server, ":")
	if isURL {
		switch scheme {
		case "http", "https":
			return a.url(server)
		case httpUnix:
			return a.httpSocket(server, strings.TrimPrefix(rest, "//"))
		case "unix":
			return a.socket("unix", strings.TrimPrefix(rest, "//"))
		case "tcp":
			return a.socket("tcp", strings.TrimPrefix(rest, "//"))
		}
	}
	return a.configured(ctx, server)
}

func (a *app) socket(network, address string) (target, error) {
	if len(a.flags.header) > 0 || len(a.flags.env) > 0 {
		return target{}, usagef("--header and --env do not apply to a socket")
	}
	return target{transport: stream.DialWith(network, address, stream.ClientOptions{Logger: a.logger()})}, nil
}

// httpSocket is a server that speaks HTTP at a socket, such as that of junction up --http unix:FILE.
func (a *app) httpSocket(name, path string) (target, error) {
	if path == "" {
		return target{}, usagef("SERVER: expected a file, such as %s:up.sock", httpUnix)
	}
	dial := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	return a.web(name, "http://localhost"+endpointPath, func(http.Header) (*http.Client, error) { return &http.Client{Transport: plainhttp.New(dial)}, nil })
}

func (a *app) url(address string) (target, error) {
	if u, err := url.Parse(address); err != nil || u.Host == "" {
		return target{}, usagef("SERVER: expected a URL such as https://example.com/mcp")
	}
	return a.web("", address, func(header http.Header) (*http.Client, error) {
		return a.authorized("", address, config.OAuth{}, nil, header, nil)
	})
}

// web is a server that speaks HTTP, through such a client, and gets the headers of the command line.
func (a *app) web(name, address string, through func(http.Header) (*http.Client, error)) (target, error) {
	if len(a.flags.env) > 0 {
		return target{}, usagef("--env is for servers that are started by a command")
	}
	header, err := headers(a.flags.header)
	if err != nil {
		return target{}, err
	}
	a.hideHeaders(header)
	client, err := through(header)
	if err != nil {
		return target{}, err
	}
	return target{name: name, transport: streamable.ClientWith(address, streamable.ClientOptions{HTTP: client, Header: header, Logger: a.logger()})}, nil
}

// pairs reads the values of a flag that are NAME=VALUE each; fault is what is wrong with another one.
func pairs(given []string, fault string) (map[string]string, error) {
	read := map[string]string{}
	for _, pair := range given {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, usagef("%s", fault)
		}
		read[name] = value
	}
	return read, nil
}

// headers reads the values of --header; their errors hold no value.
func headers(flags []string) (http.Header, error) {
	header := http.Header{}
	for _, flag := range flags {
		name, value, found := strings.Cut(flag, ":")
		if name = strings.TrimSpace(name); !found || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n\x00") {
			return nil, usagef("--header: expected 'NAME: VALUE'")
		}
		header.Add(name, strings.TrimSpace(value))
	}
	return header, nil
}

// options are those of a client of the target.
func (a *app) options(t target) mcp.ClientOptions {
	o := mcp.ClientOptions{
		Info:     mcp.Implementation{Name: "junction", Title: "Junction", Version: version},
		Name:     t.name,
		Revision: a.flags.revision,
		Timeout:  t.timeout,
		Logger:   a.logger(),
		// Calls wait for the tasks that they become, but for those of a proxy's client that knows tasks itself.
		Middleware: []mcp.Middleware{tasks.Wait(tasks.WaitOptions{})},
	}
	if a.traffic != nil {
		o.Wire = a.traffic.Server(t.title())
	}
	if a.flags.timeout > 0 {
		o.Timeout, o.ConnectTimeout = a.flags.timeout, a.flags.timeout
	}
	a.recording(&o, t)
	return o
}

// connect connects to the target as a client that answers at the desk.
func (a *app) connect(ctx context.Context, t target) (*mcp.Client, error) {
	if err := a.desk.Check(); err != nil {
		return nil, &usageError{err}
	}
	o := a.options(t)
	a.desk.Serve(&o, t.title())
	switch level := mcp.LogLevel(a.flags.logLevel); {
	case level == "" || level == "none":
	case level.Severity() == 0:
		return nil, usagef("--log-level: expected debug, info, notice, warning, error, critical, alert, emergency or none")
	default:
		o.LogLevel = level
		o.OnLog = func(m mcp.LogMessage) { a.showLog(m) }
	}
	client, err := dial(ctx, t.transport, o)
	return client, a.remedied(t, err)
}

// remedied adds to the error of a server that the command line names by its URL what to try, where it wants a key, or
// nobody is there. What a configuration says of a server is mended there.
func (a *app) remedied(t target, err error) error {
	address := t.title()
	if err == nil || t.server != nil || !isURL(address) {
		return err
	}
	switch at, _ := url.Parse(address); {
	case errors.Is(err, oauth.ErrLogin): // which says how
		return err
	case statusOf(err) == http.StatusUnauthorized && slices.ContainsFunc(a.flags.header, isAuthorization):
		err = fmt.Errorf("%w; it does not accept the Authorization of --header", err)
	case statusOf(err) == http.StatusUnauthorized:
		err = fmt.Errorf("%w; --header 'Authorization: Bearer KEY' gives a key, such as one of junction key create", err)
	case refused(err) && (at.Host == "" || isHere(at.Hostname())):
		err = fmt.Errorf("%w; nothing listens there: junction status shows the gateways that run, and junction up starts one", err)
	case refused(err):
		err = fmt.Errorf("%w; %s", err, nobodyThere)
	default:
		return err
	}
	return &connectError{err}
}

// isAuthorization reports whether a value of --header is one of that header.
func isAuthorization(header string) bool {
	name, _, _ := strings.Cut(header, ":")
	return strings.EqualFold(strings.TrimSpace(name), "Authorization")
}

// dial marks errors of connecting as such.
func dial(ctx context.Context, t mcp.Transport, o mcp.ClientOptions) (*mcp.Client, error) {
	client, err := mcp.DialWith(ctx, t, o)
	if err != nil {
		return nil, &connectError{err}
	}
	return client, nil
}

// maxLog is how much of a log message is shown, in runes.
const maxLog = 2_000

func (a *app) showLog(m mcp.LogMessage) {
	text, ok := jsonrpc.Unquote(m.Data)
	if !ok {
		text = string(m.Data)
	}
	from := ""
	if m.Logger != "" {
		from = " " + plaintext.Line(m.Logger, 80)
	}
	a.screen.Printf("%s%s: %s\n", m.Level, from, plaintext.Line(text, maxLog))
}

// readFile reads a file that an argument names; "-" is standard input.
func (a *app) readFile(name string) ([]byte, error) {
	if name == "-" {
		return readLimited(a.stdin, "standard input")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readLimited(f, name)
}
