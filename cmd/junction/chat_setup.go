package main

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
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/gateway"
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

// A chatSetup is what a chat needs: the model, the servers, the rules and what is stored.
type chatSetup struct {
	app        *cli.App
	flags      *chatFlags
	options    host.Options
	search     *toolsearch.Index
	host       *host.Host
	person     *person.Approving // who is asked
	archive    *archive.Archive  // nil where nothing is stored
	rules      *policies.Rulebook
	gateway    *gateway.Gateway // of all servers that are connected to
	trace      *trace.Trace     // nil if nobody wants one
	back       func()           // gives standard error back; nil if nobody took it
	farewell   string           // is said when the screen is gone
	instructed []string         // files whose instructions the model gets
	ownNames   map[string]bool  // servers that have their names from the person
	named      bool             // whether the command line names servers
	wantsLast  bool             // --resume without an ID
	names      []string         // of servers, on the command line
	line       []string         // the command of a server; nil if there is none
}

// setUpChat prepares the model, the rules, what was approved and said before,
// and the servers.
func setUpChat(ctx context.Context, a *cli.App, cmd *cobra.Command, args []string, f *chatFlags) (*chatSetup, error) {
	t := &chatSetup{app: a, flags: f, ownNames: map[string]bool{}, names: args}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if dash == len(args) {
			return nil, cli.Usagef(`after "--" stands the command of a server`)
		}
		t.names, t.line = args[:dash], args[dash:]
	}
	if err := t.setUp(ctx); err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

func (t *chatSetup) setUp(ctx context.Context) (err error) {
	a, f := t.app, t.flags
	if t.search, err = f.search.open(t.app.Place); err != nil {
		return err
	}
	if !f.unsaved {
		if err := t.openArchive(ctx); err != nil {
			return err
		}
	}
	if err := t.goOn(ctx); err != nil {
		return err
	}
	m, err := f.model.open(t.app.Place)
	if err != nil {
		return err
	}
	if info := m.Info(); f.limits.Money > 0 && info.Language && !info.Price.Known() {
		return cli.Usagef("--max-cost: the price of %s is not known; give it with --price IN,OUT (0,0 where it costs nothing)", info.Name)
	}
	if t.rules, err = policies.ReadRulebook(a, f.policy); err != nil {
		return err
	}
	if t.rules.Policy, err = asksWhereHidden(t.rules.Policy); err != nil {
		return err
	}
	t.options = host.Options{Model: m, Limits: f.limits, Budget: f.budget, Search: t.search, Logger: a.Logger()}
	if a.Traffic != nil {
		t.options.Noter = func(server, method, name string) mcp.Noter {
			return a.Traffic.Calling(chatClient, server, method, name)
		}
	}
	if err := t.writesRules(ctx); err != nil {
		return err
	}
	if t.options.Policy, err = allowing(t.rules.Policy, f.allow); err != nil {
		return err
	}
	if t.options.Pins, err = cli.Pins(t.app.Place); err != nil {
		return err
	}
	if t.options.System, err = t.instructions(ctx); err != nil {
		return err
	}
	t.options.System = strings.TrimSpace(t.options.System + "\n\n" + situation(t.app.Place, time.Now()))
	if t.options.Roots, err = a.Desk.Folders(); err != nil {
		return err
	}
	if err := t.traced(); err != nil {
		return err
	}
	t.options.Tools = t.ownTools()
	// What a server asks outside of calls, the host is asked at once: some want the roots before they list their tools.
	t.gateway = gateway.New(gateway.Options{OneClient: true, Logger: a.Logger()})
	t.options.Gateway = t.gateway
	if err := t.addServers(ctx); err != nil {
		return err
	}
	t.warnUnknown("--trust", f.trust)
	t.warnUnknown("--approve", f.approve)
	return nil
}

// writesRules has what a person says for good stand in their policy.
func (t *chatSetup) writesRules(ctx context.Context) error {
	path, err := policies.PolicyPath(t.app.Place, t.flags.policy)
	t.options.Remember = func(rule policy.Rule) error { return policy.Append(ctx, path, rule) }
	t.options.RememberTrust = func(name string) error { return policy.AppendTrusted(ctx, path, name) }
	return err
}

// chatClient is whose calls those of a conversation are, to those who watch the traffic.
const chatClient = "junction chat"

// warnUnknown says which names of a flag are of no server here.
func (t *chatSetup) warnUnknown(flag string, names []string) {
	var here []string
	for _, s := range t.options.Servers {
		here = append(here, s.Name)
	}
	for _, name := range names {
		if at := strings.LastIndexByte(name, '@'); at > 0 && !slices.Contains(here, name) {
			name = name[:at] // NAME@HASH of --approve, NAME@ORIGIN of --trust
		}
		if slices.Contains(here, name) {
			continue
		}
		t.app.Screen.Printf("junction: %s %s: there is no such server here (there are: %s)%s\n", flag, plaintext.Line(name, 80), strings.Join(here, ", "), cli.OrMeant(nearest.Name(name, here)))
	}
}

// allowing adds what --allow says to the rules.
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

// open makes the host, with a person to ask and somebody to tell.
func (t *chatSetup) open(who host.Person, tell func(host.Event)) (err error) {
	t.person = &person.Approving{Person: who, Servers: t.flags.approve}
	t.options.Person = t.person
	t.options.OnEvent = func(e host.Event) {
		if t.trace != nil {
			t.trace.Event(e)
		}
		tell(e)
	}
	if t.host, err = host.New(t.options); err != nil {
		return err
	}
	return nil
}

// addServers finds the servers: those that the command line names, or all that are
// configured.
func (t *chatSetup) addServers(ctx context.Context) error {
	if err := reach.CheckFlags(t.app); err != nil {
		return err
	}
	if t.line != nil {
		target, err := t.app.Launch.Command(t.line[0], t.line[1:])
		if err != nil {
			return err
		}
		if err := t.addServer(host.ServerName(t.line[0]), reach.CommandLine(t.app.Place, t.line), false, always(target)); err != nil {
			return err
		}
	}
	if t.flags.up != "" {
		t.named = true
		return t.addGateway(ctx, t.flags.up)
	}
	for _, name := range t.names {
		if err := t.addNamed(ctx, name); err != nil && t.wantsLast {
			return fmt.Errorf("%w; to name a conversation, write --resume=%s", err, name)
		} else if err != nil {
			return err
		}
	}
	if t.named = len(t.options.Servers) > 0; t.named {
		return nil
	}
	set, entries, err := reach.ConfiguredServers(t.app)
	if err != nil {
		return err
	}
	reach.ReportProblems(t.app, set)
	entries = slices.DeleteFunc(reach.WithoutSelf(ctx, t.app, entries, nil), cli.Entry.IsDisabled)
	faults := reach.Consents(ctx, t.app, entries, false)
	for i, e := range entries {
		if faults[i] == nil {
			faults[i] = t.addConsented(ctx, e)
		}
	}
	for _, line := range reach.NotStarted(faults) {
		t.app.Screen.Printf("junction: %s\n", line)
	}
	return nil
}

// reached says that none of the servers that the command line names answers: who
// names them does not want an answer without them. Why, a notice has said.
func (t *chatSetup) reached() error {
	servers := t.host.Servers()
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
	if t.flags.up != "" {
		return errors.New("the junction up that --up asks for cannot be used; junction status shows those that run, --up=URL names one, and junction up starts one")
	}
	return fmt.Errorf("no server that was named is there to be used: %s", strings.Join(names, ", "))
}

// addNamed is a server that the command line names: of a configuration, or by
// its URL.
func (t *chatSetup) addNamed(ctx context.Context, name string) error {
	if strings.Contains(name, ":") {
		target, err := reach.NamedServer(ctx, t.app, name)
		if err != nil {
			return err
		}
		return t.addServer(host.ServerName(name), []string{name}, false, always(target))
	}
	set, entries, err := reach.ConfiguredServers(t.app)
	if err != nil {
		return err
	}
	e, err := reach.Enabled(name, set, entries)
	if err != nil {
		return err
	}
	if err := reach.Consent(ctx, t.app, e); err != nil {
		return err
	}
	return t.addConsented(ctx, e)
}

// addConsented adds a server that may be started.
func (t *chatSetup) addConsented(ctx context.Context, e cli.Entry) error {
	if e.Definition == nil {
		var o reach.Shipping
		if e.Name == "filesystem" {
			o.Roots = t.app.Desk.Roots
		}
		h, err := reach.Within(ctx, t.app, e.Name, o)
		if err != nil {
			return err
		}
		if r := t.app.Launch.Recorder; r != nil {
			h = r.Middleware(e.Name)(h)
		}
		t.options.Servers = append(t.options.Servers, host.Server{Name: e.Name, Handler: h, Trusted: true})
		return nil
	}
	if err := reserved(e); err != nil {
		return err
	}
	up.AskInputs(ctx, t.app, e)
	command := e.Command()
	resolve := func(ctx context.Context) (launch.Target, error) {
		target, err := reach.Resolve(ctx, t.app, e)
		if err == nil && !slices.Equal(e.CommandOf(target.Server.Hash()), command) {
			err = fmt.Errorf("the environment file of server %q is not what it was when junction chat started; start again to use it", e.Name)
		}
		return target, err
	}
	return t.addServer(e.Name, command, !e.OfProject(), resolve)
}

func always(fixed launch.Target) func(context.Context) (launch.Target, error) {
	return func(context.Context) (launch.Target, error) { return fixed, nil }
}

// close ends everything, and writes what is to stay.
func (t *chatSetup) close() error {
	if t.back != nil {
		defer func() {
			t.back()
			t.app.Screen.Printf("%s", t.farewell)
		}()
	}
	var errs []error
	if t.trace != nil && t.flags.traceFile != "" {
		errs = append(errs, t.draw(t.flags.traceFile))
	}
	if t.host != nil {
		errs = append(errs, t.host.Close())
	}
	if t.gateway != nil {
		errs = append(errs, t.gateway.Close())
	}
	if t.archive != nil {
		t.keepSearches()
		errs = append(errs, t.archive.Close())
	}
	return errors.Join(errs...)
}
