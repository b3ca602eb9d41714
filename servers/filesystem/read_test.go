package filesystem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func TestAPathCanBeWrittenInSeveralWays(t *testing.T) {
	f := serve(t, Options{})
	f.put(f.work, "a/b.txt", "hello")
	for _, path := range []string{"work/a/b.txt", filepath.Join(f.work, "a", "b.txt"), "work/./a//b.txt", "work/x/../a/b.txt"} {
		if got := f.text("read-file", args{"path": path}); got != "hello" {
			t.Errorf("%s: %q", path, got)
		}
	}
	f.refused("read-file", args{"path": "a/b.txt"}, "does not begin with a root")
	one := serve(t, Options{Roots: []string{f.work}})
	if got := one.text("read-file", args{"path": "a/b.txt"}); got != "hello" {
		t.Errorf("below the only root: %q", got)
	}
}

func TestReadFileReadsRangesOfLines(t *testing.T) {
	f := serve(t, Options{MaxRead: 40})
	f.put(f.work, "ten.txt", "1111\n2222\n3333\n4444\n5555\n6666\n7777\n8888\n9999\n0000\n")
	f.put(f.work, "short.txt", "one\ntwo")
	f.put(f.work, "empty.txt", "")
	f.put(f.work, "wide.txt", strings.Repeat("ä", 100)+"\nnext\n")
	for _, tt := range []struct {
		name string
		in   args
		want string
	}{
		{"a whole file", args{"path": "work/short.txt"}, "one\ntwo"},
		{"an empty file", args{"path": "work/empty.txt"}, "[No lines: the file is empty, or ends before this line.]"},
		{"as much as fits", args{"path": "work/ten.txt"}, "1111\n2222\n3333\n4444\n5555\n6666\n7777\n8888\n[Lines 1 to 8. There are more: continue with from_line 9.]"},
		{"and the rest", args{"path": "work/ten.txt", "from_line": 9}, "9999\n0000\n"},
		{"a range", args{"path": "work/ten.txt", "from_line": 2, "lines": 2}, "2222\n3333\n[Lines 2 to 3. There are more: continue with from_line 4.]"},
		{"the last line", args{"path": "work/short.txt", "from_line": 2, "lines": 5}, "two"},
		{"the end", args{"path": "work/ten.txt", "tail": 2}, "9999\n0000\n[The end of the file; there is more before it.]"},
		{"more of the end than there is", args{"path": "work/short.txt", "tail": 9}, "one\ntwo"},
		{"more of the end than fits", args{"path": "work/ten.txt", "tail": 9}, "4444\n5555\n6666\n7777\n8888\n9999\n0000\n[The end of the file; there is more before it.]"},
		{"a line that does not fit", args{"path": "work/wide.txt"}, strings.Repeat("ä", 20) + "[Line 1 is longer than 40 bytes and is cut off here.]"},
		{"and what follows it", args{"path": "work/wide.txt", "from_line": 2}, "next\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.t = t
			if got := f.text("read-file", tt.in); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	f.t = t
	f.refused("read-file", args{"path": "work/short.txt", "from_line": 9}, "line 9", "ends before")
	f.refused("read-file", args{"path": "work/missing.txt"}, "work/missing.txt", "list-folder")
	f.refused("read-file", args{"path": "work"}, "is a folder")
}

func TestReadFileOfBinaryContent(t *testing.T) {
	f := serve(t, Options{MaxRead: 1000})
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 20)
	f.put(f.work, "a.png", png)
	f.put(f.work, "a.bin", "\x00\x01\x02\xff")
	f.put(f.work, "latin1.txt", "caf\xe9")
	f.put(f.work, "large.bin", strings.Repeat("\x00", 1001))
	f.put(f.work, "late.txt", strings.Repeat("text\n", 100)+strings.Repeat("x", 8<<10)+"\xff")
	if c := f.call("read-file", args{"path": "work/a.png"}).Content[0]; c.Type != mcp.ContentImage || c.MIMEType != "image/png" || string(c.Data) != png {
		t.Errorf("picture: %+v", c)
	}
	c := f.call("read-file", args{"path": "work/a.bin"}).Content[0]
	if c.Type != mcp.ContentResource || !bytes.Equal(c.Resource.Blob, []byte("\x00\x01\x02\xff")) || c.Resource.URI != fileURI(filepath.Join(f.work, "a.bin")) {
		t.Errorf("bytes: %+v", c)
	}
	if c := f.call("read-file", args{"path": "work/latin1.txt"}).Content[0]; c.Type != mcp.ContentResource {
		t.Errorf("other encodings are bytes, got %+v", c)
	}
	f.refused("read-file", args{"path": "work/large.bin"}, "1001 bytes", "at most 1000")
	one := serve(t, Options{Roots: []string{f.work}})
	one.refused("read-file", args{"path": "work/late.txt"}, "not UTF-8 throughout")
}

func TestReadFilesWithFailures(t *testing.T) {
	f := serve(t, Options{MaxRead: 10})
	f.put(f.work, "a.txt", "aaa\n")
	f.put(f.work, "b.txt", "bbbbbbbb")
	f.put(f.work, "c.txt", "ccc")
	a := f.call("read-files", args{"paths": []string{"work/a.txt", "work/b.txt", "work/c.txt", "work/no.txt", "/etc/passwd"}})
	var got []string
	for _, c := range a.Content {
		got = append(got, c.Text)
	}
	if len(got) != 5 || got[0] != "=== work/a.txt\naaa" || !strings.Contains(got[1], "too many") || got[2] != "=== work/c.txt\nccc" ||
		!strings.Contains(got[3], "error") || !strings.Contains(got[4], "outside") {
		t.Errorf("got %q", got)
	}
}

func TestListFolder(t *testing.T) {
	f := serve(t, Options{})
	f.put(f.work, "b.txt", "12345")
	f.put(f.work, "a/x", "")
	f.put(f.work, "bad\xffname", "")
	out := must[folderOutput](f, "list-folder", args{"path": "work"})
	got := fmt.Sprintf("%+v", out)
	want := "{Path:work Entries:[{Name:a Kind:folder Size:0 Path:} {Name:b.txt Kind:file Size:5 Path:} {Name:bad\uFFFDname Kind:file Size:0 Path:}] Truncated:false}"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	f.refused("list-folder", args{"path": "work/b.txt"}, "is not a folder")
}

func TestTreeCutsOffTheDepthsFirst(t *testing.T) {
	f := serve(t, Options{})
	for _, name := range []string{"a/1", "a/2", "a/deep/er/x", "b/3", ".git/config", "z"} {
		f.put(f.work, name, "")
	}
	if got, want := f.text("tree", args{"path": "work"}), "work/\n  .git/ (left out)\n  a/\n    1\n    2\n    deep/\n      er/\n  b/\n    3\n  z\n"; got != want {
		t.Errorf("depth:\n%s", got)
	}
	if got, want := f.text("tree", args{"path": "work", "max_entries": 6}), "work/\n  .git/ (left out)\n  a/ (2 of 3 shown)\n    1\n    2\n  b/ (not shown)\n  z\n"; got != want {
		t.Errorf("entries:\n%s", got)
	}
}

func TestSearch(t *testing.T) {
	f := serve(t, Options{})
	f.put(f.work, "main.go", "package main\n\nfunc main() {\n\tprintln(\"Hello\")\n}\n")
	f.put(f.work, "docs/guide/intro.md", "Hello there\r\n")
	f.put(f.work, "docs/readme.md", "hello\nhello\nhello\n")
	f.put(f.work, ".git/objects.md", "Hello")
	f.put(f.work, "data.bin", "Hello\x00")
	f.put(f.work, "long.txt", strings.Repeat("ä", 400)+"needle"+strings.Repeat("ö", 400))
	for _, tt := range []struct {
		name string
		in   args
		want string
	}{
		{"names", args{"name": "*.md"}, "work/docs/guide/intro.md work/docs/readme.md"},
		{"names of folders", args{"name": "g*e"}, "work/docs/guide"},
		{"paths", args{"name": "docs/*.md"}, "work/docs/readme.md"},
		{"paths at any depth", args{"name": "**/*.{md,go}"}, "work/docs/guide/intro.md work/docs/readme.md work/main.go"},
		{"text", args{"text": "Hello"}, "work/docs/guide/intro.md:1:Hello there work/main.go:4:\tprintln(\"Hello\")"},
		{"text in some files", args{"text": "Hello", "name": "*.go"}, "work/main.go:4:\tprintln(\"Hello\")"},
		{"either case", args{"text": "HELLO", "ignore_case": true, "name": "r*"}, "work/docs/readme.md:1:hello work/docs/readme.md:2:hello work/docs/readme.md:3:hello"},
		{"an expression", args{"text": `^func \w+\(`, "regexp": true}, "work/main.go:3:func main() {"},
		{"as it is written", args{"text": `func.main`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.t = t
			tt.in["path"] = "work"
			var got []string
			for _, m := range must[searchOutput](f, "search", tt.in).Matches {
				if m.Line > 0 {
					got = append(got, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text))
				} else {
					got = append(got, m.Path)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), tt.want)
			}
		})
	}
	f.t = t
	if out := must[searchOutput](f, "search", args{"path": "work", "text": "hello", "limit": 2}); len(out.Matches) != 2 || !strings.Contains(out.Note, "more than 2") {
		t.Errorf("limit: %+v", out)
	}
	long := must[searchOutput](f, "search", args{"path": "work", "text": "needle"}).Matches[0].Text
	if len(long) > maxShownLine+2*len("…") || !strings.Contains(long, "needle") || strings.Contains(long, "\uFFFD") {
		t.Errorf("long line: %q", long)
	}
	if out := must[searchOutput](f, "search", args{"path": "work/main.go", "text": "Hello"}); len(out.Matches) != 1 || out.Matches[0].Line != 4 {
		t.Errorf("in one file: %+v", out)
	}
	f.refused("search", args{"path": "work"}, "name or text")
	f.refused("search", args{"path": "work", "text": "(", "regexp": true}, "text:")
	f.refused("search", args{"path": "work", "name": "[a"}, "name")
}

func TestSearchEndsWhenTheClientCancels(t *testing.T) {
	f := serve(t, Options{})
	f.put(f.work, "a.txt", "x")
	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("gone")
	cancel(gone)
	result, err := f.server.Handle(ctx, mcp.NewRequest("tools/call", []byte(`{"name":"search","arguments":{"path":"work","name":"*"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := result.Encoded(); !strings.Contains(string(data), "gone") {
		t.Errorf("got %s", data)
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a/b.go", true},
		{"*.go", "a/b.gox", false},
		{"a/*.go", "a/b.go", true},
		{"a/*.go", "a/b/c.go", false},
		{"a/**/c.go", "a/c.go", true},
		{"a/**/c.go", "a/b/b/c.go", true},
		{"a/**", "a/b/c", true},
		{"**/b/*", "b/c", true},
		{"?", "ä", true},
		{"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false},
		{"{a,b}.{c,d}", "b.c", true},
		{"{a,b}", "c", false},
		{"a.b", "axb", false},
		{"ä(+)^$", "ä(+)^$", true},
		{"a}b,c", "a}b,c", true},
	} {
		match, err := compileGlob(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		if got := match(tt.path); got != tt.want {
			t.Errorf("%s on %s: %v", tt.pattern, tt.path, got)
		}
	}
	for _, pattern := range []string{"[", "[]", "[!]", "{a", "[z-a]"} {
		if _, err := compileGlob(pattern); err == nil {
			t.Errorf("%s: no error", pattern)
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("**/*.{go,md}", "a/b.go")
	f.Add("[!a-z]?", "x")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if match, err := compileGlob(pattern); err == nil {
			match(path)
		}
	})
}

func TestResources(t *testing.T) {
	f := serve(t, Options{MaxRead: 100})
	f.put(f.work, "a b.txt", "text")
	f.put(f.work, "c.bin", "\x00\xff")
	f.put(f.work, "video.ts", "let x = 1")
	f.put(f.work, "large.txt", strings.Repeat("x", 101))
	read := func(uri string) (mcp.ReadResourceResult, error) {
		params, _ := json.Marshal(args{"uri": uri})
		result, err := f.server.Handle(t.Context(), mcp.NewRequest("resources/read", params))
		if err != nil {
			return mcp.ReadResourceResult{}, err
		}
		data, _ := result.Encoded()
		var r mcp.ReadResourceResult
		return r, json.Unmarshal(data, &r)
	}
	if r, err := read(fileURI(f.work) + "/a%20b.txt"); err != nil || r.Contents[0].Text != "text" || !strings.HasPrefix(r.Contents[0].MIMEType, "text/plain") {
		t.Errorf("text: %+v %v", r, err)
	}
	if r, err := read(fileURI(f.work) + "/video.ts"); err != nil || !strings.HasPrefix(r.Contents[0].MIMEType, "text/") {
		t.Errorf("text with the name of a film: %+v %v", r, err)
	}
	if r, err := read(fileURI(f.work) + "/c.bin"); err != nil || string(r.Contents[0].Blob) != "\x00\xff" {
		t.Errorf("bytes: %+v %v", r, err)
	}
	if r, err := read(fileURI(f.work)); err != nil || r.Contents[0].MIMEType != mimeFolder || !strings.HasPrefix(r.Contents[0].Text, fileURI(f.work)+"/a%20b.txt\n") {
		t.Errorf("folder: %+v %v", r, err)
	}
	if _, err := read(fileURI(f.work) + "/missing"); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) || !strings.Contains(err.Error(), "not found") {
		t.Errorf("missing: %v", err)
	}
	if _, err := read(fileURI(f.work) + "/large.txt"); err == nil {
		t.Error("a file that is too large was read")
	}
	result, err := f.server.Handle(t.Context(), mcp.NewRequest("resources/list", nil))
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := result.Encoded(); strings.Count(string(data), `"uri"`) != 2 || !strings.Contains(string(data), fileURI(f.notes)) {
		t.Errorf("roots: %s", data)
	}
}

func TestUnreadableFilesAreErrors(t *testing.T) {
	f := serve(t, Options{})
	path := f.put(f.work, "locked", "x")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Open(path); err == nil {
		t.Skip("this user may read everything")
	}
	f.refused("read-file", args{"path": "work/locked"}, "permission denied")
}
