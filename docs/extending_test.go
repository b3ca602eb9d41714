package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who follows the page gets programs that are short, and print what the page says.
func TestTheProgramsThatExtendTheHost(t *testing.T) {
	const most = 40 // lines, less than
	page, err := os.ReadFile("extending.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"tool": "100 °C <nil>", "step": "before step 2: one step is enough for this program", "command": "42 <nil>", "provider": "HELLO <nil>",
	} {
		folder := "examples/extend-" + name
		text, err := os.ReadFile(filepath.Join(folder, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); lines >= most {
			t.Errorf("%s has %d lines, not less than %d", folder, lines, most)
		}
		if got := goTool(t, "run", "./docs/"+folder); got != want+"\n" {
			t.Errorf("%s printed %q, want %q", folder, got, want)
		}
		if !strings.Contains(string(page), "docs/"+folder+"/main.go\n") || !strings.Contains(string(page), "It prints `"+want+"`") {
			t.Errorf("the page does not show %s and what it prints", folder)
		}
	}
}
