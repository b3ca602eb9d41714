package migrate

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata")

// Each archive of testdata holds Go files, the files in want/ that they become, and the report.
func TestTagsAreRewritten(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) { testArchive(t, path) })
	}
}

func testArchive(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	wanted := map[string]string{}
	var kept []txtar.File
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "want/") || f.Name == "report" {
			wanted[f.Name] = string(f.Data)
			continue
		}
		kept = append(kept, f)
		if err := os.MkdirAll(filepath.Join(folder, filepath.Dir(f.Name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{"report": run(t, folder, true)}
	for _, f := range kept {
		text, err := os.ReadFile(filepath.Join(folder, f.Name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(text, f.Data) {
			got["want/"+f.Name] = string(text)
		}
	}
	if *update {
		for _, name := range []string{"want/in.go", "report"} {
			kept = append(kept, txtar.File{Name: name, Data: []byte(got[name])})
		}
		archive.Files = kept
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(got) != len(wanted) {
		t.Errorf("%d files, %d are expected", len(got), len(wanted))
	}
	for name, want := range wanted {
		if got[name] != want {
			t.Errorf("%s is\n%s\nexpected\n%s", name, got[name], want)
		}
	}
	if again := run(t, folder, true); !strings.Contains(again, "\n0 tags in 0 files") && !strings.HasPrefix(again, "0 tags in 0 files") {
		t.Errorf("a second run reports\n%s", again)
	}
}

// run runs the command in a folder, and returns its report without the folder's name.
func run(t *testing.T, folder string, write bool) string {
	t.Helper()
	var report, difference bytes.Buffer
	err := Run([]string{folder}, Options{Write: write, Report: &report, Diff: &difference})
	if left := strings.Contains(report.String(), ".go:") || strings.Contains(report.String(), " left, "); err != nil && !errors.Is(err, ErrLeft) || errors.Is(err, ErrLeft) && !left {
		t.Error(err)
	}
	return strings.ReplaceAll(report.String(), folder+string(filepath.Separator), "")
}

func TestWithoutWriteFilesStay(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "in.go")
	source := "package p\n\ntype In struct {\n\tA string `jsonschema:\"text\"`\n}\n"
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	var report, difference bytes.Buffer
	if err := Run([]string{folder}, Options{Report: &report, Diff: &difference}); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != source {
		t.Errorf("the file is now\n%s", text)
	}
	for _, want := range []string{"-\tA string `jsonschema:\"text\"`\n", "+\tA string `doc:\"text\"`\n"} {
		if !strings.Contains(difference.String(), want) {
			t.Errorf("the difference lacks %q:\n%s", want, difference.String())
		}
	}
	if want := "1 tags in 1 files would be rewritten; -w writes the files\n"; report.String() != want {
		t.Errorf("the report is %q, expected %q", report.String(), want)
	}
}

// A folder that a run leaves is rewritten when it is the only one.
func TestAFolderWithoutAnSDKIsRewrittenAlone(t *testing.T) {
	folder := t.TempDir()
	tool, config := filepath.Join(folder, "tool"), filepath.Join(folder, "config")
	for path, source := range map[string]string{
		tool:   "package p\n\nimport \"github.com/modelcontextprotocol/go-sdk/mcp\"\n\nvar _ mcp.Tool\n",
		config: "package p\n\ntype In struct {\n\tA string `jsonschema:\"text\"`\n}\n",
	} {
		if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(filepath.Join(path, "in.go"), []byte(source), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{folder, config} {
		var report bytes.Buffer
		err := Run([]string{path}, Options{Write: true, Report: &report})
		if isLeft := errors.Is(err, ErrLeft); isLeft != (path == folder) {
			t.Errorf("%s: %v\n%s", path, err, report.String())
		}
	}
	if text, _ := os.ReadFile(filepath.Join(config, "in.go")); !strings.Contains(string(text), `doc:"text"`) {
		t.Errorf("the file is\n%s", text)
	}
}

func TestFilesThatCannotBeReadAreErrors(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "in.go"), []byte("package p // jsonschema\n\ntype {"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, filepath.Join(folder, "absent")} {
		if err := Run([]string{path}, Options{Report: new(bytes.Buffer), Diff: new(bytes.Buffer)}); err == nil {
			t.Errorf("no error for %s", path)
		}
	}
}

func TestMultipleOfBecomesATag(t *testing.T) {
	t.Skip("first issue: give shape.go and tags.go of internal/schema a tag multipleOf for numbers, add it to ours and keywords in tags.go here and to docs/server.md, take it from the keywords without a tag in testdata/left.txtar and docs/migrating.md, bring the pages in docs/zh up to date, and remove this line")
	rewritten, _, problems, err := Source("in.go", []byte("package p\n\ntype In struct {\n\tN int `json:\"n\" jsonschema:\"multipleOf=5\"`\n}\n"), false)
	if err != nil || len(problems) > 0 || !strings.Contains(string(rewritten), `multipleOf:"5"`) {
		t.Errorf("%s\n%v, %v", rewritten, problems, err)
	}
}

// Rewritten files are Go, a second run changes nothing, and no text gets lost.
func FuzzSource(f *testing.F) {
	for _, text := range []string{`jsonschema:"required,description=a\\, b,enum=x"`, `json:"a" mcp:"t"`, `jsonschema:"multipleOf=5,description=,,"`, `x:"`} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, optional bool) {
		source := []byte("package p\n\ntype In struct {\n\tA string " + literal(text) + "\n}\n")
		once, _, _, err := Source("in.go", source, optional)
		if err != nil {
			return
		}
		twice, tags, _, err := Source("in.go", once, optional)
		if err != nil || tags != 0 || !bytes.Equal(once, twice) {
			t.Errorf("%q becomes\n%s\nand then (%v)\n%s", text, once, err, twice)
		}
	})
}
