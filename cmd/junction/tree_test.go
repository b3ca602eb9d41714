package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/fields/fieldstest"
	"github.com/junction-mcp/junction/launch"
)

var update = flag.Bool("update", false, "write the table of commands in docs/cli.md")

const maxWords = 22 // that junction --help lists

func TestHelpHasAFewWordsInGroups(t *testing.T) {
	t.Parallel()
	help := runs(t, "", "--help").stdout
	words, heading := 0, ""
	for _, b := range tree() {
		if b.group == "" {
			continue
		}
		words++
		if b.group != heading {
			heading = b.group
			_, rest, found := strings.Cut(help, "\n"+heading+"\n")
			if help = rest; !found {
				t.Fatalf("there is no heading %q where it belongs in\n%s", heading, help)
			}
		}
		line, rest, _ := strings.Cut(help, "\n")
		if help = rest; !strings.HasPrefix(line, "  "+b.path+" ") {
			t.Errorf("%s: got the line %q", b.path, line)
		}
	}
	if words > maxWords {
		t.Errorf("junction --help lists %d words, at most %d can be learned", words, maxWords)
	}
	if !strings.HasPrefix(help, "\njunction COMMAND --help ") {
		t.Errorf("behind the words stands\n%s", help)
	}
}

// oldLines are command lines behind the old name of a command, one of each kind of end.
var oldLines = map[string][]string{
	"tools":         {"everything --json", "--config mcp.json", "every add --config mcp.json", "everything nothing", "nothing --json", "--all everything", "--bogus"},
	"resources":     {"everything", "everything --json"},
	"templates":     {"everything", "nothing"},
	"prompts":       {"everything", "everything x"},
	"skills":        {"everything", "everything nothing"},
	"read":          {"everything everything://text", "everything", "everything everything://nothing --json"},
	"prompt":        {"everything travel country=Norway", "everything", "everything nothing"},
	"complete":      {"everything travel country=F", "everything"},
	"conversations": {"", "list", "list --json", "show last", "delete", "nothing"},
	"add":           {"", "./nothing --yes", "http://127.0.0.1:1/mcp --yes", "a b"},
	"remove":        {"", "nothing", "every --config mcp.json"},
	"search":        {"", "files --offline"},
	"info":          {"", "nothing --offline"},
	"upgrade":       {"", "nothing", "--yes --config mcp.json", "--json"},
	"outdated":      {"", "--json", "--all --config mcp.json", "nothing"},
	"audit-deps":    {"", "--json --config mcp.json", "nothing"},
	"approve":       {"", "nothing"},
	"sandbox":       {"", "show", "show every --config mcp.json", "allow", "nothing"},
	"ping":          {"", "everything --json", "nothing"},
	"install":       {"", "nothing", "--config mcp.json"},
	"publish":       {"", "extra"},
	"connect":       {"", "nothing", "cursor --yes"},
	"disconnect":    {"", "cursor", "--all"},
	"import":        {"", "nothing", "cursor --yes"},
	"tap":           {"", "--list", "nothing"},
	"restart":       {"", "nothing"},
	"approvals":     {"", "list", "list --json", "approve nothing", "nothing"},
	"service":       {"", "install --print", "nothing"},
}

// Each old name and its new one end alike, print alike and leave the same files.
func TestOldNamesAreAliases(t *testing.T) {
	if testing.Short() {
		t.Skip("one command after the other")
	}
	t.Parallel()
	for _, b := range tree() {
		if b.old == "" {
			continue
		}
		if len(oldLines[b.old]) == 0 {
			t.Errorf("%s: there is no command line of it", b.old)
		}
		lines := oldLines[b.old]
		if !strings.Contains(b.path, "--") {
			lines = append(slices.Clone(lines), "--help")
		}
		t.Run(b.old, func(t *testing.T) {
			t.Parallel()
			for _, line := range lines {
				old, now := apart(t, b.old+" "+line), apart(t, b.path+" "+line)
				command, _, _ := strings.Cut(b.path, " --")
				named := strings.NewReplacer("junction "+command, "junction "+b.old, "help for "+b.path[strings.LastIndex(b.path, " ")+1:], "help for "+b.old)
				for _, text := range []*string{&old.stdout, &old.stderr, &now.stdout, &now.stderr} { // help names the new one under both
					*text = named.Replace(*text)
				}
				if old != now {
					t.Errorf("junction %s %s: got %d, %q, want %d, %q\n%s\nwant\n%s\nfiles\n%s\nwant\n%s", b.path, line, now.code, now.stderr, old.code, old.stderr, now.stdout, old.stdout, now.files, old.files)
				}
			}
		})
	}
}

// hashed finds hashes of paths in the names of files.
var hashed = regexp.MustCompile(`[0-9a-f]{16,}`)

// apart runs a junction in a process and home of its own, and returns the names of the files that it leaves, too.
func apart(t *testing.T, line string) (o struct {
	outcome
	files string
}) {
	t.Helper()
	home := t.TempDir()
	program := self(t)[0]
	for name, text := range map[string]string{
		"mcp.json":         fmt.Sprintf(`{"mcpServers": {"every": {"command": %q, "args": ["serve", "everything"]}}}`, program),
		".cursor/mcp.json": `{"mcpServers": {"notes": {"command": "run-notes"}}}`,
	} {
		path := filepath.Join(home, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(clitest.In(t, filepath.Dir(path)), 0o700), os.WriteFile(clitest.In(t, path), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := clitest.PlaceOf(t).Command(t.Context(), program, strings.Fields(line)...)
	cmd.Dir = home
	cmd.Env = append(clitest.PlaceOf(t).Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home+"/config", "XDG_CACHE_HOME="+home+"/cache", "APPDATA="+home, "LOCALAPPDATA="+home)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	own := strings.NewReplacer(home, "HOME")
	o.outcome = outcome{cmd.ProcessState.ExitCode(), own.Replace(stdout.String()), own.Replace(stderr.String())}
	_ = filepath.WalkDir(home, func(path string, _ os.DirEntry, err error) error {
		o.files += hashed.ReplaceAllString(strings.TrimPrefix(path, home), "HASH") + "\n"
		return err
	})
	return o
}

// A word that the tree has makes only the commands below it; any other line makes all of them.
func TestOnlyCommandsThatWordsReachAreMade(t *testing.T) {
	t.Parallel()
	made := func(words ...string) int { return len(root(new(cli.App), words).Commands()) }
	all := made()
	for _, words := range [][]string{{"--help"}, {"help", "list"}, {"__complete", "list", ""}, {"completion", "bash"}, {"--config", "list", "list"}, {"nothing"}} {
		if n := made(words...); n != all {
			t.Errorf("%q: %d commands of %d", words, n, all)
		}
	}
	for _, b := range tree() {
		top, _, _ := strings.Cut(b.path, " ")
		for _, word := range []string{top, b.old} {
			if n := made(word); n != 1 && word != "" {
				t.Errorf("%q: %d commands", word, n)
			}
		}
	}
}

func TestUpgradeCheckChangesNothing(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"--check --vulnerable", "--all", "--json", "--vulnerable --all", "--check --yes", "--vulnerable --scripts"} {
		runs(t, "", append([]string{"server", "upgrade"}, strings.Fields(line)...)...).expect(t, cli.ExitUsage, strings.Repeat("{", strings.Count(line, "json")), "--check")
	}
}

// Values of flags are completed under each name of a command.
func TestValuesAreCompletedUnderEachName(t *testing.T) {
	t.Parallel()
	config := configuration(t, map[string]any{"notes": map[string]any{"command": "run-it"}})
	for _, line := range [][]string{
		{"tap", ""}, {"host", "tap", ""}, {"connect", ""}, {"host", "connect", ""},
	} {
		if got := runs(t, "", append([]string{"__complete"}, line...)...); !strings.Contains(got.stdout, "cursor\tCursor\n") {
			t.Errorf("%q: %+v", line, got)
		}
	}
	for _, line := range [][]string{{"read", "--config", config, ""}, {"get", "resource", "--config", config, ""}, {"list", "--config", config, ""}} {
		if got := runs(t, "", append([]string{"__complete"}, line...)...); !strings.Contains(got.stdout, "notes\t") {
			t.Errorf("%q: %+v", line, got)
		}
	}
	if got := runs(t, "", "__complete", "audit", "query", "--server", ""); !strings.HasSuffix(got.stdout, ":4\n") {
		t.Errorf("audit query completes names of files: %+v", got)
	}
	if got := runs(t, "", "__complete", "list", ""); !strings.Contains(got.stdout, "tools\t") {
		t.Errorf("list: %+v", got)
	}
}

func TestThePageOfTheCommandLineHasTheTree(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	root := root((&cli.App{Place: clitest.PlaceOf(t)}), nil)
	for _, b := range tree() {
		c, _, err := root.Find(strings.Fields(b.path))
		if err != nil || b.path == launch.RenewCommand || b.path == up.CopyProgram {
			continue
		}
		old, short := "", c.Short
		if b.old != "" {
			old = "`" + b.old + "`"
			if c, _, err := root.Find([]string{b.old}); err == nil {
				short = c.Short
			}
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", b.path, short, old)
	}
	fieldstest.Page(t, filepath.Join("..", "..", "docs", "cli.md"), "| command | does | also |", rows.String(), *update)
}
