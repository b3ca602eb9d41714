package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/person"
	"github.com/junction-mcp/junction/cmd/junction/internal/policies"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// ExitHelp describes the exit codes of chat.
const ExitHelp = `Exit codes:
  0    there is an answer
  1    no answer: a limit, refusal, loop or cut answer; a refused call or server
  2    the command line is wrong, or the ID fits no conversation or several
  3    no connection to a server, no model configured, or a local file failed
  4    the model's provider, or a server, answered with an error
  5    no answer in time
  130  interrupted (Ctrl-C)`

// startTime is how long a single question waits for servers to start. Many servers must be
// downloaded first.
const startTime = time.Minute

// Flags holds the flags of chat.
type Flags struct {
	Prompt       string
	Instructions []string
	attach       []string
	up           string
	Trust        []string
	Approve      []string
	Policy       string
	Allow        []string
	Model        ModelFlags
	Search       searchFlags
	Limits       host.Limits
	budget       host.WindowShares
	Trace        bool
	traceFile    string
	resume       string
	fork         string
	Unsaved      bool
	theme        string
	Plain        bool
	noAlerts     bool

	OnScreen bool // not a flag: whether there is a conversation on the screen or line by line
}

// Command returns the command chat.
func Command(a *cli.App) *cobra.Command {
	var f Flags
	cmd := &cobra.Command{
		Use:   "chat [SERVER…] [-- COMMAND…]",
		Short: "Talk to a language model that uses your servers; read past conversations",
		Long: `Talk to a language model that can use the tools of all configured servers, or of
the servers that you name. A call that may write, send or spend needs your
approval: once, for this session, or always. You review a server's definitions
before the model sees them.

With --prompt (-p), or a question on standard input, it prints the answer and
ends. Piped input is sent along with the question of -p.

Without --model or JUNCTION_MODEL it uses a built-in matcher in place of a
language model. The matcher finds a tool by the words of the question, and needs
neither network nor key.

  junction chat
  junction chat -p 'add 2 and 40' --trace
  make 2>&1 | junction chat -p 'what failed?'
  junction chat --model anthropic:claude-sonnet-4-5 files weather
  junction chat --model ollama:qwen3 --up -p 'what is new?'

` + ExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error { return runChat(a, cmd, args, &f) },
	}
	f.define(cmd.Flags())
	reach.ConnectionFlags(a, cmd.Flags())
	reach.FrozenFlag(a, cmd.Flags())
	reach.RecordFlag(a, cmd.Flags())
	a.JSONFlag(cmd, host.Event{})
	cmd.Flags().StringArrayVar(&a.Desk.Roots, "root", nil, "tell servers that you work in `FOLDER` (repeatable)")
	cmd.Flags().StringVar(&a.Desk.Elicit, "elicit", "", "answer forms of servers with `ANSWER`: accept, decline, cancel or a JSON object")
	groupFlags(cmd, chatGroups())
	return cmd
}

// define defines the flags in a flag set.
func (f *Flags) define(flags *pflag.FlagSet) {
	flags.StringVarP(&f.Prompt, "prompt", "p", "", "ask this `QUESTION`, print the answer and end; - reads it from standard input")
	flags.StringArrayVar(&f.attach, "attach", nil, "send this with the question: a text or picture in `FILE`, a resource as SERVER:URI, or - for standard input (repeatable)")
	flags.StringArrayVar(&f.Instructions, "instructions", nil, "give the model the instructions in `FILE` (repeatable); the folder's AGENTS.md is used once you have agreed to it")
	flags.StringVar(&f.up, "up", "", "use the servers of a running junction up, at `URL` (--up alone: the one that you run)")
	flags.Lookup("up").NoOptDefVal = up.AnyURL
	flags.StringArrayVar(&f.Trust, "trust", nil, "trust `SERVER`: its definitions are not reviewed, and its annotations are taken as true (repeatable)")
	flags.StringArrayVar(&f.Approve, "approve", nil, "approve the definitions of `SERVER` without seeing them, when it is new; changed definitions need SERVER@HASH, which the refusal names (repeatable)")
	policies.PolicyFlag(flags, &f.Policy)
	flags.StringArrayVar(&f.Allow, "allow", nil, "run calls of `SERVER/TOOL` without asking, until chat ends; without a terminal, even after untrusted text was read; * and ? are wildcards (repeatable)")
	f.Model.define(flags)
	f.Search.define(flags)
	flags.IntVar(&f.Limits.Steps, "max-steps", 0, "end a run after `N` requests to the model (default 50)")
	flags.DurationVar(&f.Limits.Time, "max-time", 0, "end a run after `DURATION`, such as 5m")
	flags.IntVar(&f.Limits.Tokens, "max-tokens", 0, "end a run after `N` tokens, input and output together")
	flags.Float64Var(&f.Limits.Money, "max-cost", 0, "end a run after `DOLLARS`; the model's price must be known")
	flags.IntVar(&f.budget.Tools, "tool-budget", 0, "offer tools by search when their definitions take more than `TOKENS` (-1: never)")
	flags.StringArrayVar(&f.budget.Always, "always", nil, "always show the model the tools of `SERVER` (repeatable)")
	flags.IntVar(&f.budget.Result, "result-budget", 0, "show the model at most `TOKENS` of one result at a time")
	flags.BoolVar(&f.Trace, "trace", false, "show on stderr every step, message and exchange with the model")
	flags.StringVar(&f.traceFile, "trace-file", "", "write a sequence diagram of the exchange to `FILE` (.svg, .mmd or .txt)")
	flags.StringVar(&f.resume, "resume", "", "continue the conversation `ID` (--resume=ID), or the last one")
	flags.Lookup("resume").NoOptDefVal = archive.Last
	flags.StringVar(&f.fork, "fork", "", "begin with a copy of the conversation `ID`")
	flags.BoolVar(&f.Unsaved, "no-save", false, "do not store the conversation")
	flags.StringVar(&f.theme, "theme", "", "colours of the terminal: `NAME` is auto, dark, light or mono")
	flags.BoolVar(&f.noAlerts, "no-alerts", false, "do not ring, notify or change the window's title when chat waits for you")
	flags.BoolVar(&f.Plain, "plain", false, "read questions line by line and write plain text, as for screen readers")
}

// runChat runs the command chat.
func runChat(a *cli.App, cmd *cobra.Command, args []string, f *Flags) (err error) {
	ctx := cmd.Context()
	if l := f.Limits; l.Steps < 0 || l.Time < 0 || l.Tokens < 0 || l.Money < 0 {
		return cli.Usagef("--max-steps, --max-time, --max-tokens and --max-cost cannot be negative; 0 means the default")
	}
	question, single, err := question(ctx, a, f, args)
	if err != nil {
		return err
	}
	if err := a.Desk.Check(); err != nil {
		return &cli.UsageError{Err: err}
	}
	defer reach.ShareTraffic(ctx, a, "")()
	f.OnScreen = !single
	if (single || f.Plain) && f.theme != "" {
		return cli.Usagef("--theme does not go with -p or --plain, which use no colours")
	}
	if f.OnScreen && a.Desk.Elicit != "" {
		return cli.Usagef("--elicit needs a question (-p); in a conversation you fill in forms yourself")
	}
	if f.OnScreen && a.Flags.JSON {
		return cli.Usagef("--json needs a question: give one with -p, or on standard input")
	}
	if err := reach.StartRecording(a, "chat", "", false); err != nil {
		return err
	}
	t, err := SetUpChat(ctx, a, cmd, args, f)
	if err != nil {
		return err
	}
	defer func() { err = cli.JoinClose(err, t.Close()) }()
	if f.OnScreen {
		return t.talk(ctx)
	}
	plain := &person.Plain{Person: a.Person, Screen: a.Screen, Desk: &a.Desk, OnDisk: FileReader(a.Place, t.Folders())}
	if err := t.Open(plain, reporter(a, plain)); err != nil {
		return err
	}
	conversation, err := t.begin(ctx)
	if err != nil {
		return err
	}
	settling, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	_ = t.Host.Settle(settling) // the model is asked only once, so all servers should be ready
	if err := t.checkReached(); err != nil {
		return err
	}
	defer watchTasks(ctx, conversation)()
	if err := askOnce(ctx, a, conversation, question); err != nil {
		return err
	}
	return t.complete()
}

// complete prints the servers that were omitted because they were not approved. It returns
// [cli.ErrToolFailed] if there are any.
func (t *Setup) complete() error {
	servers, without := t.person.Withheld()
	if len(servers) == 0 {
		return nil
	}
	said := ""
	if len(without) > 0 {
		said = fmt.Sprintf("; --approve %s did not apply, because changed definitions need their hash", strings.Join(without, " --approve "))
	}
	t.App.Screen.Printf("junction: warning: the answer was made without %s, which was not approved%s\n", plaintext.Line(strings.Join(servers, ", "), cli.MaxReason), plaintext.Line(said, cli.MaxReason))
	return cli.ErrToolFailed
}

// question returns the question on the command line or on standard input. single is false if there
// is none, so that a conversation begins.
func question(ctx context.Context, a *cli.App, f *Flags, servers []string) (q host.Question, single bool, err error) {
	text, given := f.Prompt, f.Prompt != ""
	if f.Prompt == "-" && slices.Contains(f.attach, "-") {
		return q, false, cli.Usagef("-p - and --attach - both read standard input: write the question after -p")
	}
	if !given && a.Person == nil && terminal.Reads(a.Stdin) {
		return q, false, cli.Usagef("a conversation needs standard error on the terminal: do not redirect it, or ask one question with -p")
	}
	if f.Prompt == "-" || !given && a.Person == nil {
		piped, err := a.ReadFile("-")
		if err != nil {
			return q, false, err
		}
		text, given = strings.TrimSpace(string(piped)), true
	}
	if given && strings.TrimSpace(text) == "" && f.Prompt == "" && len(servers) > 0 {
		return q, false, cli.Usagef("there is no question on standard input, and %q is taken for a server's name; write the question after -p, in quotes", servers[0])
	}
	if given && strings.TrimSpace(text) == "" {
		return q, false, cli.Usagef("the question is empty; ask with -p, or on standard input")
	}
	if !given && len(f.attach) > 0 {
		return q, false, cli.Usagef("--attach goes with a question: give one with -p, or on standard input; in a conversation write @FILE or @SERVER:URI into it")
	}
	q.Text = text
	if given {
		warnMentions(a, text)
	}
	for _, name := range f.attach {
		attached, err := attachment(a, name, f)
		if err != nil {
			return q, false, err
		}
		q.Attach = append(q.Attach, attached)
	}
	piped, err := PipedInput(ctx, a, f)
	q.Attach = append(q.Attach, piped...)
	return q, given, err
}

// warnMentions prints a warning for each @FILE in a question. The file is not attached, because
// others may have written the question.
func warnMentions(a *cli.App, text string) {
	for _, word := range strings.Fields(text) {
		name, mentioned := strings.CutPrefix(word, "@")
		if info, err := os.Stat(a.Path(name)); mentioned && err == nil && info.Mode().IsRegular() {
			a.Screen.Printf("junction: @%s is only text here; --attach %s sends the file\n", plaintext.Line(name, 200), plaintext.ShellWord(name))
		}
	}
}

// attachment returns the attachment for a value of --attach.
func attachment(a *cli.App, name string, f *Flags) (host.Attachment, error) {
	if name == "-" {
		return attachedInput(a, f)
	}
	if info, err := os.Stat(a.Path(name)); err == nil && info.Mode().IsRegular() {
		return attachedFile(a.Place, name)
	}
	server, uri, found := strings.Cut(name, ":")
	if !found || server == "" || uri == "" {
		return host.Attachment{}, cli.Usagef("--attach: there is no file %q; expected FILE, SERVER:URI, or - for standard input", name)
	}
	return host.Attachment{Server: server, URI: uri}, nil
}

// attachedInput returns standard input as an attachment.
func attachedInput(a *cli.App, f *Flags) (host.Attachment, error) {
	if f.Prompt == "" || f.Prompt == "-" {
		return host.Attachment{}, cli.Usagef("--attach - needs a question: give one with -p")
	}
	data, err := a.ReadFile("-")
	if err != nil {
		return host.Attachment{}, err
	}
	attached, err := attachable("standard input", data)
	if err != nil {
		return attached, cli.Usagef("--attach -: %w", err)
	}
	return attached, nil
}

// askOnce sends one question and prints the answer.
func askOnce(ctx context.Context, a *cli.App, c *host.Conversation, q host.Question) error {
	answer, err := c.Ask(ctx, q)
	if !a.Flags.JSON && answer.Text != "" {
		if _, err := io.WriteString(a.Out, strings.TrimRight(answer.Text, "\n")+"\n"); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return runFault(err)
	case answer.Stop == "time":
		return lateError{errors.New("there was no answer within --max-time")}
	case answer.Stop != "end" || answer.Refused != "":
		return cli.ErrToolFailed // a notice has shown the reason
	}
	return nil
}

// runFault wraps the error of a run to give it an exit code.
func runFault(err error) error {
	if errors.Is(err, host.ErrFull) || errors.Is(err, host.ErrEmpty) {
		return &cli.UnansweredError{Cause: err}
	}
	var e *model.Error
	switch {
	case !errors.As(err, &e):
	case e.Status != 0 || isOfProvider(err):
		err = &cli.ProviderError{Cause: err}
	case errors.Is(err, syscall.ECONNREFUSED):
		err = fmt.Errorf("%w (nothing listens there; start the model's server)", err)
	}
	return err
}

// isOfProvider reports whether the provider sent the error, possibly within a stream.
func isOfProvider(err error) bool {
	return slices.ContainsFunc([]error{model.ErrUnauthorized, model.ErrRateLimited, model.ErrOverloaded, model.ErrWindow, model.ErrNoModel, model.ErrBroken, model.ErrBadTool},
		func(cause error) bool { return errors.Is(err, cause) })
}

// A lateError reports that a run took too long.
type lateError struct{ error }

// Unwrap returns [context.DeadlineExceeded], which determines the exit code.
func (lateError) Unwrap() error { return context.DeadlineExceeded }

// reporter returns a function that prints the events of a run with a single question. It prints
// JSON on standard output or notices on standard error.
func reporter(a *cli.App, plain *person.Plain) func(host.Event) {
	if a.Flags.JSON {
		return func(e host.Event) { _ = a.PrintIndented(e, "") } // writing to a closed pipe ends the program by a signal
	}
	return func(e host.Event) {
		for run := e.Run; e.Child != nil; e.Run = run { // notices of sub-agents are printed, too
			e = e.Child.Event
		}
		plain.Tell(e)
		switch {
		case e.Log != nil && a.Launch.Verbose:
			reach.ShowLog(a, mcp.LogMessage{Level: e.Log.Level, Logger: e.Log.Server + " " + e.Log.Logger, Data: e.Log.Data})
		case e.Returned != nil && len(e.Returned.Media) > 0:
			saveAll(a, e.Returned)
		}
	}
}

// saveAll saves the images, sounds and files of a result and prints their paths.
func saveAll(a *cli.App, r *host.Returned) {
	for _, m := range r.Media {
		path, err := SaveMedia(a, r.Server, r.Tool, m)
		if err != nil {
			path = err.Error()
		}
		a.Screen.Printf("junction: %s of %s/%s: %s\n", m.Type, r.Server, r.Tool, path)
	}
}
