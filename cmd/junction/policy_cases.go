package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/policy"
	"github.com/spf13/cobra"
)

func (a *app) policyTestCommand() *cobra.Command {
	var path, profile, log string
	cmd := &cobra.Command{
		Use:   "test [FILE]",
		Short: "Decide about the cases of a file, and compare",
		Long: `Decide about every case of a file, or of standard input (-), and compare with what was
expected. A case is one object of JSON on a line:

  {"name": "deleting", "input": {"server": "files", "tool": "delete_file"}, "effect": "deny"}

With --audit it decides anew about the calls that junction up --audit wrote down, and says
what would become of them: at their time, with the annotations that the tools had then, and
with the servers as they are configured now. The log keeps no secrets, long texts and titles;
where that makes a difference it cannot tell, and says why.

input has method, server, tool, title, arguments, annotations, resource, principal, labels,
sources, trusted, client and profile, by whose rules it is decided; rule, if it is given, is the name of the rule that must decide.

` + policyHelp + "\n\n" + policyExitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if log != "" && profile != "" {
				return usagef("%s: --profile goes with a FILE of cases; each line of an audit log says its own", cmd.CommandPath())
			}
			if log != "" && len(args) == 0 {
				return a.testOnLog(cmd.Context(), path, log)
			}
			if len(args) == 1 && log == usualFolder {
				return usagef("%s: --audit takes its folder with an equals sign: --audit=%s; with a FILE there is no --audit", cmd.CommandPath(), args[0])
			}
			if len(args) != 1 || log != "" {
				return usagef("%s: expected one FILE, got %d, or --audit alone", cmd.CommandPath(), len(args))
			}
			return a.testRules(cmd.Context(), path, profile, args[0])
		},
	}
	policyFlag(cmd.Flags(), &path)
	profileFlag(cmd.Flags(), &profile)
	a.configFlags(cmd.Flags())
	cmd.Flags().StringVar(&log, "audit", "", "decide about the calls in the audit log in `FOLDER` (default with --audit alone: the usual one)")
	cmd.Flags().Lookup("audit").NoOptDefVal = usualFolder
	cmd.Flags().BoolVar(&a.flags.json, "json", false, "print the outcome as one object")
	return cmd
}

// A policyCase is what is expected of one call.
type policyCase struct {
	Name   string        `json:"name,omitempty"`
	Input  policy.Input  `json:"input"`
	Effect policy.Effect `json:"effect"`
	Rule   string        `json:"rule,omitempty"`
	line   int
}

// A mismatch is a case that was decided otherwise.
type mismatch struct {
	Name   string        `json:"name,omitempty"`
	Line   int           `json:"line"`
	Effect policy.Effect `json:"effect"`
	Rule   *policy.Rule  `json:"rule"`
	Reason string        `json:"reason"`
	Wanted policy.Effect `json:"wanted"`
	// WantedRule is empty where any rule may decide.
	WantedRule string `json:"wantedRule,omitempty"`
}

// testRules decides about the cases of the file called name. Those that say no profile are of the one of the command line.
func (a *app) testRules(ctx context.Context, path, profile, name string) error {
	set, _, err := a.servers()
	if err != nil {
		return err
	}
	source, err := a.policySource(set, path, profile)
	if err != nil {
		return err
	}
	data, err := a.readFile(name)
	if err != nil {
		return err
	}
	cases, err := readCases(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	source.report(profile)
	failed := []mismatch{}
	for _, c := range cases {
		c.Input.Profile = cmp.Or(c.Input.Profile, profile)
		book, err := source.book(c.Input.Profile)
		if err != nil {
			return err
		}
		d := book.Decide(ctx, c.Input)
		if d.Effect != c.Effect || c.Rule != "" && c.Rule != d.Rule.Name {
			failed = append(failed, mismatch{c.Name, c.line, d.Effect, d.Rule, d.Reason, c.Effect, c.Rule})
		}
	}
	if err := a.showCases(name, len(cases), failed); err != nil {
		return err
	}
	if len(failed) > 0 {
		return errToolFailed
	}
	return nil
}

func (a *app) showCases(name string, cases int, failed []mismatch) error {
	if a.flags.json {
		return a.printObject(struct {
			Cases  int        `json:"cases"`
			Failed []mismatch `json:"failed"`
		}{cases, failed})
	}
	for _, m := range failed {
		title, by := "", ""
		if m.Name != "" {
			title = plaintext.Line(m.Name, 200) + ": "
		}
		if m.WantedRule != "" {
			by = fmt.Sprintf(" by %q", plaintext.Line(m.WantedRule, 200))
		}
		if _, err := fmt.Fprintf(a.out, "%s:%d: %sexpected %s%s, got %s by %s\n", name, m.Line, title, m.Wanted, by, m.Effect, plaintext.Line(m.Rule.String(), maxLog)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.out, "%d cases, %d as expected\n", cases, cases-len(failed))
	return err
}

// readCases reads cases, one to a line.
func readCases(data []byte) (cases []policyCase, err error) {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		c := policyCase{line: i + 1}
		if err := schema.Decode(line, &c); err != nil {
			return nil, fmt.Errorf("line %d: %w", c.line, err)
		}
		if policy.Strictest(c.Effect) == "" {
			return nil, fmt.Errorf(`line %d: effect: expected "allow", "ask" or "deny"`, c.line)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, errors.New("there are no cases")
	}
	return cases, nil
}
