package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/policy"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const auditHelp = `The log is the folder that junction up --audit=FOLDER writes, or that of --audit alone
where no FOLDER is named.`

const auditExitHelp = `Exit codes:
  0    done; the log is as it was written
  1    the log was changed
  2    the command line is wrong
  3    there is no log, or it cannot be read
  130  interrupted (Ctrl-C)`

// errChanged is how verify ends where the log is not as it was written; that is printed already.
var errChanged = fmt.Errorf("the audit log was changed: %w", errToolFailed)

func (a *app) auditCommand() *cobra.Command {
	return group("audit", "Verify, follow and search the log of what was called through junction up",
		"Work with the log of calls that junction up --audit writes.\n\n"+auditHelp+"\n\n"+auditExitHelp,
		a.auditVerifyCommand(), a.auditTailCommand(), a.auditQueryCommand(), a.auditKeyCommand())
}

// auditArgument is the folder that a command of audit is about.
func auditArgument(cmd *cobra.Command, args []string) (string, error) {
	if len(args) > 1 {
		return "", usagef("%s: expected one FOLDER, got %d", cmd.CommandPath(), len(args))
	}
	return auditFolder(strings.Join(args, ""))
}

func (a *app) auditVerifyCommand() *cobra.Command {
	var public string
	cmd := &cobra.Command{
		Use:   "verify [FOLDER]",
		Short: "Say whether the log is as it was written",
		Long: `Read all of the log, and say where it was changed: a byte, lines that were added,
removed, repeated or moved, an end that was cut off, a file that was replaced. With
--key, the public key that junction audit key prints, it can be verified elsewhere, up
to its last checkpoint.

` + auditHelp + "\n\n" + auditExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := auditArgument(cmd, args)
			if err != nil {
				return err
			}
			report, err := verified(folder, public)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("%w; junction up --audit writes one", err)
			case err != nil:
				return err
			}
			return a.printReport(folder, report)
		},
	}
	cmd.Flags().StringVar(&public, "key", "", "verify with the public `KEY` alone")
	cmd.Flags().BoolVar(&a.flags.json, "json", false, "print the report as one object")
	return cmd
}

// verified verifies with a public key, or with that of this installation.
func verified(folder, public string) (*audit.Report, error) {
	if public != "" {
		key, err := audit.ParsePublic(public)
		if err != nil {
			return nil, &usageError{err}
		}
		return audit.VerifyPublic(folder, key)
	}
	key, err := auditKey()
	if err != nil {
		return nil, err
	}
	return audit.Verify(folder, key)
}

func (a *app) printReport(folder string, r *audit.Report) error {
	var changed error
	if r.Count > 0 {
		changed = errChanged
	}
	if a.flags.json {
		return errors.Join(a.printObject(r), changed)
	}
	for _, f := range r.Faults {
		fmt.Fprintf(a.out, "%s\n", plaintext.Line(f.String(), 500))
	}
	if more := r.Count - len(r.Faults); more > 0 {
		fmt.Fprintf(a.out, "and %d more\n", more)
	}
	outcome := "it is as it was written"
	switch {
	case r.OtherKey:
		outcome = "IT WAS CHANGED, OR WRITTEN WITH ANOTHER KEY than that of this installation: junction audit verify --key KEY, with the public key of that one, tells which"
	case r.Count > 0:
		outcome = "IT WAS CHANGED"
	}
	_, err := fmt.Fprintf(a.out, "%s: lines %d to %d in %s, %s; %s\n", shortened(folder), r.First, r.Last,
		plaintext.Count(r.Files, "file"), plaintext.Count(r.Checkpoints, "checkpoint"), outcome)
	return errors.Join(err, changed)
}

// filterFlags choose lines.
func filterFlags(flags *pflag.FlagSet, f *audit.Filter) {
	flags.StringVar(&f.Kind, "kind", "", "lines of this `KIND` only: call, decision, checkpoint or note")
	flags.StringVar(&f.Name, "tool", "", "lines whose tool, prompt or resource has this `TEXT` in its name")
	flags.StringVar(&f.Server, "server", "", "lines about this `SERVER`")
	flags.StringVar(&f.Principal, "principal", "", "lines about this `USER`")
	flags.StringVar(&f.Client, "client", "", "lines whose client has this `TEXT` in its name")
	flags.StringVar(&f.Outcome, "outcome", "", "calls that ended so: `OUTCOME` is ok, tool_error, input_required, cancelled or error")
	flags.StringVar(&f.Decision, "decision", "", "decisions to `EFFECT`: allow, ask or deny")
	flags.StringVar(&f.Call, "call", "", "all lines about the call with this `ID`")
}

// checkFilter says which words there are where a filter has another one, which no line has. dashes stand before its name,
// if it is a flag.
func checkFilter(f *audit.Filter, dashes string) error {
	for _, member := range []struct {
		name, given string
		words       []string
	}{
		{"kind", f.Kind, []string{audit.KindCall, audit.KindDecision, audit.KindCheckpoint, audit.KindNote}},
		{"outcome", f.Outcome, []string{string(mcp.OutcomeOK), string(mcp.OutcomeToolError), string(mcp.OutcomeInputRequired), string(mcp.OutcomeCancelled), string(mcp.OutcomeError)}},
		{"decision", f.Decision, []string{string(policy.Allow), string(policy.Ask), string(policy.Deny)}},
	} {
		if member.given == "" || slices.Contains(member.words, member.given) {
			continue
		}
		hint := ""
		if member.name == "outcome" && (member.given == "denied" || member.given == "refused") {
			hint = "; what rules refused is found with " + dashes + "decision deny"
		}
		return usagef("%s: expected one of %s, got %q%s", dashes+member.name, strings.Join(member.words, ", "), member.given, hint)
	}
	return nil
}

func (a *app) auditTailCommand() *cobra.Command {
	var f audit.Filter
	cmd := &cobra.Command{
		Use:   "tail [FOLDER]",
		Short: "Print lines while they are written",
		Long:  "Print the lines that are written from now on, until Ctrl-C.\n\n" + auditHelp + "\n\n" + auditExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := auditArgument(cmd, args)
			if err != nil {
				return err
			}
			if err := checkFilter(&f, "--"); err != nil {
				return err
			}
			if _, err := a.printLines(audit.Follow(cmd.Context(), folder, f), -1); err != nil {
				return err
			}
			return &endedError{exitInterrupted} // by the person, who knows it
		},
	}
	filterFlags(cmd.Flags(), &f)
	cmd.Flags().BoolVar(&a.flags.json, "json", false, "print lines as they are")
	return cmd
}

func (a *app) auditQueryCommand() *cobra.Command {
	var f audit.Filter
	var since, until string
	var most int
	cmd := &cobra.Command{
		Use:   "query [FOLDER]",
		Short: "Print the lines of some calls",
		Long: `Print the lines that fit all flags, the first one first. They are not verified.

  junction audit query --decision deny --since 24h
  junction audit query --tool write --principal ada --json

` + auditHelp + "\n\n" + auditExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder, err := auditArgument(cmd, args)
			if err != nil {
				return err
			}
			if err := checkFilter(&f, "--"); err != nil {
				return err
			}
			if f.Since, err = moment("--since", since); err != nil {
				return err
			}
			if f.Until, err = moment("--until", until); err != nil {
				return err
			}
			n, err := a.printLines(audit.Read(folder, f), most)
			if err == nil && n == 0 && most != 0 && !a.flags.json {
				a.screen.Printf("No line is like that.\n")
			}
			return err
		},
	}
	filterFlags(cmd.Flags(), &f)
	cmd.Flags().StringVar(&since, "since", "", "lines from `WHEN` on: a time such as 2026-11-23T12:00:00Z, a date, or how long ago, such as 24h")
	cmd.Flags().StringVar(&until, "until", "", "lines before `WHEN`")
	cmd.Flags().IntVar(&most, "limit", -1, "print at most `N` lines")
	cmd.Flags().BoolVar(&a.flags.json, "json", false, "print lines as they are")
	return cmd
}

// moment is a point in time that was typed; name is where.
func moment(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, usagef("%s: expected a time such as 2026-11-23T12:00:00Z, a date, or how long ago, such as 24h, got %q", name, text)
}

// printLines prints lines, at most so many unless that is negative, and returns how many there were.
func (a *app) printLines(lines iter.Seq2[json.RawMessage, error], most int) (n int, err error) {
	for line, err := range lines {
		if errors.Is(err, fs.ErrNotExist) {
			return n, fmt.Errorf("%w; junction up --audit writes a log", err)
		}
		if err != nil {
			return n, err
		}
		if n == most {
			return n, nil
		}
		n++
		text := string(line)
		if !a.flags.json {
			text = readableLine(line)
		}
		if _, err := fmt.Fprintln(a.out, text); err != nil {
			return n, err
		}
	}
	return n, nil
}

// readableLine is a line of the log for people.
func readableLine(line json.RawMessage) string {
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
	for _, name := range []string{"outcome", "decision"} {
		if value := text(name); value != "" {
			what += " " + value
		}
	}
	words = append(words, what, text("name"))
	for _, name := range []string{"principal", "client", "rule", "reason", "arguments"} {
		if value := text(name); value != "" {
			words = append(words, name+" "+value)
		}
	}
	if again := text("resent"); again != "" {
		words = append(words, "sent again "+again+"×")
	}
	if duration := text("duration_us"); duration != "" {
		d, _ := time.ParseDuration(duration + "us")
		words = append(words, d.String())
	}
	return plaintext.Line(strings.Join(words, "  "), 2_000)
}

func (a *app) auditKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Print the public key with which others can verify the log",
		Args:  noMore,
		Long:  "Print the public key of this installation, with which others can verify its log:\njunction audit verify --key KEY FOLDER.\n\n" + auditExitHelp,
		RunE: func(*cobra.Command, []string) error {
			key, err := auditKey()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, audit.FormatPublic(key.Public()))
			return err
		},
	}
}
