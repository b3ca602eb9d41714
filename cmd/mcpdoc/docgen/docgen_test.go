package docgen

import (
	"bytes"
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata")

// Each archive of testdata holds a package, and what comes of it: the file
// mcp_docs.go, or the file error.
func TestGeneratedFilesAreAsExpected(t *testing.T) {
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
	input := map[string][]byte{}
	wanted := map[string]string{}
	var kept []txtar.File
	for _, f := range archive.Files {
		if f.Name == FileName || f.Name == "error" {
			wanted[f.Name] = string(f.Data)
			continue
		}
		input[f.Name] = f.Data
		kept = append(kept, f)
	}
	got := map[string]string{}
	for range 2 { // the second time maps are walked in another order
		source, err := Generate(input)
		if err != nil {
			got["error"] = err.Error() + "\n"
		} else if source != nil {
			got[FileName] = string(source)
		}
	}
	if *update {
		for name, text := range got {
			kept = append(kept, txtar.File{Name: name, Data: []byte(text)})
		}
		archive.Files = kept
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, name := range []string{FileName, "error"} {
		if got[name] != wanted[name] {
			t.Errorf("%s is\n%s\nwant\n%s", name, got[name], wanted[name])
		}
	}
	if formatted, err := format.Source([]byte(got[FileName])); err == nil && string(formatted) != got[FileName] {
		t.Error("the generated file is not formatted by gofmt")
	}
}

func TestWriteAndCheckKeepTheDirectoryInStep(t *testing.T) {
	directory := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("a.go", "package a\n\n// In is asked.\ntype In struct{}\n")
	put("a_test.go", "package a_test\n")
	if err := Check(directory); err == nil || !strings.Contains(err.Error(), "run go generate") {
		t.Fatalf("Check of a missing file: %v", err)
	}
	for range 2 { // the second run reads the file of the first
		if err := Write(directory); err != nil {
			t.Fatal(err)
		}
		if err := Check(directory); err != nil {
			t.Fatal(err)
		}
	}
	put("a.go", "package a\n\ntype In struct{}\n")
	if err := Write(directory); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(directory, FileName)); !os.IsNotExist(err) {
		t.Fatalf("the stale file is still there: %v", err)
	}
	if err := Check(directory); err != nil {
		t.Fatal(err)
	}
}

func TestWriteLeavesFilesOfOthersAlone(t *testing.T) {
	directory := t.TempDir()
	mine := []byte("package a\n\n// In is mine.\ntype In struct{}\n")
	name := filepath.Join(directory, FileName)
	if err := os.WriteFile(name, mine, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(directory); err == nil || !strings.Contains(err.Error(), "was not written by mcpdoc") {
		t.Fatalf("Write: %v", err)
	}
	if text, _ := os.ReadFile(name); !bytes.Equal(text, mine) {
		t.Fatalf("the file is now %s", text)
	}
}

func TestWriteRefusesADirectoryWithoutGoFiles(t *testing.T) {
	if err := Write(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no Go files") {
		t.Fatalf("Write: %v", err)
	}
}

func FuzzGenerate(f *testing.F) {
	archives, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		source, err := Generate(map[string][]byte{"a.go": text})
		if err == nil && source != nil && !bytes.HasPrefix(source, []byte(header)) {
			t.Fatalf("generated %s", source)
		}
	})
}
