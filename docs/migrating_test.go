package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var portRow = regexp.MustCompile(`(?m)^\| \[[^]]+\]\(([^)]+)\) \| [^|]+ \| (\d+) \| (\d+) \|$`)

// The ported examples need at most half the lines of their originals, which are
// public; theirs were counted in the same way.
func TestPortedExamplesAreHalfAsLong(t *testing.T) {
	page, err := os.ReadFile("migrating.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := portRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) != 4 {
		t.Fatalf("migrating.md has %d ported examples", len(rows))
	}
	for _, row := range rows {
		source, err := os.ReadFile(filepath.FromSlash(row[1]))
		if err != nil {
			t.Fatal(err)
		}
		original, _ := strconv.Atoi(row[2])
		said, _ := strconv.Atoi(row[3])
		if got := codeLines(string(source)); got != said || 2*got > original {
			t.Errorf("%s: %d lines, the page says %d, and the original has %d", row[1], got, said, original)
		}
	}
}

// Redescribing a tool of somebody else's server is a matter of a few lines.
func TestRedescribingAToolTakesAtMost12Lines(t *testing.T) {
	for _, b := range blocks(t, "server.md") {
		if strings.Contains(b.text, "middleware.EditTools(") {
			if n := codeLines(b.text); n > 12 {
				t.Errorf("%s:%d: %d lines", b.page, b.line, n)
			}
			return
		}
	}
	t.Error("server.md does not show how to redescribe a tool")
}

// codeLines counts the lines that are neither blank nor comments.
func codeLines(source string) (n int) {
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}
