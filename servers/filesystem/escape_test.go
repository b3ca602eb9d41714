package filesystem

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// everyTool calls each tool with the path, and passes each result to see.
func everyTool(f *fixture, path string, see func(tool string, a answer)) {
	f.t.Helper()
	for tool, arguments := range map[string]args{
		"list-folder": {"path": path},
		"tree":        {"path": path},
		"read-file":   {"path": path},
		"read-files":  {"paths": []string{path}},
		"file-info":   {"path": path},
		"search":      {"path": path, "text": "secret"},
		"write-file":  {"path": path, "content": "hacked", "overwrite": true},
		"edit-file":   {"path": path, "edits": []args{{"old": "secret", "new": "hacked"}}},
		"move":        {"from": path, "to": "work/moved"},
		"make-folder": {"path": path},
		"delete":      {"path": path},
	} {
		see(tool, f.call(tool, arguments))
	}
}

func TestPathsDoNotLeadOut(t *testing.T) {
	f := serve(t, Options{Write: true})
	for _, path := range []string{
		"work/../outside/secret.txt",
		"work/a/../../outside/secret.txt",
		"../outside/secret.txt",
		"work/..",
		"/etc/passwd",
		filepath.Join(f.outside, "secret.txt"),
		f.work + "/../outside/secret.txt",
		f.work + "-more/secret.txt",
		filepath.Dir(f.work),
		"work/\x00/secret.txt",
		"nowhere/secret.txt",
		strings.Repeat("a/", 10_000),
	} {
		everyTool(f, path, func(tool string, a answer) {
			if tool == "read-files" && strings.Contains(a.text(), "[error: path") {
				return
			}
			if !a.IsError || !strings.Contains(a.text(), "path") {
				t.Errorf("%s %.80q: %s", tool, path, a.text())
			}
		})
	}
	f.unharmed()
}

// unharmed checks that nothing outside of the roots was changed.
func (f *fixture) unharmed() {
	f.t.Helper()
	entries, err := os.ReadDir(f.outside)
	if err != nil || len(entries) != 1 || f.content(filepath.Join(f.outside, "secret.txt")) != "secret" {
		f.t.Errorf("outside was changed: %v %v", entries, err)
	}
}

func TestErrorsNameTheRoots(t *testing.T) {
	f := serve(t, Options{})
	f.refused("read-file", args{"path": "/etc/passwd"}, "outside", "work", f.work, "notes", f.notes)
	f.refused("read-file", args{"path": "elsewhere/x"}, "work", f.work, "notes", f.notes)
}

func TestLinksDoNotLeadOut(t *testing.T) {
	f := serve(t, Options{Write: true})
	relative := filepath.Join("..", "outside")
	f.link(filepath.Join(f.outside, "secret.txt"), filepath.Join(f.work, "file"))
	f.link(f.outside, filepath.Join(f.work, "folder"))
	f.link(relative, filepath.Join(f.work, "relative"))
	f.link("folder", filepath.Join(f.work, "chain"))
	for _, path := range []string{"work/file", "work/folder/secret.txt", "work/folder", "work/relative/secret.txt", "work/chain/secret.txt", "work/folder/new.txt", "work/chain/deep/new"} {
		everyTool(f, path, func(tool string, a answer) {
			if strings.Contains(strings.ReplaceAll(a.text(), "secret.txt", ""), "secret") {
				t.Errorf("%s %s revealed the secret: %s", tool, path, a.text())
			}
		})
		f.unharmed()
	}
}

func TestSearchAndTreeDoNotFollowLinks(t *testing.T) {
	f := serve(t, Options{})
	f.put(f.work, "a/b.txt", "needle")
	f.link("..", filepath.Join(f.work, "a", "up"))
	f.link(f.outside, filepath.Join(f.work, "out"))
	if out := must[searchOutput](f, "search", args{"path": "work", "text": "needle|secret", "regexp": true}); len(out.Matches) != 1 {
		t.Errorf("matches: %+v", out.Matches)
	}
	if got, want := f.text("tree", args{"path": "work", "depth": 20}), "work/\n  a/\n    b.txt\n    up@\n  out@\n"; got != want {
		t.Errorf("tree:\n%s", got)
	}
}

func TestLinksInsideARootAreFollowed(t *testing.T) {
	f := serve(t, Options{Write: true})
	f.put(f.work, "real/file.txt", "inside")
	f.link("real", filepath.Join(f.work, "alias"))
	f.link("real/file.txt", filepath.Join(f.work, "direct"))
	for _, path := range []string{"work/alias/file.txt", "work/direct"} {
		if got := f.text("read-file", args{"path": path}); got != "inside" {
			t.Errorf("%s: %q", path, got)
		}
	}
	must[writeOutput](f, "write-file", args{"path": "work/alias/new.txt", "content": "x"})
	if f.content(filepath.Join(f.work, "real", "new.txt")) != "x" {
		t.Error("the file was not written where the link leads")
	}
	f.refused("write-file", args{"path": "work/direct", "content": "x", "overwrite": true}, "is a link")
	if out := must[infoOutput](f, "file-info", args{"path": "work/direct"}); out.Kind != kindLink || out.LinksTo != kindFile {
		t.Errorf("info: %+v", out)
	}
}

// TestSwappingAFolderForALinkDoesNotLeadOut replaces a folder by a link to the outside, and back,
// over and over, while files are written below it. Each write stays inside or fails.
func TestSwappingAFolderForALinkDoesNotLeadOut(t *testing.T) {
	f := serve(t, Options{Write: true})
	folder, aside, link := filepath.Join(f.work, "d"), filepath.Join(f.work, "aside"), filepath.Join(f.work, "link")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	f.link(f.outside, link)
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = os.Rename(folder, aside)
			_ = os.Rename(link, folder)
			_ = os.Rename(folder, link)
			_ = os.Rename(aside, folder)
		}
	})
	for range 100 {
		for tool, arguments := range map[string]args{
			"write-file":  {"path": "work/d/new.txt", "content": "hacked", "overwrite": true},
			"make-folder": {"path": "work/d/sub/folder"},
			"read-file":   {"path": "work/d/secret.txt"},
			"delete":      {"path": "work/d/secret.txt"},
			"move":        {"from": "work/d/secret.txt", "to": "work/stolen"},
		} {
			a, err := f.try(tool, arguments)
			if err != nil || a.text() == "secret" {
				t.Errorf("%s: %v %s", tool, err, a.text())
			}
		}
	}
	close(done)
	swapping.Wait()
	f.unharmed()
}

func TestWritingLeavesOtherHardLinksAlone(t *testing.T) {
	f := serve(t, Options{Write: true})
	secret := filepath.Join(f.outside, "secret.txt")
	for _, name := range []string{"one", "two"} {
		if err := os.Link(secret, filepath.Join(f.work, name)); err != nil {
			t.Skip("no hard links here:", err)
		}
	}
	if out := must[infoOutput](f, "file-info", args{"path": "work/one"}); out.Links != 3 && out.Links != 0 {
		t.Errorf("links: %d", out.Links)
	}
	must[writeOutput](f, "write-file", args{"path": "work/one", "content": "hacked", "overwrite": true})
	must[editOutput](f, "edit-file", args{"path": "work/two", "edits": []args{{"old": "secret", "new": "hacked"}}})
	f.unharmed()
}

func TestResourcesDoNotLeadOut(t *testing.T) {
	f := serve(t, Options{})
	f.link(f.outside, filepath.Join(f.work, "folder"))
	for _, uri := range []string{
		"file:///etc/passwd",
		fileURI(f.outside) + "/secret.txt",
		fileURI(f.work) + "/../outside/secret.txt",
		fileURI(f.work) + "/%2e%2e/outside/secret.txt",
		fileURI(f.work) + "/folder/secret.txt",
		"file://elsewhere" + f.work + "/x",
		"https://example.com/",
		"file:relative",
	} {
		result, err := f.server.Handle(context.Background(), mcp.NewRequest("resources/read", []byte(`{"uri":"`+uri+`"}`)))
		if err == nil {
			data, _ := result.Encoded()
			t.Errorf("%s: %s", uri, data)
		}
	}
}

func fileURI(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

func FuzzFind(f *testing.F) {
	for _, path := range []string{"", ".", "work", "work/a", "../x", "work/../..", "/", "a\\b", "C:\\x", "work//x/./y", "\x00"} {
		f.Add(path)
	}
	dir := f.TempDir()
	roots, err := openRoots([]string{dir, f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	files := &files{roots: roots}
	f.Fuzz(func(t *testing.T, path string) {
		p, err := files.find(path)
		if err == nil && !filepath.IsLocal(p.rel) {
			t.Errorf("%q became %q", path, p.rel)
		}
	})
}
