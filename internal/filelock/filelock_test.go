package filelock

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestAFileIsReplacedAsAWhole(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a.json"), filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, path); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	for _, text := range []string{"a longer text", "short"} {
		if err := Replace(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("it holds %q, %v", got, err)
		}
	}
	if info, err := os.Lstat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if got, err := os.ReadFile(other); err != nil || string(got) != "other" {
		t.Errorf("behind the link stands %q, %v", got, err)
	}
	if err := Replace(filepath.Join(dir, "none", "a"), nil, 0o600); err == nil {
		t.Error("a file was written into a folder that is not there")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new")); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
