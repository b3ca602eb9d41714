package integration

import (
	"encoding/xml"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exampleCases are the files of cases that docs/testing.md speaks of.
const exampleCases = "../docs/examples/test-filesystem"

// The suites of a run of junction test, as JUnit's XML has them.
type junitSuites struct {
	Suites []struct {
		Name  string `xml:"name,attr"`
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// tested runs the cases against a command, and returns the names of those that passed and failed, sorted, by suite.
func tested(t *testing.T, wantCode int, flags []string, argv ...string) (passed int, failed []string, skipped []string) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.xml")
	arguments := append([]string{"test", exampleCases, "--junit", report}, flags...)
	cmd := exec.Command(junction(t), append(append(arguments, "--"), argv...)...)
	cmd.Env = isolated(t)
	out, err := cmd.CombinedOutput()
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code != wantCode {
		t.Errorf("exit code %d, want %d:\n%s", code, wantCode, out)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	var all junitSuites
	if err := xml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all.Suites {
		for _, c := range s.Cases {
			switch {
			case c.Skipped != nil:
				skipped = append(skipped, s.Name)
			case c.Failure != nil || c.Error != nil:
				failed = append(failed, c.Name)
			default:
				passed++
			}
		}
	}
	slices.Sort(failed)
	return passed, failed, skipped
}

// fileServer is the command that the cases are for; Junction fills in the folder.
func fileServer(t *testing.T) []string {
	return npmServer("@modelcontextprotocol/server-filesystem/dist/index.js", "{{dir}}")(t)
}

func TestTheCasesOfTheDocumentationPassAtEachRevisionOverEachTransport(t *testing.T) {
	junction(t)
	t.Parallel()
	passed, failed, skipped := tested(t, 0, []string{"--revisions", "all", "--transports", "all"}, fileServer(t)...)
	if want := 30 * 4 * 3; passed != want || len(failed) > 0 {
		t.Errorf("%d cases passed, want %d; failed: %q", passed, want, failed)
	}
	for _, name := range skipped {
		if !strings.Contains(name, "["+modern+", ") {
			t.Errorf("skipped: %s", name)
		}
	}
	if len(skipped) != 3*3 { // the server speaks no modern revision
		t.Errorf("skipped: %q", skipped)
	}
}

func TestAServerThatChangedFailsExactlyTheCasesThatAreAboutIt(t *testing.T) {
	t.Parallel()
	junction(t)
	for change, want := range map[string][]string{
		"nothing": nil,
		"result":  {"no file fits a pattern"},
		"tool":    {"a file is moved", "a file is not moved over another", "the tools"},
		"error":   {"a file elsewhere", "a file elsewhere, by way of its folder"},
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			code := min(1, len(want))
			passed, failed, _ := tested(t, code, nil, append([]string{goProgram(t, ".", "./servers/changed"), change}, fileServer(t)...)...)
			if !slices.Equal(failed, want) || passed != 30-len(want) {
				t.Errorf("%d passed, failed: %q, want %q", passed, failed, want)
			}
		})
	}
}

// The draft of a recording passes against the recording, and against the server that was recorded.
func TestADraftOfARealServersRecordingPasses(t *testing.T) {
	junction(t)
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := npmServer("@modelcontextprotocol/server-filesystem/dist/index.js", dir)(t)
	env := isolated(t)
	junctionIn := func(arguments ...string) string {
		cmd := exec.Command(junction(t), arguments...)
		cmd.Env, cmd.Dir = env, dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("junction %q: %v\n%s", arguments, err, out)
		}
		return string(out)
	}
	junctionIn(append([]string{"call", "read_text_file", "path=" + filepath.Join(dir, "a.txt"), "--record", "session.jsonl", "--"}, server...)...)
	junctionIn("test", "--from", "session.jsonl", "draft.yaml")
	junctionIn("test", "draft.yaml", "--update")
	for _, against := range [][]string{nil, append([]string{"--"}, server...)} {
		if out := junctionIn(append([]string{"test", "draft.yaml"}, against...)...); !strings.Contains(out, "2 cases passed, 0 failed") {
			t.Errorf("against %q:\n%s", against, out)
		}
	}
}
