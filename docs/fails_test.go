package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTextsOfFailuresExist finds the texts in the first column of when-it-fails.md in the sources, and its alerts in the rules.
func TestTextsOfFailuresExist(t *testing.T) {
	var sources strings.Builder
	for _, folder := range []string{"apikey", "audit", "cmd", "config", "gateway", "mcp", "internal", "ratelimit", "state", "up"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			sources.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all := sources.String()
	page, err := os.ReadFile("when-it-fails.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("`([^`]+)`")
	alert := regexp.MustCompile(`\bJunction[A-Z]\w+`)
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for _, found := range code.FindAllStringSubmatch(cells[1], -1) {
			rows++
			for _, part := range strings.Split(found[1], "…") {
				if !strings.HasPrefix(part, "/") && !strings.Contains(all, part) {
					t.Errorf("%q is in no source", part)
				}
			}
		}
		for _, name := range alert.FindAllString(cells[1], -1) {
			if !strings.Contains(string(rules), "alert: "+name+"\n") {
				t.Errorf("there is no alert %s", name)
			}
		}
	}
	for _, found := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(string(page), found[1]) {
			t.Errorf("when-it-fails.md lacks the alert %s", found[1])
		}
	}
	if rows < 20 {
		t.Errorf("only %d texts", rows)
	}
}
