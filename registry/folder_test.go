package registry

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderOfFilesIsARegistry(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	remote := `"remotes":[{"type":"sse","url":"https://x.example/sse"}]`
	write(t, filepath.Join(folder, "one", "server.json"), "\ufeff"+serverJSON("org.example/one", "1.0.0", "One", remote))
	write(t, filepath.Join(folder, "one", "old", "server.json"), serverJSON("org.example/one", "0.9.0", "One", remote))
	write(t, filepath.Join(folder, "two.json"), serverJSON("org.example/two", "1.0.0", "Two", remote))
	write(t, filepath.Join(folder, "list.json"), "["+serverJSON("org.example/three", "1.0.0-beta", "Three", remote)+","+serverJSON("org.example/three", "1.0.0", "Three", remote)+",7]")
	write(t, filepath.Join(folder, "api.json"), `{"servers":[{"server":`+serverJSON("org.example/four", "1.0.0", "Four", remote)+`,"_meta":{}}]}`)
	write(t, filepath.Join(folder, "package.json"), `{"name":"@x/y","version":"1.0.0","packages":[""]}`)
	write(t, filepath.Join(folder, "broken", "server.json"), `{"name":`)
	write(t, filepath.Join(folder, "broken.json"), `{"name":`)
	write(t, filepath.Join(folder, ".git", "server.json"), serverJSON("org.example/hidden", "1.0.0", "", remote))
	write(t, filepath.Join(folder, "node_modules", "x", "server.json"), serverJSON("org.example/dependency", "1.0.0", "", remote))
	write(t, filepath.Join(folder, "big.json"), strings.Repeat(" ", maxFolderFile+1))
	write(t, filepath.Join(outside, "server.json"), serverJSON("org.example/outside", "1.0.0", "", remote))
	if runtime.GOOS != "windows" { // where only administrators may create links
		for link, to := range map[string]string{"link.json": filepath.Join(outside, "server.json"), "link": outside, "inner": "one"} {
			if err := os.Symlink(to, filepath.Join(folder, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
	m := newMirror(t, Source{Name: "house", Folder: folder})
	s := syncAll(t, m)[0]
	if s.Servers != 4 || s.Unread != 1 || s.Fault != "" {
		t.Errorf("the source is %+v", s)
	}
	got, err := m.Names(t.Context(), "")
	want := []string{"org.example/four", "org.example/one", "org.example/three", "org.example/two"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("it has %q (%v), want %q", got, err, want)
	}
	if e, err := m.Lookup(t.Context(), "org.example/three"); err != nil || e.Server.Version != "1.0.0" || len(e.Versions) != 2 {
		t.Errorf("looked up %+v, %v", e, err)
	}
	if got, _ := m.Names(t.Context(), "t"); !slices.Equal(got, []string{"org.example/three", "org.example/two"}) {
		t.Errorf("names behind the slash that begin with t: %q", got)
	}
	if err := os.RemoveAll(filepath.Join(folder, "one")); err != nil {
		t.Fatal(err)
	}
	if s = syncAll(t, m)[0]; s.Servers != 3 {
		t.Errorf("after a file was removed: %+v", s)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if s = syncAll(t, m)[0]; s.Servers != 3 || !strings.Contains(s.Fault, "cannot be read") {
		t.Errorf("after the folder was removed: %+v", s)
	}
}

func TestAFolderWhoseFilesAreTooLargeTogetherIsRefused(t *testing.T) {
	folder := t.TempDir()
	path := func(i int) string { return filepath.Join(folder, fmt.Sprintf("%03d.json", i)) }
	const full = maxFolderBytes / maxFolderFile
	for i := range full {
		write(t, path(i), "")
		if err := os.Truncate(path(i), maxFolderFile); err != nil { // a sparse file
			t.Fatal(err)
		}
	}
	m := newMirror(t, Source{Name: "house", Folder: folder})
	if s := syncAll(t, m)[0]; s.Fault != "" {
		t.Errorf("as much as may be read: %q", s.Fault)
	}
	write(t, path(full), "{}")
	if s := syncAll(t, m)[0]; !strings.Contains(s.Fault, "has more than 256 MiB in files that end in .json; name a smaller one") {
		t.Errorf("two bytes more: %q", s.Fault)
	}
}
