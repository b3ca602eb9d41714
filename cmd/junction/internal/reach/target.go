package reach

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway/eras"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Target returns the target that a command line names, and the words after it.
func Target(ctx context.Context, a *cli.App, cmd *cobra.Command, args []string) (launch.Target, []string, error) {
	if err := CheckFlags(a); err != nil {
		return launch.Target{}, nil, err
	}
	switch flags := cmd.Flags(); {
	case flags.Lookup("own") == nil:
	case flags.Lookup("refresh") != nil:
		a.Sharing = sharedLists
	default:
		a.Sharing = sharedCalls
	}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if len(args) == dash {
			return launch.Target{}, nil, cli.Usagef(`expected the command of a server after "--"`)
		}
		if len(args) == dash+1 && launch.At(args[dash]) != nil {
			t, err := ServerTarget(ctx, a, args[dash])
			return t, args[:dash], err
		}
		if a.Launch.Frozen {
			return launch.Target{}, nil, cli.Usagef("--frozen does not go with a command: only servers of a configuration are locked")
		}
		t, err := a.Launch.Command(args[dash], args[dash+1:])
		return t, args[:dash], err
	}
	if len(args) == 0 {
		return launch.Target{}, nil, cli.Usagef(`%s: SERVER is missing: a name from a configuration, a URL, or "--" and a command at the end`, cmd.CommandPath())
	}
	t, err := ServerTarget(ctx, a, args[0])
	if at := slices.IndexFunc(args, func(arg string) bool { return launch.At(arg) != nil }); err != nil && at > 0 && cmd.Name() == "call" {
		err = cli.Usagef("write the server first: %s %s %s", cmd.CommandPath(), args[at], args[0])
	}
	return t, args[1:], err
}

// CheckFlags returns an error if --timeout or --revision is invalid.
func CheckFlags(a *cli.App) error {
	if a.Launch.Timeout < 0 {
		return cli.Usagef("--timeout: expected a positive duration, such as 30s")
	}
	if name := a.Launch.Revision; name != "" && revision.Lookup(name) == nil {
		return cli.Usagef("--revision: junction does not support %q, only %s", name, strings.Join(append(revision.Modern(), revision.Legacy()...), ", "))
	}
	return nil
}

// ServerTarget returns the target of a URL or of a configured name.
func ServerTarget(ctx context.Context, a *cli.App, server string) (launch.Target, error) {
	if launch.At(server) != nil {
		return a.Launch.Address(server)
	}
	return ConfiguredTarget(ctx, a, server)
}

// Connect connects to a target. The client handles requests of the server with a.Desk.
func Connect(ctx context.Context, a *cli.App, t launch.Target) (*mcp.Client, error) {
	o, err := askedOptions(a, t)
	if err != nil {
		return nil, err
	}
	client, err := DialWithNotice(ctx, a, t, o)
	return client, AddRemedy(a, t, err)
}

// DialWithNotice connects to the only server of a command. If that takes long, a terminal shows the
// name of the server.
func DialWithNotice(ctx context.Context, a *cli.App, t launch.Target, o mcp.ClientOptions) (*mcp.Client, error) {
	starting := t.Title()
	if c, program := t.Transport.(*command.Command); program {
		if does := runner.Work(c.Name, c.Args, false); does != "" {
			starting += " (" + does + ")"
		}
	}
	end := ShowStarting(starting, a.Screen.Transient)
	defer end()
	return Dial(ctx, t.Transport, o)
}

// ShowStarting calls show with the name of a server if its start takes longer than [StartingPause].
// The caller must call end, which clears the line.
func ShowStarting(name string, show func(line string)) (end func()) {
	started, shown := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shown)
		select {
		case <-time.After(StartingPause):
			show(StillStarting([]string{name}, 0))
			<-started
			show("")
		case <-started:
		}
	}()
	return func() {
		close(started)
		<-shown
	}
}

// askedOptions returns the options of a client that handles requests of the target with a.Desk.
func askedOptions(a *cli.App, t launch.Target) (mcp.ClientOptions, error) {
	if err := a.Desk.Check(); err != nil {
		return mcp.ClientOptions{}, &cli.UsageError{Err: err}
	}
	o := a.Launch.Options(t)
	a.Desk.Serve(&o, t.Title())
	switch level := mcp.LogLevel(a.Flags.LogLevel); {
	case level == "" || level == "none":
	case level.Severity() == 0:
		return o, cli.Usagef("--log-level: expected debug, info, notice, warning, error, critical, alert, emergency or none")
	default:
		o.LogLevel = level
		o.OnLog = func(m mcp.LogMessage) { ShowLog(a, m) }
	}
	return o, nil
}

// AddRemedy adds a remedy to an error of connecting to a target. There are remedies for slow starts
// of configured servers, and for refused credentials and connections of URLs on the command line.
func AddRemedy(a *cli.App, t launch.Target, err error) error {
	address := t.Title()
	if t.Server != nil && errors.Is(err, context.DeadlineExceeded) && !strings.Contains(err.Error(), "startTimeout") {
		return &cli.ConnectError{Cause: fmt.Errorf(`%w; "startTimeout" in its entry, or --timeout, allows more time`, err)}
	}
	if err == nil || t.Server != nil || launch.At(address) == nil {
		return err
	}
	authorizes := func(header string) bool {
		name, _, _ := strings.Cut(header, ":")
		return strings.EqualFold(strings.TrimSpace(name), "Authorization")
	}
	switch at, _ := url.Parse(address); {
	case errors.Is(err, oauth.ErrLogin): // its text has a remedy
		return err
	case statusOf(err) == http.StatusUnauthorized && slices.ContainsFunc(a.Launch.Header, authorizes):
		err = fmt.Errorf("%w; the server does not accept the Authorization of --header", err)
	case statusOf(err) == http.StatusUnauthorized:
		err = fmt.Errorf("%w; give a key, such as one from junction key create, with --header 'Authorization: Bearer KEY'", err)
	case cli.NotListening(err) && (at.Host == "" || outside.IsHere(at.Hostname())):
		err = fmt.Errorf("%w; nothing listens there: junction status shows the running gateways, and junction up starts one; a junction proxy ends with a message if its server does not start", err)
	case cli.NotListening(err):
		err = fmt.Errorf("%w; %s", err, RemedyNoListener)
	default:
		return err
	}
	return &cli.ConnectError{Cause: err}
}

// Dial connects to a server. It returns errors as [cli.ConnectError].
func Dial(ctx context.Context, t mcp.Transport, o mcp.ClientOptions) (*mcp.Client, error) {
	client, err := mcp.DialWith(ctx, t, o)
	if err != nil {
		return nil, &cli.ConnectError{Cause: err}
	}
	return client, nil
}

// ShowLog prints a log message of a server.
func ShowLog(a *cli.App, m mcp.LogMessage) {
	text, ok := jsonrpc.Unquote(m.Data)
	if !ok {
		text = string(m.Data)
	}
	from := ""
	if m.Logger != "" {
		from = " " + plaintext.Line(m.Logger, 80)
	}
	a.Screen.Printf("%s%s: %s\n", m.Level, from, plaintext.Line(text, cli.MaxLog))
}

// NoServersError returns nil if any server is enabled. Otherwise it returns an error that begins
// with why.
func NoServersError(why string, set *config.Set, entries []launch.Entry) error {
	var files []string
	for _, f := range set.Files {
		files = append(files, f.Path)
	}
	switch in := strings.Join(files, ", "); {
	case slices.ContainsFunc(entries, func(e launch.Entry) bool { return e.Definition == nil || !e.Definition.Disabled }):
		return nil
	case len(entries) > 0:
		return fmt.Errorf("%s: all of %s are disabled", why, in)
	case len(set.Problems()) > 0 || len(files) == 0:
		return errors.New(why) // the problems have been printed
	default:
		return fmt.Errorf(`%s: %s defines no servers; expected {"mcpServers": {NAME: {…}}}`, why, in)
	}
}

// SelectServers returns the entries with the given names, each once. Without names it returns all
// entries.
func SelectServers(entries []launch.Entry, set *config.Set, names []string) ([]launch.Entry, error) {
	if len(names) == 0 {
		return entries, nil
	}
	var some []launch.Entry
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			continue
		}
		e, err := FindEnabled(name, set, entries)
		if err != nil {
			return nil, err
		}
		some = append(some, e)
	}
	return some, nil
}

// CheckTimeout is the time limit of each check of doctor except the start, and of the wait for the
// lock of the state keys.
const CheckTimeout = 10 * time.Second

// statusOf returns the HTTP status in the error of a server that refused a request, or 0.
func statusOf(err error) int {
	if e, is := errors.AsType[*mcp.StatusError](err); is {
		return e.Status
	}
	return 0
}

// SetEra sets the order in which o tries the eras of a target. Some servers can send requests to
// their clients only in the legacy era. If era is empty, o tries the legacy era first if otherwise
// is set, or if the stored definitions name it. If era is not empty, o begins with it, and SetEra
// also stores it with the target's definitions, if there are any.
func SetEra(a *cli.App, o *mcp.ClientOptions, t launch.Target, era string, otherwise bool) {
	var memory *definitions.Entry
	var known *definitions.Definitions
	if store := a.Store(); store != nil && t.Server != nil {
		memory = cli.DefinitionsEntry(store, t.Server, "")
		known = memory.Load()
	}
	if era == "" {
		o.LegacyFirst = otherwise || known != nil && known.Era == definitions.Legacy
		return
	}
	if o.LegacyFirst = era == definitions.Legacy; known == nil || known.Era == era {
		return
	}
	with := *known
	with.Era = era
	if err := memory.Save(&with); err != nil {
		a.Logger().Warn("the era of a server is not remembered", "server", t.Title(), "error", err)
	}
}

// connectCaller connects to a target and sets a.Calls, the client for the requests of the command.
// If the target can send requests only in the other era, requests are repeated in that era, or
// their errors recommend it. The caller must call end, which closes both clients.
func connectCaller(ctx context.Context, a *cli.App, t launch.Target, within *cli.Timeout) (client *mcp.Client, end func(), err error) {
	o, err := askedOptions(a, t)
	if err != nil {
		return nil, nil, err
	}
	if within != nil {
		o.Timeout = -1 // the Timeout ends each request
	}
	server := eras.New(ctx, eras.Options{
		Program:  t.IsProgram(),
		Revision: o.Revision,
		Logger:   a.Logger(),
		Dial: func(ctx context.Context, _ *mcp.Request, era string) (*mcp.Client, error) {
			dialled := o
			SetEra(a, &dialled, t, era, false)
			c, err := DialWithNotice(ctx, a, t, dialled)
			if client == nil {
				client = c
			}
			return c, err
		},
		Advice: func(era string) string {
			name := revision.Latest().Name
			if era == definitions.Legacy {
				name = revision.LatestLegacy().Name
			}
			return "With --revision " + name + " the server may be able to ask: repeat the call if that is safe."
		},
	})
	if err := server.Connect(ctx, nil); err != nil {
		server.Close()
		return nil, nil, AddRemedy(a, t, err)
	}
	made := o
	made.Name, made.Revision, made.Middleware, made.Wire = client.Name(), "", nil, nil
	a.Calls = mcp.NewClientWith(within.Middleware(server), made)
	return client, func() {
		a.Calls.Close()
		server.Close()
	}, nil
}

// RunningServers returns the servers of every running junction up that responds.
func RunningServers(ctx context.Context, p place.Place) (all cli.RunningSet) {
	ups, _ := cli.Instances(ctx, p) // an unreadable folder counts as empty
	for i := range ups {
		for _, s := range ups[i].Servers {
			all = append(all, cli.RunningServer{In: &ups[i], Status: s})
		}
	}
	return all
}

// The servers of a running junction up that a command may use.
const (
	sharedNothing cli.Sharing = iota
	sharedCalls               // connected or remembered servers; the junction up may start these
	sharedLists               // connected servers only
)

// shared returns a target that leads to the server of a running junction up, if the command may use
// it.
func shared(ctx context.Context, a *cli.App, e launch.Entry) (t launch.Target, is bool) {
	f := &a.Flags
	if e.Definition == nil || a.Sharing == sharedNothing || f.Own || a.Launch.Revision != "" || len(a.Launch.Header)+len(a.Launch.Env) > 0 || a.Launch.Frozen || f.Record != "" || a.Launch.Verbose {
		return t, false
	}
	r := RunningServers(ctx, a.Place).Find(e)
	if !r.CanServe() || a.Sharing == sharedLists && !r.IsConnected() {
		return t, false
	}
	if same, known := r.IsDefinedAs(ctx, a.Place, e); known && !same || !known && !r.IsShared(e) {
		return t, false
	}
	t, err := r.Target(a, e)
	return t, err == nil
}

// OwnFlag defines the flag --own, for commands that may use the servers of a running junction up.
func OwnFlag(a *cli.App, f *pflag.FlagSet) {
	f.BoolVar(&a.Flags.Own, "own", false, "start the server for this command, even if a running junction up has it")
}

// StartingPause is the time after which the user sees that a server is still starting.
const StartingPause = 2 * time.Second

// StillStarting returns a line such as "still starting: a, b (npx installs x); 3 wait for their
// turn".
func StillStarting(starting []string, waiting int) string {
	if len(starting) == 0 {
		return ""
	}
	text := "still starting: " + strings.Join(starting, ", ")
	switch waiting {
	case 0:
		return text
	case 1:
		return text + "; 1 waits to start"
	}
	return fmt.Sprintf("%s; %d wait to start", text, waiting)
}

// StoredDefinitions returns the stored definitions of a server, or nil if there are none.
func StoredDefinitions(ctx context.Context, e launch.Entry, store *definitions.Store) *definitions.Definitions {
	if store == nil || e.Definition == nil || launch.NeedsInput(e.Definition) {
		return nil
	}
	s, err := e.Definition.Resolve(ctx)
	if err != nil {
		return nil // connecting reports the error
	}
	return cli.DefinitionsEntry(store, s, "").Load()
}
