// Package docs_test keeps the documentation true: every example on a page is
// compiled or run, and every link leads somewhere. How an example is marked is
// in CONTRIBUTING.md.
package docs_test

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = ".."

// A block is a fenced example on a page.
type block struct {
	page  string // path from the root
	line  int
	under string // the heading above
	kind  string // the language behind the fence
	label string // what else stands there, such as the name of a file
	text  string
}

// inExamples is the beginning of the label of a block that is a file in the repository.
const inExamples = "docs/examples/"

// file returns the name of the file that the label of a block names, in the folder of a reader. That of
// docs/examples/NAME/mcp.json is mcp.json.
func (b block) file() string {
	if rest, is := strings.CutPrefix(b.label, inExamples); is {
		_, name, _ := strings.Cut(rest, "/")
		return name
	}
	return b.label
}

// chineseReadme is the README in Chinese. Like docs/zh, it has the examples of the English pages.
var chineseReadme = filepath.Join(root, "README.zh-CN.md")

// pages are the Markdown files that users read, in English.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	top = slices.DeleteFunc(top, func(page string) bool { return page == chineseReadme })
	return append(top, found...)
}

// blocks reads the examples of a page.
func blocks(t *testing.T, page string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	var open *block
	var body []string
	under := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		fence, found := strings.CutPrefix(line, "```")
		switch {
		case open != nil && line == "```":
			open.text = strings.Join(body, "\n") + "\n"
			all, open, body = append(all, *open), nil, nil
		case open != nil:
			body = append(body, line)
		case found:
			kind, label, _ := strings.Cut(fence, " ")
			open = &block{page: page, line: n, under: under, kind: kind, label: label}
		case strings.HasPrefix(line, "#"):
			under = strings.TrimLeft(line, "# ")
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if open != nil {
		t.Errorf("%s:%d: the example has no end", page, open.line)
	}
	return all
}

// examples are the blocks of all pages.
func examples(t *testing.T) []block {
	t.Helper()
	var all []block
	for _, page := range pages(t) {
		all = append(all, blocks(t, page)...)
	}
	return all
}

func TestEveryExampleIsOfAKindThatIsChecked(t *testing.T) {
	kinds := map[string]bool{"go": true, "console": true, "sh": true, "json": true, "yaml": true, "text": true}
	for _, b := range examples(t) {
		if !kinds[b.kind] {
			t.Errorf("%s:%d: ```%s: use go, console, sh, json, yaml or, for what is no example, text", b.page, b.line, b.kind)
		}
	}
}

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func TestLinksLeadSomewhere(t *testing.T) {
	all := append(pages(t), chineseIndex)
	for _, pair := range translations(t) {
		all = append(all, pair.zh)
	}
	for _, page := range all {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text = fenced.ReplaceAll(text, nil)
		for _, found := range link.FindAllSubmatch(text, -1) {
			to := string(found[1])
			if strings.Contains(to, "://") {
				continue
			}
			name, anchor, _ := strings.Cut(to, "#")
			target := page
			if name != "" {
				target = filepath.Join(filepath.Dir(page), name)
			}
			there, err := os.ReadFile(target)
			if err != nil {
				if info, err := os.Stat(target); err != nil || !info.IsDir() {
					t.Errorf("%s: link to %s: %v", page, to, err)
				}
				continue
			}
			if anchor != "" && !hasHeading(there, anchor) {
				t.Errorf("%s: link to %s: there is no such heading", page, to)
			}
		}
	}
}

func hasHeading(page []byte, anchor string) bool { return slices.Contains(headings(page), anchor) }

// headings returns the anchors of the headings of a page.
func headings(page []byte) []string {
	var all []string
	for _, h := range heading.FindAllSubmatch(fenced.ReplaceAll(page, nil), -1) {
		slug := dropped.ReplaceAllString(strings.ToLower(string(h[1])), "")
		all = append(all, strings.ReplaceAll(slug, " ", "-"))
	}
	return all
}
