package filesystem

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// A fixture is a server over two roots, "work" and "notes". The folder outside is next to them and
// must stay unreachable.
type fixture struct {
	t                    *testing.T
	server               *mcp.Server
	work, notes, outside string
}

func serve(t *testing.T, o Options) *fixture {
	t.Helper()
	base := t.TempDir()
	f := &fixture{t: t, work: filepath.Join(base, "work"), notes: filepath.Join(base, "notes"), outside: filepath.Join(base, "outside")}
	for _, dir := range []string{f.work, f.notes, f.outside} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.put(f.outside, "secret.txt", "secret")
	if o.Roots == nil {
		o.Roots = []string{f.work, f.notes}
	}
	o.Logger = slog.New(slog.DiscardHandler)
	var err error
	if f.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	return f
}

// put writes a file directly, not through the server.
func (f *fixture) put(dir, name, content string) string {
	f.t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f *fixture) content(path string) string {
	f.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(data)
}

func (f *fixture) link(target, path string) {
	f.t.Helper()
	if err := os.Symlink(target, path); err != nil {
		f.t.Skip("no symbolic links here:", err)
	}
}

// An answer is a decoded result of a tool.
type answer struct {
	mcp.CallToolResult
}

func (a answer) text() string {
	var b strings.Builder
	for _, c := range a.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

func (f *fixture) call(tool string, arguments any) answer {
	f.t.Helper()
	a, err := f.try(tool, arguments)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

func (f *fixture) try(tool string, arguments any) (answer, error) {
	params, err := json.Marshal(map[string]any{"name": tool, "arguments": arguments})
	if err != nil {
		return answer{}, err
	}
	result, err := f.server.Handle(context.Background(), mcp.NewRequest("tools/call", params))
	if err != nil {
		return answer{}, err
	}
	data, err := result.Encoded()
	if err != nil {
		return answer{}, err
	}
	var a answer
	return a, a.UnmarshalJSON(data)
}

// must calls a tool, checks that it succeeds, and decodes its structured content.
func must[T any](f *fixture, tool string, arguments any) T {
	f.t.Helper()
	a := f.call(tool, arguments)
	if a.IsError {
		f.t.Fatalf("%s %v: %s", tool, arguments, a.text())
	}
	var out T
	if err := json.Unmarshal(a.StructuredContent, &out); err != nil {
		f.t.Fatalf("%s %v: %v in %s", tool, arguments, err, a.StructuredContent)
	}
	return out
}

// text calls a tool, checks that it succeeds, and returns its text.
func (f *fixture) text(tool string, arguments any) string {
	f.t.Helper()
	a := f.call(tool, arguments)
	if a.IsError {
		f.t.Fatalf("%s %v: %s", tool, arguments, a.text())
	}
	return a.text()
}

// refused calls a tool and checks that it fails with all the words in its error.
func (f *fixture) refused(tool string, arguments any, words ...string) {
	f.t.Helper()
	a := f.call(tool, arguments)
	if !a.IsError {
		f.t.Fatalf("%s %v succeeded: %s", tool, arguments, a.text())
	}
	for _, w := range words {
		if !strings.Contains(a.text(), w) {
			f.t.Errorf("%s %v: error %q does not say %q", tool, arguments, a.text(), w)
		}
	}
}

// args are a tool's arguments.
type args map[string]any

func TestRootsMustBeFolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, roots := range map[string][]string{
		"none": nil, "missing": {filepath.Join(t.TempDir(), "missing")}, "a file": {file},
	} {
		if _, err := New(Options{Roots: roots}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRootsOfTheSameNameAreDistinguished(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "src"), filepath.Join(t.TempDir(), "src")
	for _, dir := range []string{a, b} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := serve(t, Options{Roots: []string{a, b}})
	f.put(b, "x.txt", "of the second")
	out := must[folderOutput](f, "list-folder", args{})
	if len(out.Entries) != 2 || out.Entries[0].Name != "src" || out.Entries[1].Name != "src-2" || out.Entries[1].Path != b {
		t.Errorf("roots: %+v", out.Entries)
	}
	if got := f.text("read-file", args{"path": "src-2/x.txt"}); got != "of the second" {
		t.Errorf("read %q", got)
	}
}

func TestOnlyWritableServersHaveWritingTools(t *testing.T) {
	tools := func(write bool) (names []string) {
		f := serve(t, Options{Write: write})
		result, err := f.server.Handle(t.Context(), mcp.NewRequest("tools/list", nil))
		if err != nil {
			t.Fatal(err)
		}
		data, _ := result.Encoded()
		var list struct{ Tools []mcp.Tool }
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			writes := tool.Annotations.ReadOnlyHint == nil || !*tool.Annotations.ReadOnlyHint
			if writes != strings.Contains("delete edit-file make-folder move write-file", tool.Name) {
				t.Errorf("%s: readOnlyHint is wrong", tool.Name)
			}
		}
		return names
	}
	const reading = "file-info list-folder read-file read-files search tree"
	if got := strings.Join(tools(false), " "); got != reading {
		t.Errorf("reading only: %s", got)
	}
	if got := strings.Join(tools(true), " "); got != "delete edit-file file-info list-folder make-folder move read-file read-files search tree write-file" {
		t.Errorf("with writing: %s", got)
	}
}
