package docs_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The first thing that anybody does: the commands at the top of the README, on a
// port of their own.
func TestTheREADMEsFirstCommands(t *testing.T) {
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "junction")
	lines, shown := firstCommands(t)
	if lines[0] != "up" {
		t.Fatalf("the README begins with %q", lines[0])
	}
	home := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	up := exec.CommandContext(ctx, binary, "up", "--http", "127.0.0.1:0")
	up.Dir, up.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	stderr, err := up.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for out := bufio.NewScanner(stderr); !strings.Contains(said.String(), " servers: ") && out.Scan(); {
		said.WriteString(out.Text() + "\n")
	}
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)
	address := url.FindString(said.String())
	if want := url.ReplaceAllString(shown, address); !fits(said.String(), want) {
		t.Errorf("junction up said\n%s\nand the README says\n%s", &said, want)
	}
	for _, line := range lines[1:] {
		line, _, _ = strings.Cut(line, " #")
		words := strings.Fields(url.ReplaceAllString(line, address))
		out, err := exec.CommandContext(ctx, binary, words...).CombinedOutput()
		if err != nil || string(out) != "hello\n" {
			t.Errorf("junction %s printed %q (%v)", strings.Join(words, " "), out, err)
		}
	}
	if err := up.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := up.Wait(); err != nil {
		t.Errorf("junction up, interrupted: %v", err)
	}
}

// firstCommands are the command lines of the README's first example, without
// what stands before them, and what the first of them is said to print.
func firstCommands(t *testing.T) (lines []string, shown string) {
	t.Helper()
	all := blocks(t, filepath.Join(root, "README.md"))
	for _, line := range strings.Split(strings.TrimSpace(all[0].text), "\n") {
		command, found := strings.CutPrefix(line, "go run ./cmd/junction ")
		if !found {
			t.Fatalf("the README's first example has the line %q", line)
		}
		lines = append(lines, command)
	}
	for _, b := range all {
		if b.label == "up" {
			shown = b.text
		}
	}
	return lines, shown
}
