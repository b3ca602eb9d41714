package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// A server that gets the path of a database creates a file, which fails if there is a folder in its
// place.
func TestMissingWritablePathsAreCreated(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "link.db")); err != nil {
		t.Skip(err)
	}
	for name, isFile := range map[string]bool{
		"notes.db": true, "new/memory.jsonl": true, ".history.db": true, "a b.sqlite3": true,
		"notes": false, ".config": false, "cache-1.2": false, "com.example.app": false, "dots.": false, "new/deeper": false,
	} {
		path := filepath.Join(dir, name)
		if err := makeWritten(path); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().IsRegular() != isFile || info.IsDir() == isFile {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.db"), []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := makeWritten(filepath.Join(dir, "notes.db")); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "notes.db")); err != nil || string(text) != "kept" {
		t.Errorf("%q, %v", text, err)
	}
	if err := makeWritten(filepath.Join(dir, "link.db")); err != nil {
		t.Errorf("a link that leads nowhere: %v", err)
	}
}
