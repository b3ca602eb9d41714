package develop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cases"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/spf13/cobra"
)

// testFlags holds the flags of test.
type testFlags struct {
	from, server          string
	revisions, transports []string
	names                 string
	junit                 string
	tap, all              bool
	o                     cases.Options
}

// TestCommand returns the command test.
func TestCommand(a *cli.App) *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test PATH… [-- COMMAND…]",
		Short: "Test a server by cases in files",
		Long: `Test servers by the cases in files (.yaml, .yml, .txtar), or in all such files of folders.
A case has a request to send to the server, and the response to expect. An example:

  server: everything
  cases:
  - case: two numbers are added
    tool: add
    arguments: {a: 1, b: 2}
    expect:
      structured: {equals: {sum: 3}}

More: https://github.com/junction-mcp/junction/blob/main/docs/testing.md

A file names the server that it tests, and how to start it. --server, or a command at the
end, overrides that. Each file gets its own instance of the server. The commands in the
files are run, so test only files that you trust.

With --from RECORDING, junction test writes the first draft of such a file to PATH, or to
standard output. Other commands make recordings with --record.

Exit codes:
  0    all cases passed
  1    a case failed
  2    the command line, or a file of cases, is wrong
  3    a server could not be started or reached
  130  interrupted (Ctrl-C)`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.from != "" {
				return draft(a, f.from, f.server, args)
			}
			return test(a, cmd, args, &f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.server, "server", "", "test `SERVER`, a name or a URL, in place of the files' servers; with --from: the recorded server to take")
	flags.StringSliceVar(&f.revisions, "revisions", nil, "run the cases at each of these `REVISIONS`, or at all that the server speaks (all); default: those of the file, or the negotiated one")
	flags.StringSliceVar(&f.transports, "transports", nil, "run the cases over each of these `TRANSPORTS`: stdio, http, sse, or all that the server supports; default: those of the file, or the server's own")
	flags.StringVar(&f.names, "run", "", "run only the cases whose names match `REGEXP`")
	flags.BoolVar(&f.o.Update, "update", false, "write missing and changed snapshots; without --run, also remove those of removed cases")
	flags.StringVar(&f.junit, "junit", "", "write the results to `FILE` as JUnit XML")
	flags.BoolVar(&f.all, "all", false, "also list the cases that passed or were skipped")
	flags.BoolVar(&f.tap, "tap", false, "print the results in the Test Anything Protocol (TAP 14)")
	flags.IntVar(&f.o.Parallel, "parallel", min(4, runtime.NumCPU()), "run `N` files, revisions and transports at the same time")
	flags.StringVar(&f.from, "from", "", "write the first draft of a file from `RECORDING`")
	reach.ConfigFlags(a, flags)
	flags.DurationVar(&a.Launch.Timeout, "timeout", 0, "give up after `DURATION` without a response or progress, such as 30s (default 1m; 2m to connect)")
	flags.StringArrayVar(&a.Launch.Header, "header", nil, "send the header `'NAME: VALUE'` to a URL (repeatable)")
	flags.StringArrayVar(&a.Launch.Env, "env", nil, "set `NAME=VALUE` in the environment of a command (repeatable)")
	return cmd
}

// test runs the cases in the files named on the command line.
func test(a *cli.App, cmd *cobra.Command, args []string, f *testFlags) error {
	files, err := testFiles(a, cmd, args, f)
	if err != nil {
		return err
	}
	f.o.Connect = testTargets(a)
	if !f.tap {
		f.o.OnFile = func(r *cases.FileReport) { showTested(a, r, f.all) }
	}
	began := time.Now()
	reports := cases.Run(cmd.Context(), files, f.o)
	if cmd.Context().Err() != nil {
		return context.Cause(cmd.Context())
	}
	if f.tap {
		if err := cases.WriteTAP(a.Stdout, reports); err != nil {
			return err
		}
	}
	if f.junit != "" {
		var text bytes.Buffer
		if err := cases.WriteJUnit(&text, reports); err != nil {
			return err
		}
		if err := os.WriteFile(a.Path(f.junit), text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("--junit: %w", err)
		}
	}
	n := cases.Count(reports)
	started := true
	for _, r := range reports {
		started = started && r.Err == nil
		if errors.As(r.Err, new(*cli.UsageError)) {
			return r.Err
		}
	}
	if n.Passed+n.Failed == 0 && started {
		if f.names != "" {
			return cli.Usagef("no case has a name that matches %q", f.names)
		}
		return cli.Usagef("no case was run")
	}
	if !f.tap {
		a.Out.Printf("%s, %d failed, %d skipped; %v\n", plaintext.Count(n.Passed, "case")+" passed", n.Failed, n.Skipped, time.Since(began).Round(10*time.Millisecond))
	}
	switch {
	case !started:
		return cli.ErrReported
	case n.Failed > 0:
		return cli.ErrToolFailed
	}
	return nil
}

// testFiles reads the files named on the command line. If the command line also gives a server, it
// replaces the servers named in the files.
func testFiles(a *cli.App, cmd *cobra.Command, args []string, f *testFlags) ([]*cases.File, error) {
	if err := reach.CheckFlags(a); err != nil {
		return nil, err
	}
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		if f.server != "" || dash == len(args) {
			return nil, cli.Usagef("give a server either with --server, or as a command after \"--\"")
		}
		f.o.Server = &cases.Server{Command: args[dash:]}
		if len(args) == dash+1 && launch.At(args[dash]) != nil {
			f.o.Server = &cases.Server{Name: args[dash]}
		}
		args = args[:dash]
	} else if f.server != "" {
		f.o.Server = &cases.Server{Name: f.server}
	}
	var err error
	if f.names != "" {
		if f.o.Names, err = regexp.Compile(f.names); err != nil {
			return nil, cli.Usagef("--run: %w", err)
		}
	}
	if err := cases.CheckRevisions(f.revisions); err != nil {
		return nil, cli.Usagef("--revisions: %w", err)
	}
	if err := cases.CheckTransports(f.transports); err != nil {
		return nil, cli.Usagef("--transports: %w", err)
	}
	f.o.Revisions, f.o.Transports = f.revisions, f.transports
	switch {
	case len(args) == 0:
		return nil, cli.Usagef("%s: expected files of cases, or folders with such files", cmd.CommandPath())
	case f.o.Parallel < 1:
		return nil, cli.Usagef("--parallel: expected a number of at least 1")
	}
	paths, err := cases.Find(a.Paths(args))
	if err != nil {
		return nil, &cli.UsageError{Err: err}
	}
	var files []*cases.File
	var wrong []error
	for _, path := range paths {
		file, err := cases.Load(path)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		files = append(files, file)
	}
	if len(wrong) > 0 {
		return nil, &cli.UsageError{Err: errors.Join(wrong...)}
	}
	return files, nil
}

// showTested prints the outcome of a file. It prints all cases if all is set, else only the failed
// ones.
func showTested(a *cli.App, r *cases.FileReport, all bool) {
	const red, green, plain = "\x1b[31m", "\x1b[32m", "\x1b[0m"
	paint := func(colour, text string) {
		text = plaintext.Clean(text)
		if a.Out.Terminal() && colour != "" {
			fmt.Fprint(a.Stdout, colour+text+plain+"\n") // text is clean already
			return
		}
		a.Out.Printf("%s\n", text)
	}
	for i := range r.Cells {
		cell := &r.Cells[i]
		n := cases.Count([]*cases.FileReport{{Cells: r.Cells[i : i+1]}})
		name := plaintext.Line(r.Path, 500) + " [" + cell.String() + "]"
		switch {
		case cell.Skipped != "":
			a.Out.Printf("skip  %s: %s\n", name, cell.Skipped)
		case n.Failed > 0:
			paint(red, fmt.Sprintf("FAIL  %s: %d of %d cases failed", name, n.Failed, len(cell.Cases)))
		case len(cell.Cases) > 0:
			paint(green, fmt.Sprintf("ok    %s: %s", name, plaintext.Count(n.Passed, "case")+" passed"))
		}
		for _, c := range cell.Cases {
			switch title := plaintext.Line(c.Name, 500); {
			case len(c.Failures) > 0:
				first, runs := alike(r, &c)
				if first < i {
					continue
				}
				where := fmt.Sprintf("line %d", c.Line)
				if runs > 1 {
					where += fmt.Sprintf("; the same in %d runs", runs)
				}
				paint(red, fmt.Sprintf("  FAIL  %s (%s)", title, where))
				for line := range strings.SplitSeq(strings.Join(c.Failures, "\n"), "\n") { // the sign of a diff line selects its color
					paint(map[string]string{"-": red, "+": green}[line[:min(len(line), 1)]], "        "+line)
				}
			case all && c.Skipped != "":
				a.Out.Printf("  skip  %s: %s\n", title, c.Skipped)
			case all:
				a.Out.Printf("  ok    %s (%v)\n", title, c.Took.Round(time.Millisecond))
			}
		}
	}
	for _, path := range r.Wrote {
		a.Out.Printf("wrote %s\n", path)
	}
	for _, path := range r.Removed {
		a.Out.Printf("removed %s, as its case no longer exists\n", path)
	}
	if r.Err != nil && !errors.As(r.Err, new(*cli.UsageError)) {
		paint(red, fmt.Sprintf("FAIL  %s", r.Path))
		a.Screen.Printf("junction: %s: %s\n", r.Path, why.Once(why.Text(r.Err)))
	}
}

// alike finds the runs of the file in which the case failed in the same way. It returns the index
// of the first, and their number.
func alike(r *cases.FileReport, c *cases.CaseReport) (first, runs int) {
	first = -1
	for i := range r.Cells {
		for _, other := range r.Cells[i].Cases {
			if other.Name == c.Name && slices.Equal(other.Failures, c.Failures) {
				if runs++; first < 0 {
					first = i
				}
			}
		}
	}
	return first, runs
}
