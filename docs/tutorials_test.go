package docs_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exampleFolder returns the folder with the files that a reader of a tutorial has at its end.
func exampleFolder(page string) string {
	return "docs/examples/" + strings.TrimSuffix(filepath.Base(page), ".md")
}

var makesFolder = regexp.MustCompile(`(?m)^mkdir ([a-z]+) && cd [a-z]+$`)

// emptyFolder returns the name of the folder that the top of a tutorial makes, or "" if a page
// makes none. Such a tutorial is followed from its top to its end in that folder.
func emptyFolder(t *testing.T, page string) string {
	t.Helper()
	for _, b := range blocks(t, page) {
		if found := makesFolder.FindStringSubmatch(b.text); b.kind == "sh" && found != nil {
			return found[1]
		}
	}
	return ""
}

// needsBrowser are the tutorials whose commands need parts of the integration layer, which runs them.
var needsBrowser = []string{"tutorial-browser.md"}

// TestTutorials follows each tutorial as its reader does: from an empty folder, next to a
// clone of the repository, with all commands and files in the order of the page. At the end
// the folder has the files of the page's folder in docs/examples.
func TestTutorials(t *testing.T) {
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		folder := emptyFolder(t, page)
		if folder == "" {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			if slices.Contains(needsBrowser, filepath.Base(page)) && os.Getenv("JUNCTION_TUTORIAL_BROWSER") == "" {
				t.Skip("the integration layer runs it")
			}
			t.Parallel()
			c := newTerminal(t, bin)
			c.dir = filepath.Join(c.home, folder)
			c.env = goEnvironment(t)
			c.clone(t, page)
			if err := os.Mkdir(c.dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for _, b := range blocks(t, page) {
				name := strings.TrimPrefix(b.label, exampleFolder(page)+"/")
				switch {
				case b.kind == "console":
					c.followBlock(t, b)
				case b.kind != "sh" && filepath.Ext(name) != "":
					c.save(t, name, b.text)
				}
			}
			c.compareFiles(t, filepath.Join(root, exampleFolder(page)))
		})
	}
}

// clone makes the folder junction, which a reader clones: a link to this one, or only the page's
// examples, with free ports, if the page copies them.
func (c *terminal) clone(t *testing.T, page string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	folder := exampleFolder(page)
	if !strings.Contains(string(text), "../junction/"+folder) {
		whole, err := filepath.Abs(root)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(whole, filepath.Join(c.home, "junction")); err != nil {
			t.Fatal(err)
		}
		return
	}
	copied := *c
	copied.dir = filepath.Join(c.home, "junction", folder)
	err = filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(filepath.Join(root, folder), path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		copied.save(t, name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// goEnvironment returns the variables with which the go command builds without a network.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	names := []string{"GOCACHE", "GOMODCACHE", "GOFLAGS", "GOTOOLCHAIN"}
	out, err := exec.Command("go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"GOPROXY=off"}
	for i, value := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		env = append(env, names[i]+"="+value)
	}
	return env
}

// compareFiles reports each file of a folder that the reader's folder lacks, or has with another text.
func (c *terminal) compareFiles(t *testing.T, folder string) {
	t.Helper()
	found := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		found++
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(c.dir, name))
		if err != nil {
			t.Errorf("%s: the page makes no such file: %v", path, err)
		} else if string(got) != c.local.Replace(string(want)) {
			t.Errorf("%s differs from the file that the page makes:\n%s", path, got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found == 0 {
		t.Errorf("%s is empty", folder)
	}
}

// TestTutorialsAreShort holds each tutorial to one sitting: its length, and numbered steps.
func TestTutorialsAreShort(t *testing.T) {
	const fewest, most = 120, 220
	for _, page := range pages(t) {
		if emptyFolder(t, page) == "" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(string(text), "\n")
		for _, b := range blocks(t, page) {
			if b.kind == "go" { // the files of a program are as long as they are
				lines -= strings.Count(b.text, "\n")
			}
		}
		if lines < fewest || lines > most {
			t.Errorf("%s has %d lines without its programs, expected %d to %d", page, lines, fewest, most)
		}
		step := 0
		for _, h := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(string(text), -1) {
			if number := regexp.MustCompile(`^\d+`).FindString(h[1]); number != "" {
				step++
			}
		}
		if step < 3 {
			t.Errorf("%s has %d numbered steps", page, step)
		}
	}
}

// namesTools matches a command that lists named tools of a server, which is in full everywhere.
var namesTools = regexp.MustCompile(`^junction (list )?tools [a-z]+ [a-z_]+`)

// TestExamplesPrintTheSameOnATerminal: tests run the examples without a terminal, and readers run
// them on one. There, lists of tools are short, and a question waits for its answer.
func TestExamplesPrintTheSameOnATerminal(t *testing.T) {
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.kind != "console" {
				continue
			}
			for _, part := range strings.Split("\n"+b.text, "\n$ ")[1:] {
				command, printed, _ := strings.Cut(part, "\n")
				switch inFull := strings.Contains("\n"+printed, "\n    "); {
				case strings.Contains(command, "|") || strings.Contains(command, "--json") || namesTools.MatchString(command):
				case inFull && strings.HasPrefix(command, "junction list tools") && !strings.Contains(command, "--long"):
					t.Errorf("%s:%d: $ %s prints one line for each tool on a terminal; add --long", b.page, b.line, command)
				case strings.HasPrefix(filepath.Base(page), "tutorial-") && (strings.Contains(printed, "no user can allow it") || strings.Contains(printed, "was allowed in advance")) && !strings.Contains(part, "</dev/null"):
					t.Errorf("%s:%d: $ %s asks on a terminal; add </dev/null", b.page, b.line, command)
				}
			}
		}
	}
}
