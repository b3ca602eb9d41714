package filesystem

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestWriteFile(t *testing.T) {
	f := serve(t, Options{Write: true})
	out := must[writeOutput](f, "write-file", args{"path": "work/new/folder/a.txt", "content": "one"})
	if out != (writeOutput{"work/new/folder/a.txt", 3, false}) {
		t.Errorf("created: %+v", out)
	}
	path := filepath.Join(f.work, "new", "folder", "a.txt")
	f.refused("write-file", args{"path": "work/new/folder/a.txt", "content": "two"}, "overwrite", "edit-file")
	if got := f.content(path); got != "one" {
		t.Errorf("a refused write left %q", got)
	}
	if runtime.GOOS != "windows" {
		if err := os.Chmod(path, 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if out := must[writeOutput](f, "write-file", args{"path": path, "content": "AP8=", "encoding": "base64", "overwrite": true}); !out.Replaced || out.Bytes != 2 {
		t.Errorf("replaced: %+v", out)
	}
	if got := f.content(path); got != "\x00\xff" {
		t.Errorf("content %q", got)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o750 {
		t.Errorf("permissions: %v %v", info.Mode(), err)
	}
	f.refused("write-file", args{"path": "work/x", "content": "*", "encoding": "base64"}, "base64")
	f.refused("write-file", args{"path": "work", "content": "x", "overwrite": true}, "root")
	f.refused("write-file", args{"path": "work/new", "content": "x", "overwrite": true}, "is a folder")
	f.refused("write-file", args{"path": "work/new/folder/a.txt/b", "content": "x"}, "work/new/folder/a.txt")
	f.noLeftovers()
}

// noLeftovers checks that no temporary file remains.
func (f *fixture) noLeftovers() {
	f.t.Helper()
	for _, dir := range []string{f.work, f.notes} {
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if strings.HasPrefix(filepath.Base(path), ".junction-") {
				f.t.Errorf("left behind: %s", path)
			}
			return err
		})
		if err != nil {
			f.t.Error(err)
		}
	}
}

func TestReadersSeeTheOldFileOrTheNewOne(t *testing.T) {
	f := serve(t, Options{Write: true})
	versions := []string{strings.Repeat("a", 100_000), strings.Repeat("b", 100_000)}
	f.put(f.work, "file", versions[0])
	done := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			a, err := f.try("read-file", args{"path": "work/file"})
			if err != nil || a.text() != versions[0] && a.text() != versions[1] {
				t.Errorf("read %d bytes: %v", len(a.text()), err)
				return
			}
		}
	})
	for i := range 50 {
		must[writeOutput](f, "write-file", args{"path": "work/file", "content": versions[i%2], "overwrite": true})
	}
	close(done)
	reading.Wait()
	f.noLeftovers()
}

func TestOfManyThatCreateAFileOneSucceeds(t *testing.T) {
	f := serve(t, Options{Write: true})
	var creating sync.WaitGroup
	won := make(chan string, 20)
	for i := range 20 {
		creating.Go(func() {
			content := fmt.Sprint(i)
			if a, err := f.try("write-file", args{"path": "work/file", "content": content}); err == nil && !a.IsError {
				won <- content
			}
		})
	}
	creating.Wait()
	close(won)
	if len(won) != 1 || f.content(filepath.Join(f.work, "file")) != <-won {
		t.Errorf("%d created the file", len(won))
	}
}

func TestEditFile(t *testing.T) {
	for _, tt := range []struct {
		name, before string
		edits        string
		after        string // empty if refused
		says         []string
	}{
		{"one place", "a\nb\nc\n", `[{"old":"b","new":"B"}]`, "a\nB\nc\n", []string{"-b\n+B\n"}},
		{"nothing in its place", "a\nb\nc\n", `[{"old":"b\n","new":""}]`, "a\nc\n", []string{"-b\n"}},
		{"one after the other", "a\n", `[{"old":"a","new":"b"},{"old":"b","new":"c"}]`, "c\n", []string{"-a\n+c\n"}},
		{"every place", "x x x", `[{"old":"x","new":"y","all":true}]`, "y y y", []string{`"replacements":3`}},
		{"Windows line ends", "a\r\nb\r\n", `[{"old":"a\nb","new":"c\nd"}]`, "c\r\nd\r\n", nil},
		{"one line of a Windows file becomes two", "a\r\nb\r\n", `[{"old":"a","new":"c\nd"}]`, "c\r\nd\r\nb\r\n", nil},
		{"an empty line in a Windows file", "a\r\nb\r\n", `[{"old":"\nb","new":"\n\nb"}]`, "a\r\n\r\nb\r\n", nil},
		{"CRLF as written", "a\r\nb\r\n", `[{"old":"a\r\n","new":"c\r\n"}]`, "c\r\nb\r\n", nil},
		{"one Windows line among others", "a\r\nb\nc\n", `[{"old":"b","new":"d\ne"}]`, "a\r\nd\ne\nc\n", nil},
		{"not found", "a\n", `[{"old":"z","new":""}]`, "", []string{"edit 1 of 1", "does not occur"}},
		{"not unique", "a\nb\na\n", `[{"old":"a","new":"c"}]`, "", []string{"2 times", "lines 1, 3", "all"}},
		{"all or none", "a\nb\n", `[{"old":"a","new":"c"},{"old":"z","new":""}]`, "", []string{"edit 2 of 2", "nothing was changed"}},
		{"no old text", "a", `[{"old":"","new":"c"}]`, "", []string{"old"}},
		{"no text", "a\x00", `[{"old":"a","new":"c"}]`, "", []string{"not UTF-8 text"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := serve(t, Options{Write: true})
			path := f.put(f.work, "file", tt.before)
			a := f.call("edit-file", args{"path": "work/file", "edits": json.RawMessage(tt.edits)})
			want := tt.after
			if want == "" {
				want = tt.before
			}
			if got := f.content(path); got != want || a.IsError != (tt.after == "") {
				t.Errorf("content %q, error %v: %s", got, a.IsError, a.text())
			}
			said := a.text()
			if !a.IsError {
				var out editOutput
				if err := json.Unmarshal(a.StructuredContent, &out); err != nil || !out.Changed {
					t.Errorf("output: %+v %v", out, err)
				}
				said += out.Diff
			}
			for _, s := range tt.says {
				if !strings.Contains(said, s) {
					t.Errorf("%q does not say %q", said, s)
				}
			}
			f.noLeftovers()
		})
	}
}

func TestADryRunShowsTheDiffAndChangesNothing(t *testing.T) {
	f := serve(t, Options{Write: true})
	path := f.put(f.work, "file", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	out := must[editOutput](f, "edit-file", args{"path": "work/file", "dry_run": true, "edits": []args{{"old": "5", "new": "five"}}})
	const want = "--- work/file\n+++ work/file\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
	if out.Diff != want || out.Changed || f.content(path) != "1\n2\n3\n4\n5\n6\n7\n8\n9\n" {
		t.Errorf("got %+v", out)
	}
}

func TestEditsAtTheSameTimeAreAllKept(t *testing.T) {
	f := serve(t, Options{Write: true})
	path := f.put(f.work, "file", "0,1,2,3,4,5,6,7,8,9,")
	var editing sync.WaitGroup
	for i := range 10 {
		editing.Go(func() {
			a, err := f.try("edit-file", args{"path": "work/file", "edits": []args{{"old": fmt.Sprintf("%d,", i), "new": fmt.Sprintf("%c,", 'a'+i)}}})
			if err != nil || a.IsError {
				t.Errorf("%v %s", err, a.text())
			}
		})
	}
	editing.Wait()
	if got := f.content(path); got != "a,b,c,d,e,f,g,h,i,j," {
		t.Errorf("got %q", got)
	}
}

func TestMove(t *testing.T) {
	f := serve(t, Options{Write: true})
	f.put(f.work, "a.txt", "a")
	f.put(f.work, "b.txt", "b")
	f.put(f.work, "d/x", "x")
	f.refused("move", args{"from": "work/a.txt", "to": "work/b.txt"}, "work/b.txt", "exists")
	f.refused("move", args{"from": "work/a.txt", "to": "notes/a.txt"}, "different roots")
	f.refused("move", args{"from": "work/no.txt", "to": "work/c.txt"}, "work/no.txt")
	f.refused("move", args{"from": "work", "to": "work/c"}, "root")
	f.refused("move", args{"from": "work/d", "to": "work/d/e/f"}, "invalid argument")
	must[moveOutput](f, "move", args{"from": "work/a.txt", "to": "work/new/c.txt"})
	must[moveOutput](f, "move", args{"from": filepath.Join(f.work, "d"), "to": "work/moved"})
	if f.content(filepath.Join(f.work, "new", "c.txt")) != "a" || f.content(filepath.Join(f.work, "moved", "x")) != "x" || f.content(filepath.Join(f.work, "b.txt")) != "b" {
		t.Error("moved to somewhere else")
	}
}

func TestMakeFolderAndDelete(t *testing.T) {
	f := serve(t, Options{Write: true})
	for range 2 {
		must[pathOutput](f, "make-folder", args{"path": "work/a/b"})
	}
	f.refused("delete", args{"path": "work/a"}, "not empty")
	f.refused("delete", args{"path": "work"}, "root")
	must[pathOutput](f, "delete", args{"path": "work/a/b"})
	must[pathOutput](f, "delete", args{"path": "work/a"})
	f.refused("delete", args{"path": "work/a"}, "list-folder")
	f.put(f.work, "target", "x")
	f.link("target", filepath.Join(f.work, "link"))
	must[pathOutput](f, "delete", args{"path": "work/link"})
	if f.content(filepath.Join(f.work, "target")) != "x" {
		t.Error("deleting a link deleted what it leads to")
	}
}
