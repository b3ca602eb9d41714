package policies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/up/layer"
	"github.com/spf13/cobra"
)

const auditHelp = `junction up logs calls only with --audit, or with "audit" in its settings. The log has the
names of users if junction up runs with --auth or --tls-client-ca. FOLDER is the folder of
--audit=FOLDER. Without it, the folders of --audit alone are read: processes that run at
the same time have one each.`

// auditExitHelp describes the exit codes of the commands that read the log, and verifyExitHelp
// those of audit verify.
var (
	auditExitHelp  = cli.ExitCodes("done", "", "", "there is no log, or it cannot be read")
	verifyExitHelp = cli.ExitCodes("the log is unchanged", "the log was changed", "", "there is no log, or it cannot be read")
)

// errChanged reports that the audit log was changed. The command has printed the details before it
// returns this error.
var errChanged = fmt.Errorf("the audit log was changed: %w", cli.ErrToolFailed)

// AuditCommand returns the command audit.
func AuditCommand(a *cli.App) *cobra.Command {
	return cli.Group("audit", "Show who called which tool through junction up --audit, and verify that log",
		"Show and verify the log of calls.\n\n  junction up --audit --auth keys    writes a log, with the names of users\n  junction audit query --since 24h   shows the calls of a day\n\n"+auditHelp,
		auditQueryCommand(a), auditTailCommand(a), auditVerifyCommand(a), auditKeyCommand(a))
}

// auditArguments returns the folders of logs given on the command line, or Junction's own folders.
func auditArguments(p place.Place, args []string) ([]string, error) {
	if len(args) == 0 {
		return layer.OwnAuditFolders(p)
	}
	folders := make([]string, 0, len(args))
	for _, arg := range args {
		folder, err := layer.AuditFolder(p, arg)
		if err != nil {
			return nil, err
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

func auditVerifyCommand(a *cli.App) *cobra.Command {
	var keys []string
	cmd := &cobra.Command{
		Use:   "verify [FOLDER…]",
		Short: "Check that the log is unchanged",
		Long: `Read the whole log, and report where it was changed: a byte, lines that were added,
removed, repeated or moved, an end that was cut off, a file that was replaced. On
another machine, verify it with --key and the public key that junction audit key prints,
up to its last checkpoint. Replicas have a log each; with several folders, each log is
verified, by that of the keys which fits, and --json prints a line for each.

Replicas with a store (state.url in their settings) keep the last line of each log there.
With --config and their configuration, logs must have these lines, and a folder whose log
is missing is reported.

` + auditHelp + "\n\n" + verifyExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			folders, err := auditArguments(a.Place, args)
			if err != nil {
				return err
			}
			var known []audit.Witnessed
			if len(a.Launch.Config) > 0 {
				if err := reach.UseConfiguredShared(cmd.Context(), a); err != nil {
					return err
				}
				if known, err = Witnesses(cmd.Context(), a); err != nil {
					return err
				}
			}
			var changed error
			for _, folder := range folders {
				report, err := verifyWith(a.Place, folder, keys, known)
				switch {
				case errors.Is(err, fs.ErrNotExist):
					return fmt.Errorf("%w; junction up --audit writes one", err)
				case err != nil:
					return err
				}
				if err := printReport(a, folder, report); !errors.Is(err, errChanged) {
					if err != nil {
						return err
					}
					continue
				}
				changed = errChanged
			}
			return changed
		},
	}
	cmd.Flags().StringSliceVar(&keys, "key", nil, "verify with only the public `KEY` (repeatable, for logs of several installations)")
	cmd.Flags().StringArrayVar(&a.Launch.Config, "config", nil, "also compare with the store that the settings in `FILE` name")
	a.JSONFlag(cmd, &audit.Report{})
	return cmd
}

// Witnesses returns the ends of the logs of all replicas in the shared store that is in use, or none
// without a store.
func Witnesses(ctx context.Context, a *cli.App) ([]audit.Witnessed, error) {
	if g := a.Launch.Shared(); g != nil {
		return audit.Witnesses(ctx, g)
	}
	return nil, nil
}

// VerifyAudit verifies an audit log with a public key. If public is empty, it uses the key of this
// installation. The log must have the lines that known names for it.
func VerifyAudit(p place.Place, folder, public string, known []audit.Witnessed) (*audit.Report, error) {
	host, _ := os.Hostname() // as in the store
	o := audit.VerifyOptions{Witnessed: known, Host: host}
	var err error
	if public != "" {
		if o.Public, err = audit.ParsePublic(public); err != nil {
			return nil, &cli.UsageError{Err: err}
		}
	} else if o.Key, err = layer.AuditKey(p); err != nil {
		return nil, err
	}
	return audit.VerifyWith(folder, o)
}

// verifyWith verifies a log with each of some public keys. It returns the report with the fewest
// faults, which is that of the key that the log was written with.
func verifyWith(p place.Place, folder string, keys []string, known []audit.Witnessed) (best *audit.Report, err error) {
	if len(keys) == 0 {
		keys = []string{""}
	}
	for _, key := range keys {
		report, err := VerifyAudit(p, folder, key, known)
		if err != nil {
			return nil, err
		}
		if best == nil || report.Count < best.Count {
			best = report
		}
	}
	return best, nil
}

// printReport prints the outcome of a verification. It returns errChanged if the log was changed.
func printReport(a *cli.App, folder string, r *audit.Report) error {
	var changed error
	if r.Count > 0 {
		changed = errChanged
	}
	if a.Flags.JSON {
		return errors.Join(a.PrintJSON(r), changed)
	}
	shown := r.Faults
	if r.OtherKey { // then each line has a fault
		shown = shown[:min(3, len(shown))]
	}
	for _, f := range shown {
		fmt.Fprintf(a.Out, "%s\n", plaintext.Line(f.String(), 500))
	}
	if more := r.Count - len(shown); more > 0 {
		fmt.Fprintf(a.Out, "and %d more\n", more)
	}
	outcome := "it is unchanged"
	if r.Witnessed > 0 {
		outcome += fmt.Sprintf(", and the store has line %d", r.Witnessed)
	}
	switch {
	case r.OtherKey:
		outcome = "IT WAS CHANGED, OR WRITTEN WITH THE KEY of another installation; to find out, run junction audit verify --key KEY with its public key"
	case r.Count > 0:
		outcome = "IT WAS CHANGED"
	}
	if n := len(r.Expired); n > 0 && r.Count == 0 {
		outcome += fmt.Sprintf(", and lines %d to %d expired", r.Expired[0].First, r.Expired[n-1].Last)
	}
	refused := ""
	if r.Refused > 0 {
		refused = fmt.Sprintf(", plus %s that lines of refusals count", plaintext.Count(r.Refused, "request"))
	}
	_, err := fmt.Fprintf(a.Out, "%s: lines %d to %d in %s, %s%s; %s\n", a.Short(folder), r.First, r.Last,
		plaintext.Count(r.Files, "file"), plaintext.Count(r.Checkpoints, "checkpoint"), refused, outcome)
	return errors.Join(err, changed)
}

// AuditFilters holds the flags and parameters that select lines of the log. auditRecords holds the
// fields of a line.
var (
	AuditFilters = fields.ParamsOf[audit.Filter]()
	auditRecords = fields.Of[audit.Record]()
)

// FilterError returns the error of a filter as a usage error. If a filter for refused calls has the
// wrong name, the error suggests the right one.
func FilterError(err error) error {
	if wrong := new(fields.ParamError); errors.As(err, &wrong) && (wrong.Got == "denied" || wrong.Got == "refused") {
		if dashes, is := strings.CutSuffix(wrong.Name, "outcome"); is {
			return cli.Usagef("%w; to find calls that rules refused, use %sdecision deny", err, dashes)
		}
	}
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	return nil
}

func auditTailCommand(a *cli.App) *cobra.Command {
	var chosen func(*audit.Filter) error
	cmd := &cobra.Command{
		Use:   "tail [FOLDER…]",
		Short: "Print new lines as they are written",
		Long:  "Print the lines that are written from now on, until Ctrl-C.\n\n" + auditHelp + "\n\n" + auditExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			folders := func() ([]string, error) { return auditArguments(a.Place, args) }
			var f audit.Filter
			if err := FilterError(chosen(&f)); err != nil {
				return err
			}
			if _, err := printLines(a, audit.Follow(cmd.Context(), folders, f)); err != nil {
				return err
			}
			return &cli.ExitError{Code: cli.ExitInterrupted} // the user pressed Ctrl-C
		},
	}
	chosen = AuditFilters.Flags(cmd.Flags(), "since", "until")
	a.JSONFlag(cmd, audit.Record{})
	return cmd
}

func auditQueryCommand(a *cli.App) *cobra.Command {
	var chosen func(*audit.Filter) error
	var most int
	cmd := &cobra.Command{
		Use:   "query [FOLDER…]",
		Short: "Show past calls: all, or those of a server, tool, user or time",
		Long: `Print the lines that match all flags, the oldest first; with --limit only the newest.
With several folders, such as those of replicas, the lines of all logs are in the order of
their times, and each has its folder as "log". A terminal does not show checkpoints, starts
and stops without --kind or --event. junction audit verify reports whether the log was changed.

  junction audit query --decision deny --since 24h
  junction audit query --tool write --principal ada --json

` + auditHelp + "\n\n" + auditExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			folders, err := auditArguments(a.Place, args)
			if err != nil {
				return err
			}
			var f audit.Filter
			if err := FilterError(chosen(&f)); err != nil {
				return err
			}
			lines, others := audit.ReadAll(folders, f), 0
			if chooses := cmd.Flags().Changed; a.Out.Terminal() && !a.Flags.JSON && !chooses("kind") && !chooses("event") {
				lines = withoutOperation(lines, &others)
			}
			n, err := printLines(a, LastLines(lines, most))
			if err == nil && n == 0 && most != 0 && !a.Flags.JSON {
				a.Screen.Printf("No line matches.\n")
			}
			if err == nil && others > 0 {
				a.Screen.Printf("%s of other kinds, such as checkpoints; --kind all shows them.\n", plaintext.Count(others, "line"))
			}
			return err
		},
	}
	chosen = AuditFilters.Flags(cmd.Flags())
	cmd.Flags().IntVar(&most, "limit", -1, "print the newest `N` lines only")
	a.JSONFlag(cmd, audit.Record{})
	return cmd
}

// LastLines returns the last lines in order. If most is negative, it returns all lines, else at
// most that many.
func LastLines(lines iter.Seq2[json.RawMessage, error], most int) iter.Seq2[json.RawMessage, error] {
	if most < 0 {
		return lines
	}
	return func(yield func(json.RawMessage, error) bool) {
		var kept []json.RawMessage // a ring buffer
		n := 0
		for line, err := range lines {
			switch {
			case err != nil:
				yield(nil, err)
				return
			case len(kept) < most:
				kept = append(kept, line)
			case most > 0:
				kept[n%most] = line
			}
			n++
		}
		for i := range kept {
			if !yield(kept[(max(0, n-len(kept))+i)%most], nil) {
				return
			}
		}
	}
}

// printLines prints lines, and returns their number.
func printLines(a *cli.App, lines iter.Seq2[json.RawMessage, error]) (n int, err error) {
	for line, err := range lines {
		if errors.Is(err, fs.ErrNotExist) {
			return n, fmt.Errorf("%w; junction up --audit writes a log", err)
		}
		if err != nil {
			return n, err
		}
		n++
		text := string(line)
		if !a.Flags.JSON {
			text = FormatLine(line)
		}
		if a.Out.Terminal() && !a.Flags.JSON {
			text = hashes().ReplaceAllString(text, "$1…")
		}
		if _, err := fmt.Fprintln(a.Out, text); err != nil {
			return n, err
		}
	}
	return n, nil
}

// FormatLine returns a line of the log as text: time, kind and name, then the text fields, then the
// numbers.
func FormatLine(line json.RawMessage) string {
	text := func(name string) string {
		raw := jsonrpc.Get(line, name)
		if s, ok := jsonrpc.Unquote(raw); ok {
			return s
		}
		return string(raw)
	}
	at, err := time.Parse(time.RFC3339, text("time"))
	words := []string{text("time")}
	if err == nil {
		words[0] = at.Local().Format("2006-01-02 15:04:05.000")
	}
	what := text("kind")
	for _, name := range []string{"event", "outcome", "decision"} {
		if value := text(name); value != "" {
			what += " " + value
		}
	}
	words = append(words, what, text("name"))
	var numbers []string
	rule, reason := text("rule"), text("reason")
	for _, f := range auditRecords.Fields() {
		form, value := f.Tag.Get("column"), f.Text(line)
		switch {
		case form == "" || value == "":
		case f.Name == "reason" && reason == "the rule "+rule, f.Name == "rule" && strings.Contains(reason, rule) && reason != "the rule "+rule:
			// the reason and the rule have the same text
		case f.IsNumber():
			numbers = append(numbers, fmt.Sprintf(form, value))
		default:
			words = append(words, fmt.Sprintf(form, value))
		}
	}
	if log := text("log"); log != "" {
		numbers = append(numbers, "in "+log)
	}
	return plaintext.Line(strings.Join(append(words, numbers...), "  "), 2_000)
}

func auditKeyCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print the public key with which others can verify the log",
		Args:  cli.NoArguments,
		Long:  "Print the public key of this installation, with which others can verify its log:\njunction audit verify --key KEY FOLDER.\n\n" + auditExitHelp,
		RunE: func(*cobra.Command, []string) error {
			key, err := layer.AuditKey(a.Place)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Out, audit.FormatPublic(key.Public()))
			return err
		},
	}
}
