package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/lint"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/sandbox"
	"github.com/spf13/cobra"
)

const (
	maxExercised = 50               // largest number of tools called without --call
	exerciseTime = 30 * time.Second // time limit of each call
)

// learnFlags holds the flags of sandbox learn.
type learnFlags struct {
	calls  []string
	http   string // address where clients can use the server during the run
	forget bool
	yes    bool
}

func sandboxLearnCommand(a *cli.App) *cobra.Command {
	var l learnFlags
	cmd := &cobra.Command{
		Use:   "learn SERVER",
		Short: "Watch what a server's program uses, and propose the smallest profile",
		Long: `Start a server's program, use it, and watch which files and hosts it uses. The smallest profile
that allows the same is shown and tried. It is written if you agree.

Meanwhile the program may read and write your files, except those with keys and logins. It may
reach the internet, but no address of this machine or its networks. learn calls the tools that
the server marks as read-only and that need no arguments. --call calls others, and --http lets
clients use the server until you press Enter.

The profile keeps its earlier permissions; --forget removes unused ones. learn cannot see the
variables that a program reads; add them: junction server sandbox allow SERVER --env NAME.

` + cli.ExitCodes("the profile was written or needs no change, or the answer was no", "the same, but a call of --call failed, so permissions may be missing", cli.NoTerminalHelp, "no such server, or it cannot be started or watched"),
		ValidArgsFunction: reach.SuggestServers(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return learnProfile(cmd.Context(), a, args, l) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&l.calls, "call", nil, "call a tool: `TOOL` or TOOL=JSON, with these arguments (repeatable)")
	f.StringVar(&l.http, "http", "", "let clients use it at `HOST:PORT`, path "+launch.EndpointPath+", until you press Enter")
	f.BoolVar(&l.forget, "forget", false, "remove unused permissions from the profile")
	f.BoolVarP(&l.yes, "yes", "y", false, "write the profile without a question, if the server starts with it")
	reach.ConfigFlags(a, f)
	return cmd
}

// learnProfile starts a server and observes which permissions it uses. It then proposes a profile,
// tries it, and writes it.
func learnProfile(ctx context.Context, a *cli.App, args []string, l learnFlags) error {
	calls, err := reach.ReadCalls(l.calls)
	if err != nil {
		return err
	}
	if a.Person == nil && (l.http != "" || !l.yes) {
		return cli.Usagef("there is no terminal for questions; --yes writes the profile without a question")
	}
	k, err := ReadProfile(a, args)
	if err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		return errors.New("learn works only on Linux; change the profile with junction server sandbox allow")
	}
	if err := a.Launch.Consent(ctx, k.Entry); err != nil {
		return err
	}
	was := sandbox.Profile{}
	if k.Profile != nil {
		was = *k.Profile
	}
	record := new(sandbox.Record)
	used, err := useConfined(ctx, a, k, was, sandbox.Options{Record: record}, calls, l.http)
	if err != nil {
		return err
	}
	proposal := record.Propose(used.learned)
	now := merged(was, proposal.Profile, l.forget)
	remedies := showProposal(a, k, was, now, proposal, record)
	if k.Profile != nil && !slices.ContainsFunc(changedLines(was, now), func(line string) bool { return !strings.HasPrefix(line, " ") }) {
		if len(used.failed) == 0 {
			a.Out.Printf("No changes needed.\n")
		}
		return reportCalls(a, used.failed, remedies)
	}
	starts, failed, err := tryProfile(ctx, a, k, now, calls)
	if len(used.failed) > 0 {
		failed = used.failed
	}
	switch {
	case err != nil:
		return err
	case l.yes && !starts: // the user cannot decide, because --yes asks no questions
		return fmt.Errorf("server %q does not start with this profile, so nothing was written; without --yes you are asked", k.Entry.Name)
	}
	if !l.yes {
		agreed, err := a.Confirm(ctx, fmt.Sprintf("Write this to %s?", k.where(a.Place)))
		if err != nil {
			return err
		}
		if !agreed {
			a.Out.Printf("Nothing was written.\n")
			return reportCalls(a, failed, remedies)
		}
	}
	if err := WriteLearned(ctx, a, args, k, now); err != nil {
		return err
	}
	a.Out.Printf("Written to %s. It applies from the next start of %s.\n", k.where(a.Place), k.Entry.Name)
	return reportCalls(a, failed, remedies)
}

// reportCalls prints the calls of --call that failed. It also prints commands that allow the
// refused accesses that the profile does not propose. It returns [cli.ErrToolFailed] if any call
// failed.
func reportCalls(a *cli.App, failed, remedies []string) error {
	if len(failed) == 0 {
		return nil
	}
	a.Screen.Printf("junction: these calls failed, so permissions for them may be missing: %s\n", plaintext.FirstNames(failed))
	switch len(remedies) {
	case 0:
	case 1:
		a.Screen.Printf("junction: it used something that is not proposed; to allow that: %s\n", remedies[0])
	default:
		a.Screen.Printf("junction: it used things that are not proposed; the lines above have the commands that allow them\n")
	}
	return cli.ErrToolFailed
}

// WriteLearned writes the profile to which the user agreed. It returns an error if the stored
// profile has changed since it was shown.
func WriteLearned(ctx context.Context, a *cli.App, args []string, shown *StoredProfile, now sandbox.Profile) error {
	unlock, err := lockChanges(ctx, a)
	if err != nil {
		return err
	}
	defer unlock()
	a.Launch.Locks.Forget(shown.Entry.Definition.Source)
	k, err := ReadProfile(a, args)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(k.Profile, shown.Profile) || k.file != shown.file {
		return fmt.Errorf("server %q: its profile changed meanwhile, so nothing was written; learn again", k.Entry.Name)
	}
	return k.write(ctx, a, now)
}

// merged returns a copy of the earlier profile with the learned permissions added. If forget is set,
// the learned paths and hosts replace the earlier ones.
func merged(was, learned sandbox.Profile, forget bool) sandbox.Profile {
	now := was
	if forget {
		now.Read, now.Write, now.Hosts = nil, nil, nil
	}
	for _, list := range []struct {
		in    *[]string
		added []string
	}{{&now.Read, learned.Read}, {&now.Write, learned.Write}, {&now.Hosts, learned.Hosts}} {
		*list.in = slices.Clone(*list.in)
		for _, value := range list.added {
			if !launch.Covers(*list.in, value) && (list.in != &now.Read || !launch.Covers(now.Write, value) && !launch.Covers(learned.Write, value)) {
				*list.in = append(*list.in, value)
			}
		}
	}
	return now
}

// showProposal prints the changes of a profile and the accesses that are not proposed. It returns
// the commands that allow the latter.
func showProposal(a *cli.App, k *StoredProfile, was, now sandbox.Profile, p sandbox.Proposal, r *sandbox.Record) (remedies []string) {
	a.Out.Printf("%s needs:\n", k.Entry.Name)
	lines := changedLines(was, now)
	for _, line := range lines {
		a.Out.Printf("%s\n", line)
	}
	if len(lines) == 0 {
		a.Out.Printf("  nothing beyond the system's programs and its own package, and no host\n")
	}
	for _, o := range p.Omitted {
		if o.Host != "" {
			if !launch.Covers(now.Hosts, o.Host) {
				remedies = append(remedies, launch.AllowCommand(k.Entry.Name, []string{"--host", o.Host}))
				a.Out.Printf("Not proposed: %s: %s. If it needs that: %s\n", plaintext.Line(o.Host, 500), o.Reason, remedies[len(remedies)-1])
			}
			continue
		}
		if launch.Covers(now.Write, o.Path) || !o.Write && launch.Covers(now.Read, o.Path) {
			continue
		}
		flag, remedy := "--read", ""
		if o.Write {
			flag = "--write"
		}
		if !o.Missing {
			remedies = append(remedies, launch.AllowCommand(k.Entry.Name, []string{flag, o.Path}))
			remedy = " If it needs that: " + remedies[len(remedies)-1]
		}
		a.Out.Printf("Not proposed: %s: %s.%s\n", plaintext.Line(o.Path, 500), o.Reason, remedy)
	}
	if !r.Complete() {
		a.Out.Printf("It used more than could be recorded. When a missing permission is refused, the log names it.\n")
	}
	return remedies
}

// A confinedUse holds the permissions that a program used in a sandbox, and the tools of --call
// that failed.
type confinedUse struct {
	learned sandbox.Learned
	failed  []string
}

// useConfined starts the program of a server in a sandbox, and uses it through calls. If http is
// not empty, clients can also use it at that address.
func useConfined(ctx context.Context, a *cli.App, k *StoredProfile, p sandbox.Profile, o sandbox.Options, calls []lint.Call, http string) (used confinedUse, err error) {
	plain := k.Entry
	plain.Sandbox = nil
	t, err := a.Launch.Target(ctx, plain)
	if err != nil {
		return used, err
	}
	c, is := t.Transport.(*command.Command)
	if !is {
		return used, fmt.Errorf("server %q is not started by a command", k.Entry.Name)
	}
	o.Package, o.Folder = a.Launch.InstalledFolders(t.Locked), k.Entry.Definition.Cwd != ""
	learned := sandbox.Learned{Words: slices.Concat(c.Args, slices.Collect(maps.Values(t.Server.Env))), Dir: c.Dir}
	for _, call := range calls {
		learned.Named = launch.AppendTexts(learned.Named, call.Arguments)
	}
	if o.Folder {
		learned.Named = append(learned.Named, c.Dir)
	}
	o.Learned, used.learned = learned, learned
	if err := a.Launch.ConfineTo(c, k.Entry.Name, p, o, true); err != nil {
		return used, fmt.Errorf("server %q: %w", k.Entry.Name, err)
	}
	client, err := reach.Connect(ctx, a, t)
	if err != nil {
		return used, err
	}
	defer client.Close()
	if used.failed, err = exercise(ctx, a, client, calls, o.Record != nil); err != nil {
		return used, err
	}
	if http == "" {
		return used, nil
	}
	serving, stop := context.WithCancel(ctx)
	var served sync.WaitGroup
	var fault error
	served.Go(func() {
		fault = cli.IgnoreInterrupt(serving, up.Serve(serving, a, up.Front{Listen: settings.Listen{HTTP: http}}, client))
	})
	_, err = a.Person.Line(ctx, "Use it, then press Enter > ")
	stop()
	served.Wait()
	return used, errors.Join(err, fault)
}

// exercise requests all lists of a server, calls the read-only tools that need no arguments, and
// then makes the given calls. It returns the tools of the given calls that failed. isSaid makes it
// print each call.
func exercise(ctx context.Context, a *cli.App, client *mcp.Client, calls []lint.Call, isSaid bool) (failed []string, err error) {
	var all []lint.Call
	var left []string
	for t, err := range client.Tools(ctx) {
		if err != nil {
			return nil, &cli.ConnectError{Cause: err}
		}
		switch {
		case slices.ContainsFunc(calls, func(c lint.Call) bool { return c.Tool == t.Name }):
		case t.Annotations.ReadsOnly() && !reach.NeedsArguments(t) && len(all) < maxExercised:
			all = append(all, lint.Call{Tool: t.Name, Arguments: json.RawMessage("{}")})
		default:
			left = append(left, t.Name)
		}
	}
	for range client.Prompts(ctx) { // list these only to learn which files the server reads
	}
	for range client.Resources(ctx) {
	}
	for i, call := range append(all, calls...) {
		said, ok, err := callOnce(ctx, client, call)
		if err != nil {
			return nil, err
		}
		if isSaid || !ok {
			a.Screen.Printf("%s\n", said)
		}
		if !ok && i >= len(all) {
			failed = append(failed, call.Tool)
		}
	}
	if len(left) > 0 && isSaid {
		not := "Not called"
		if len(all)+len(calls) == 0 {
			not = "No tool was called, because none is marked as read-only without needing arguments"
		}
		a.Screen.Printf("%s: %s. Their permissions are not learned; --call TOOL=JSON calls one.\n", not, plaintext.FirstNames(left))
	}
	return failed, nil
}

// callOnce makes a call and returns a line about its result. err is the error of ctx.
func callOnce(ctx context.Context, client *mcp.Client, call lint.Call) (said string, ok bool, err error) {
	limited, cancel := context.WithTimeout(ctx, exerciseTime)
	defer cancel()
	result, err := client.CallTool(limited, call.Tool, call.Arguments)
	name := plaintext.Line(call.Tool, 80)
	switch {
	case ctx.Err() != nil:
		return "", false, context.Cause(ctx)
	case err != nil:
		return fmt.Sprintf("Called %s, which failed: %s", name, plaintext.Line(err.Error(), 300)), false, nil
	case result.IsError:
		return fmt.Sprintf("Called %s, which reported a failure: %s", name, plaintext.Line(result.Text(), 300)), false, nil
	}
	return fmt.Sprintf("Called %s.", name), true, nil
}

// tryProfile uses the server in the sandbox of the profile, and prints whether the profile is
// sufficient. starts reports whether the server starts. failed lists the tools of failed calls.
func tryProfile(ctx context.Context, a *cli.App, k *StoredProfile, now sandbox.Profile, calls []lint.Call) (starts bool, failed []string, err error) {
	a.Screen.Printf("Trying it with this profile:\n")
	var mu sync.Mutex
	var refused []string
	o := sandbox.Options{Weaker: k.Weaker, Refused: func(r sandbox.Refusal) {
		mu.Lock()
		defer mu.Unlock()
		refused = append(refused, launch.RefusalLine(k.Entry.Name, r))
	}}
	used, err := useConfined(ctx, a, k, now, o, calls, "")
	mu.Lock()
	defer mu.Unlock()
	for _, line := range refused {
		a.Out.Printf("With this profile: %s\n", line)
	}
	if err != nil && ctx.Err() == nil {
		a.Out.Printf("With this profile it does not start: %s\n", why.Of(err, k.Entry.Name))
		return false, nil, nil
	}
	switch {
	case err != nil || len(refused) > 0:
	case len(used.failed) > 0:
		a.Out.Printf("With this profile it starts, and is refused nothing.\n")
	default:
		a.Out.Printf("With this profile it starts, does the same, and is refused nothing.\n")
	}
	return err == nil, used.failed, err
}
