package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/person"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/host/trace"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/toolsearch"
	"github.com/spf13/cobra"
)

// A Setup holds the parts of a chat: the model, the servers, the rules and the stores.
type Setup struct {
	App        *cli.App
	Flags      *Flags
	Options    host.Options
	Search     *toolsearch.Index
	Host       *host.Host
	person     *person.Approving // approves reviews, and answers requests to the user
	Archive    *archive.Archive  // nil if conversations are not stored
	rules      *rules.Book
	gateway    *gateway.Gateway // gateway of all connected servers
	Trace      *trace.Trace     // nil without --trace and --trace-file
	back       func()           // ends the diversion of standard error; nil without one
	farewell   string           // text to print after the screen is closed
	instructed []string         // files with instructions for the model
	ownNames   map[string]bool  // servers whose names the user chose
	named      bool             // whether the command line names servers
	wantsLast  bool             // whether --resume is given without an ID
	Names      []string         // names of servers on the command line
	Line       []string         // command of a server on the command line; nil without one
}

// SetUpChat sets up the model, the rules, the stored approvals and answers, and the servers. The
// caller must call Close.
func SetUpChat(ctx context.Context, a *cli.App, cmd *cobra.Command, args []string, f *Flags) (*Setup, error) {
	t := &Setup{App: a, Flags: f, ownNames: map[string]bool{}, Names: args}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if dash == len(args) {
			return nil, cli.Usagef(`expected the command of a server after "--"`)
		}
		t.Names, t.Line = args[:dash], args[dash:]
	}
	if err := t.setUp(ctx); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// setUp does the work of [SetUpChat].
func (t *Setup) setUp(ctx context.Context) (err error) {
	a, f := t.App, t.Flags
	if t.Search, err = f.Search.Open(t.App.Place); err != nil {
		return err
	}
	if !f.Unsaved {
		if err := t.OpenArchive(ctx); err != nil {
			return err
		}
	}
	if err := t.resumeConversation(ctx); err != nil {
		return err
	}
	m, err := f.Model.Open(t.App.Place)
	if err != nil {
		return err
	}
	if info := m.Info(); f.Limits.Money > 0 && info.Language && !info.Price.Known() {
		return cli.Usagef("--max-cost: the price of %s is not known; give it with --price IN,OUT (0,0 where it costs nothing)", info.Name)
	}
	if t.rules, err = policies.ReadRules(a, f.Policy); err != nil {
		return err
	}
	if t.rules.Policy, err = AskInsteadOfRedact(t.rules.Policy); err != nil {
		return err
	}
	t.Options = host.Options{Model: m, Limits: f.Limits, WindowShares: f.budget, Search: t.Search, Logger: a.Logger()}
	if a.Launch.Traffic != nil {
		t.Options.NoteObserver = func(server, method, name string) mcp.NoteObserver {
			return a.Launch.Traffic.Calling(ClientName, server, method, name)
		}
	}
	if err := t.writesRules(ctx); err != nil {
		return err
	}
	if t.Options.Policy, err = allowing(t.rules.Policy, f.Allow); err != nil {
		return err
	}
	if t.Options.Pins, err = cli.Pins(t.App.Place); err != nil {
		return err
	}
	if t.Options.System, err = t.Instructions(ctx); err != nil {
		return err
	}
	t.Options.System = strings.TrimSpace(t.Options.System + "\n\n" + situation(t.App.Place, time.Now()))
	if t.Options.Roots, err = a.Desk.Folders(); err != nil {
		return err
	}
	if err := t.SetUpTrace(); err != nil {
		return err
	}
	t.Options.Tools = t.ownTools()
	// The host gets requests outside of calls immediately, because some servers need roots before
	// they list tools.
	t.gateway = gateway.New(gateway.Options{OneClient: true, Logger: a.Logger()})
	t.Options.Gateway = t.gateway
	if err := t.addServers(ctx); err != nil {
		return err
	}
	t.warnUnknown("--trust", f.Trust)
	t.warnUnknown("--approve", f.Approve)
	return nil
}

// writesRules sets the functions that store permanent decisions of the user in the policy file.
func (t *Setup) writesRules(ctx context.Context) error {
	path, err := rules.UserFile(t.App.Place, t.Flags.Policy)
	t.Options.Remember = func(rule policy.Rule) error { return policy.Append(ctx, path, rule) }
	t.Options.RememberTrust = func(name string) error { return policy.AppendTrusted(ctx, path, name) }
	return err
}

// ClientName is the name of the client in the traffic of a conversation.
const ClientName = "junction chat"

// warnUnknown prints a warning for each name in the values of a flag that is not the name of a
// server here.
func (t *Setup) warnUnknown(flag string, names []string) {
	var here []string
	for _, s := range t.Options.Servers {
		here = append(here, s.Name)
	}
	for _, name := range names {
		if at := strings.LastIndexByte(name, '@'); at > 0 && !slices.Contains(here, name) {
			name = name[:at] // NAME@HASH of --approve, or NAME@ORIGIN of --trust
		}
		if slices.Contains(here, name) {
			continue
		}
		t.App.Screen.Printf("junction: %s %s: there is no such server here (there are: %s)%s\n", flag, plaintext.Line(name, 80), strings.Join(here, ", "), cli.Suggestion(nearest.Name(name, here)))
	}
}

// allowing adds the rules of --allow.
func allowing(rules *policy.Policy, allow []string) (*policy.Policy, error) {
	var more []policy.Rule
	for _, pair := range allow {
		server, tool, found := strings.Cut(pair, "/")
		if !found || server == "" || tool == "" {
			return nil, cli.Usagef("--allow: expected SERVER/TOOL, got %q", pair)
		}
		more = append(more, policy.Rule{Name: "--allow " + pair, Effect: policy.Allow, Server: server, Tool: tool, Source: person.CommandLine})
	}
	rules, err := rules.With(more...)
	if err != nil {
		return nil, cli.Usagef("--allow: %w", err)
	}
	return rules, nil
}

// Open creates the host. The argument who answers its requests to the user, and tell gets its
// events.
func (t *Setup) Open(who host.Person, tell func(host.Event)) (err error) {
	t.person = &person.Approving{Person: who, Servers: t.Flags.Approve}
	t.Options.Person = t.person
	t.Options.OnEvent = func(e host.Event) {
		if t.Trace != nil {
			t.Trace.Event(e)
		}
		tell(e)
	}
	if t.Host, err = host.New(t.Options); err != nil {
		return err
	}
	return nil
}

// addServers adds the servers that the command line names, or else all configured servers.
func (t *Setup) addServers(ctx context.Context) error {
	if err := reach.CheckFlags(t.App); err != nil {
		return err
	}
	if t.Line != nil {
		target, err := t.App.Launch.Command(t.Line[0], t.Line[1:])
		if err != nil {
			return err
		}
		if err := t.addServer(host.ServerName(t.Line[0]), reach.CommandLine(t.App.Place, t.Line), false, always(target)); err != nil {
			return err
		}
	}
	if t.Flags.up != "" {
		t.named = true
		return t.addGateway(ctx, t.Flags.up)
	}
	for _, name := range t.Names {
		if err := t.addNamed(ctx, name); err != nil && t.wantsLast {
			return fmt.Errorf("%w; to name a conversation, write --resume=%s", err, name)
		} else if err != nil {
			return err
		}
	}
	if t.named = len(t.Options.Servers) > 0; t.named {
		return nil
	}
	set, entries, err := reach.ConfiguredServers(t.App)
	if err != nil {
		return err
	}
	reach.ReportProblems(t.App, set)
	entries = slices.DeleteFunc(t.App.Launch.WithoutSelf(ctx, entries, nil), launch.Entry.IsDisabled)
	faults := t.App.Launch.Consents(ctx, entries, false)
	for i, e := range entries {
		if faults[i] == nil {
			faults[i] = t.addConsented(ctx, e)
		}
	}
	for _, line := range launch.ConsentLines(faults) {
		t.App.Screen.Printf("junction: %s\n", line)
	}
	return nil
}

// checkReached returns an error if the command line names servers and none of them is connected.
// The reasons have been printed.
func (t *Setup) checkReached() error {
	servers := t.Host.Servers()
	if !t.named || slices.ContainsFunc(servers, func(s host.ServerTools) bool {
		return s.Server != host.OwnServer && (s.State == host.StateConnected || s.State == host.StateUnapproved)
	}) {
		return nil
	}
	var names []string
	for _, s := range servers {
		if s.Server != host.OwnServer {
			names = append(names, fmt.Sprintf("%q is %s", s.Server, s.State))
		}
	}
	if t.Flags.up != "" {
		return errors.New("--up: the junction up cannot be used; junction status shows those that run, --up=URL names one, and junction up starts one")
	}
	return fmt.Errorf("none of the named servers can be used: %s", strings.Join(names, ", "))
}

// addNamed adds a server that the command line names: a configured one, or a URL.
func (t *Setup) addNamed(ctx context.Context, name string) error {
	if strings.Contains(name, ":") {
		target, err := reach.ServerTarget(ctx, t.App, name)
		if err != nil {
			return err
		}
		return t.addServer(host.ServerName(name), []string{name}, false, always(target))
	}
	set, entries, err := reach.ConfiguredServers(t.App)
	if err != nil {
		return err
	}
	e, err := reach.FindEnabled(name, set, entries)
	if err != nil {
		return err
	}
	if err := t.App.Launch.Consent(ctx, e); err != nil {
		return err
	}
	return t.addConsented(ctx, e)
}

// addConsented adds a server to which the user has consented.
func (t *Setup) addConsented(ctx context.Context, e launch.Entry) error {
	if e.Definition == nil {
		var o reach.Shipping
		if e.Name == "filesystem" {
			o.Roots = t.App.Desk.Roots
		}
		h, err := reach.Shipped(ctx, t.App, e.Name, o)
		if err != nil {
			return err
		}
		if t.App.Launch.Traffic != nil {
			h = t.App.Launch.Traffic.Handler(e.Name, h)
		}
		if r := t.App.Launch.Recorder; r != nil {
			h = r.Middleware(e.Name)(h)
		}
		t.Options.Servers = append(t.Options.Servers, host.Server{Name: e.Name, Handler: h, Trusted: true})
		return nil
	}
	if err := reserved(e); err != nil {
		return err
	}
	t.App.Launch.AskInputs(ctx, e)
	command := e.Command()
	resolve := func(ctx context.Context) (launch.Target, error) {
		target, err := t.App.Launch.Target(ctx, e)
		if err == nil && !slices.Equal(launch.Origin(e.Definition, target.Server.Hash()), command) {
			err = fmt.Errorf("the environment file of server %q has changed since junction chat started; restart junction chat to use it", e.Name)
		}
		return target, err
	}
	return t.addServer(e.Name, command, !e.OfProject(), resolve)
}

// always returns a function that returns the given target.
func always(fixed launch.Target) func(context.Context) (launch.Target, error) {
	return func(context.Context) (launch.Target, error) { return fixed, nil }
}

// Close closes all parts, and writes the trace and the memory of tool searches.
func (t *Setup) Close() error {
	if t.back != nil {
		defer func() {
			t.back()
			t.App.Screen.Printf("%s", t.farewell)
		}()
	}
	var errs []error
	if t.Trace != nil && t.Flags.traceFile != "" {
		errs = append(errs, t.draw(t.Flags.traceFile))
	}
	if t.Host != nil {
		errs = append(errs, t.Host.Close())
	}
	if t.gateway != nil {
		errs = append(errs, t.gateway.Close())
	}
	if t.Archive != nil {
		t.keepSearches()
		errs = append(errs, t.Archive.Close())
	}
	return errors.Join(errs...)
}
