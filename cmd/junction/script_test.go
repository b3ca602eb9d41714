package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the files of testdata/script, side by side. Each has a home of its own, $HOME, and PATH has the binary, as junction.
// A script has these commands in addition to those of testscript:
//
//	junction ARGUMENT… [< FILE]    runs a command line, which succeeds, or fails behind a !
//	exits CODE ARGUMENT… [< FILE]  runs a command line, which ends with this exit code
//	fails CODE ARGUMENT… [< FILE]  does the same, and nothing is on standard output
//	prints TEXT…                   looks for texts in standard output, which is empty where none is given; behind a ! they are not there
//	reports TEXT…                  does the same in standard error
//
// A text is not a regular expression; \n in it is the end of a line.
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("one command after the other")
	}
	t.Parallel()
	bin := t.TempDir()
	if err := os.Symlink(self(t)[0], filepath.Join(bin, "junction")); err != nil {
		t.Skip(err)
	}
	type vars struct{}
	runs := func(ts *testscript.TestScript, args []string) (code int, printed string) {
		stdin := ""
		if n := len(args) - 2; n >= 0 && args[n] == "<" {
			args, stdin = args[:n], ts.ReadFile(args[n+1])
		}
		p := place.Place{Dir: ts.MkAbs(".")}
		for _, pair := range ts.Value(vars{}).([]string) {
			name, _, _ := strings.Cut(pair, "=")
			p.Vars = append(p.Vars, name+"="+ts.Getenv(name))
		}
		var stdout, stderr clitest.SafeBuffer
		code = run(t.Context(), p, args, strings.NewReader(stdin), &stdout, &stderr)
		_, _ = ts.Stdout().Write([]byte(stdout.String()))
		_, _ = ts.Stderr().Write([]byte(stderr.String()))
		return code, stdout.String()
	}
	ends := func(prints bool) func(*testscript.TestScript, bool, []string) {
		return func(ts *testscript.TestScript, _ bool, args []string) {
			want, err := strconv.Atoi(args[0])
			ts.Check(err)
			if code, printed := runs(ts, args[1:]); code != want || printed != "" && !prints {
				ts.Fatalf("it ends with exit code %d", code)
			}
		}
	}
	looks := func(output string) func(*testscript.TestScript, bool, []string) {
		return func(ts *testscript.TestScript, neg bool, texts []string) {
			got := ts.ReadFile(output)
			if len(texts) == 0 && (got == "") == neg {
				ts.Fatalf("it is %q", got)
			}
			for _, text := range texts {
				if strings.Contains(got, strings.ReplaceAll(text, `\n`, "\n")) == neg {
					ts.Fatalf("%q is in it: %t", text, neg)
				}
			}
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			for _, name := range clitest.HomeVariables() {
				e.Setenv(name, filepath.Join(e.WorkDir, ".home"))
			}
			e.Vars = append(e.Vars, asProgram+"=1", asInFolder+"=1", "JUNCTION_KEYRING=off", "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
			e.Values[vars{}] = slices.Clone(e.Vars)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"junction": func(ts *testscript.TestScript, neg bool, args []string) {
				if code, _ := runs(ts, args); (code != 0) != neg {
					ts.Fatalf("it ends with exit code %d", code)
				}
			},
			"exits":   ends(true),
			"fails":   ends(false),
			"prints":  looks("stdout"),
			"reports": looks("stderr"),
		},
	})
}
