package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// binEnv names the folder that the junction binary is built into.
const binEnv = "JUNCTION_DOCS_BIN"

// built builds the binary, once.
var built = sync.OnceValues(func() (string, error) {
	dir := os.Getenv(binEnv)
	command := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir, "./cmd/junction") // without what debuggers read it links in half the time
	command.Dir = root
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	if err := command.Run(); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return dir, os.Symlink(self, filepath.Join(dir, browserName))
})

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == browserName {
		os.Exit(browse(os.Args[len(os.Args)-1]))
	}
	dir, err := os.MkdirTemp("", "junction-docs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv(binEnv, dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// A console example shows commands behind "$ " and what they print. All below one
// heading run one after the other in an empty folder of their own, with nothing
// configured, so that each section can be followed alone. "…" stands for any text, on
// a line of its own for any lines. What the README runs from the source is the
// binary here. The mcp.json, policy.json and files of cases that the section
// shows are in the folder. A tutorial is one section.
// A command that ends in " &" runs until the section ends; the next one begins when it
// has printed what the page says.
func TestConsoleExamples(t *testing.T) {
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		if emptyFolder(t, page) != "" { // TestTutorials follows it
			continue
		}
		sections := map[string][]block{}
		for _, b := range blocks(t, page) {
			if isTutorial(page) {
				b.under = "as a whole"
			}
			if b.kind == "console" || b.kind == "json" && (b.label == configFile || b.label == policyFile) || isCases(b) || isTutorial(page) && b.label != "" {
				sections[b.under] = append(sections[b.under], b)
			}
		}
		for under, section := range sections {
			if !slices.ContainsFunc(section, func(b block) bool { return b.kind == "console" }) {
				continue
			}
			t.Run(filepath.Base(page)+" "+under, func(t *testing.T) {
				t.Parallel()
				follow(t, section, bin)
			})
		}
	}
}

// fits compares what was printed with what a page says. A line … is any lines, or none.
func fits(got, want string) bool {
	pattern := "\n" + regexp.QuoteMeta(strings.TrimSpace(want)) + "\n"
	for strings.Contains(pattern, "\n…\n") {
		pattern = strings.Replace(pattern, "\n…\n", `\n(?:[\s\S]*\n)?`, 1)
	}
	pattern = strings.ReplaceAll(pattern, "…", `.*`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString("\n" + strings.TrimSpace(got) + "\n")
}

// Examples for the shell that cannot be run here call junction with commands
// and flags that exist.
func TestShellExamplesNameCommandsThatExist(t *testing.T) {
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	help := map[string]string{}
	for _, b := range examples(t) {
		if b.kind != "sh" {
			continue
		}
		text := strings.ReplaceAll(b.text, "\\\n", " ")
		for _, line := range strings.Split(text, "\n") {
			words := strings.Fields(strings.TrimPrefix(line, "go run ./cmd/junction"))
			if rest, found := strings.CutPrefix(line, "junction "); found {
				words = strings.Fields(rest)
			} else if !strings.HasPrefix(line, "go run ./cmd/junction") {
				continue
			}
			checkCommand(t, b, filepath.Join(dir, "junction"), words, help)
		}
	}
}

func checkCommand(t *testing.T, b block, binary string, words []string, help map[string]string) {
	t.Helper()
	if len(words) == 0 {
		return
	}
	ask := func(name string) string {
		if _, asked := help[name]; !asked {
			out, err := exec.Command(binary, append(strings.Fields(name), "--help")...).CombinedOutput()
			if err != nil {
				t.Errorf("%s:%d: junction %s: %v", b.page, b.line, name, err)
			}
			help[name] = string(out)
		}
		return help[name]
	}
	name := words[0]
	for _, word := range words[1:] {
		if strings.ContainsAny(word[:1], "-'#") || !strings.Contains(ask(name), "Commands:") {
			break
		}
		name += " " + word
	}
	ask(name)
	for _, word := range words[1:] {
		flag, _, _ := strings.Cut(word, "=")
		if word == "--" || word == "#" {
			return
		}
		if strings.HasPrefix(flag, "--") && !regexp.MustCompile(regexp.QuoteMeta(flag)+`[ =[\n]`).MatchString(help[name]) {
			t.Errorf("%s:%d: junction %s has no flag %s", b.page, b.line, name, flag)
		}
	}
}
