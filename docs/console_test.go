package docs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// binEnv names the folder that the junction binary is built into.
const binEnv = "JUNCTION_DOCS_BIN"

// built builds the binary, once.
var built = sync.OnceValues(func() (string, error) {
	dir := os.Getenv(binEnv)
	command := exec.Command("go", "build", "-o", dir, "./cmd/junction")
	command.Dir = root
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	return dir, command.Run()
})

func TestMain(m *testing.M) {
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

// A console example shows commands behind "$ " and what they print. All of a
// page run one after the other in an empty folder, with nothing configured. "…"
// stands for any text, on a line of its own for any lines. What the README runs
// from the source is the binary here. A page's policy.json is in the folder.
func TestConsoleExamplesPrintWhatTheySay(t *testing.T) {
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		var shown []block
		for _, b := range blocks(t, page) {
			if b.kind == "console" {
				shown = append(shown, b)
			}
		}
		if len(shown) == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			home := t.TempDir()
			for _, b := range blocks(t, page) {
				if b.label != policyFile {
					continue
				}
				if err := os.WriteFile(filepath.Join(home, b.label), []byte(b.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for _, b := range shown {
				runConsole(t, b, home, dir)
			}
		})
	}
}

func runConsole(t *testing.T, b block, home, bin string) {
	t.Helper()
	for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
		line, want, _ := strings.Cut(part, "\n")
		for strings.HasSuffix(line, `\`) {
			var more string
			more, want, _ = strings.Cut(want, "\n")
			line += "\n" + more
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		command := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(line, "go run ./cmd/junction", "junction"))
		command.Dir = home
		command.Env = []string{"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "COLUMNS=80"}
		out, _ := command.CombinedOutput() // the exit code is shown where it matters
		cancel()
		if got := string(out); !fits(got, want) {
			t.Errorf("%s:%d: $ %s\nprinted\n%s\nand the page says\n%s", b.page, b.line, line, got, want)
		}
	}
}

// fits compares what was printed with what a page says.
func fits(got, want string) bool {
	pattern := regexp.QuoteMeta(strings.TrimSpace(want))
	pattern = regexp.MustCompile(`(?m)^…$`).ReplaceAllString(pattern, `[\s\S]*`)
	pattern = strings.ReplaceAll(pattern, "…", `.*`)
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(strings.TrimSpace(got))
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
	if strings.Contains(ask(name), "Available Commands:") && len(words) > 1 {
		name += " " + words[1]
		ask(name)
	}
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
