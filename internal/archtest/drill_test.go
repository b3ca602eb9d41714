package archtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// maxDrill and maxMedian limit the number of files of each change of the drill, and of the median.
const (
	maxDrill  = 6
	maxMedian = 4
)

// otherModules are the folders with modules of their own.
var otherModules = []string{"bench", "deploy", "integration"}

// TestDrill makes typical changes, which testdata/drill has, in an overlay of the tree, and counts
// the files of each. All must compile together. CHANGELOG.md, which belongs to each change, and
// files that a test writes are not counted.
//
// A change is a txtar file. Its comment contains its description, the generated files, and the
// number of files that it needed in November 2026, before the tables that it uses. A file that
// begins with ">>> BEGINNING" is changed: its lines are inserted after the only line with that
// beginning, or at the end for EOF. After ">>> instead of BEGINNING" they replace that line. Any
// other file is new. A line "runs: PACKAGE TEST" of the comment names a test that must pass with
// all changes. Files of other modules are counted, and not compiled.
func TestDrill(t *testing.T) {
	files, err := filepath.Glob("testdata/drill/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no changes: %v", err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	edited := map[string]string{} // by path, for all changes together
	packages := map[string]bool{"./cmd/junction": true}
	var counts []int
	var runs [][]string // packages and tests
	var table strings.Builder
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		comment := strings.Split(string(archive.Comment), "\n")
		for _, f := range archive.Files {
			text, err := changed(root, f, edited[f.Name])
			if err != nil {
				t.Errorf("%s: %s: %v", file, f.Name, err)
			}
			if edited[f.Name] = text; strings.HasSuffix(f.Name, ".go") && !slices.Contains(otherModules, strings.Split(f.Name, "/")[0]) {
				packages["./"+path.Dir(f.Name)] = true
			}
		}
		n := len(archive.Files)
		counts = append(counts, n)
		before := ""
		for _, line := range comment {
			if number, is := strings.CutPrefix(line, "before: "); is {
				before = number
			}
			if run, is := strings.CutPrefix(line, "runs: "); is {
				runs = append(runs, strings.Fields(run))
			}
		}
		fmt.Fprintf(&table, "| %s | %s | %d |\n", strings.TrimSuffix(comment[0], "."), before, n)
		if n > maxDrill {
			t.Errorf("%s is in %d files, and %d are the most", file, n, maxDrill)
		}
	}
	slices.Sort(counts)
	if median := counts[len(counts)/2]; median > maxMedian {
		t.Errorf("half of the changes are in %d files, and %d are the most", median, maxMedian)
	}
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "| change | files before the tables | now |\n|---|--:|--:|\n"+table.String()) {
		t.Errorf("CONTRIBUTING.md has another table than\n%s", table.String())
	}
	if !t.Failed() {
		compile(t, root, edited, packages, runs)
	}
}

// changed returns a file with a change applied. before is the file after other changes, or empty.
func changed(root string, f txtar.File, before string) (string, error) {
	change := string(f.Data)
	if !strings.HasPrefix(change, ">>> ") {
		return change, nil
	}
	if before == "" {
		data, err := os.ReadFile(filepath.Join(root, f.Name))
		if err != nil {
			return "", err
		}
		before = string(data)
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(change, ">>> "), "\n>>> ") {
		beginning, added, _ := strings.Cut(part, "\n")
		added = strings.TrimSuffix(added, "\n") + "\n"
		if beginning == "EOF" {
			before += added
			continue
		}
		beginning, instead := strings.CutPrefix(beginning, "instead of ")
		at := strings.Index("\n"+before, "\n"+beginning)
		if at < 0 || strings.Contains("\n"+before[at+1:], "\n"+beginning) {
			return "", fmt.Errorf("not exactly one line begins with %q", beginning)
		}
		end := at + strings.Index(before[at:], "\n") + 1
		if !instead {
			at = end
		}
		before = before[:at] + added + before[end:]
	}
	return before, nil
}

// compile compiles packages with the edited files, and their tests, and runs some.
func compile(t *testing.T, root string, edited map[string]string, packages map[string]bool, runs [][]string) {
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for name, text := range edited {
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		copied := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, filepath.FromSlash(name))] = copied
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, data, 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "no tests to run") {
			t.Errorf("the changes together: go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	run(append([]string{"list", "-export", "-test", "-overlay", list}, slices.Sorted(maps.Keys(packages))...)...)
	for _, r := range runs {
		run("test", "-overlay", list, "-run", "^"+r[1]+"$", r[0])
	}
}
