package hostconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/threadtime"
)

const cursorFile = `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`

// applied returns a file whose entries are replaced.
func applied(t *testing.T, path string, r Record) (j Journal, release func()) {
	t.Helper()
	j = Journal{Folder: filepath.Join(t.TempDir(), "taps")}
	release, err := apply(j, path, r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return j, release
}

func apply(j Journal, path string, r Record) (release func(), err error) {
	h, _, _ := LookupHost("cursor")
	d, err := Read(h, path)
	if err != nil {
		return nil, err
	}
	by := map[*Entry]Program{}
	for _, e := range d.Entries {
		by[e] = tapped(e)
	}
	after, changes, err := d.Replace(by)
	if err != nil {
		return nil, err
	}
	r.Host, r.Changes = h.ID, changes
	_, release, err = j.Apply(d, after, r)
	return release, err
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// restoreOne restores the only change.
func restoreOne(t *testing.T, j Journal) *Restored {
	t.Helper()
	records, err := j.Records()
	if err != nil || len(records) != 1 {
		t.Fatalf("%v, %v", records, err)
	}
	done, err := j.Restore(records[0])
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestAFileBehindASymbolicLinkIsReplacedWhereItIs(t *testing.T) {
	target := write(t, filepath.Join(t.TempDir(), "dotfiles", "mcp.json"), cursorFile)
	link := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	if err := os.Chmod(target, 0o640); err != nil {
		t.Fatal(err)
	}
	j, release := applied(t, link, Record{})
	if !strings.Contains(content(t, target), `"J"`) {
		t.Errorf("the target holds %s", content(t, target))
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is now %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(target); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is now %v, %v", info.Mode(), err)
	}
	release()
	if done := restoreOne(t, j); !done.Whole || content(t, target) != cursorFile {
		t.Errorf("%+v: %s", done, content(t, target))
	}
}

func TestTheJournalCanBeReadByItsUserOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not those of Unix there")
	}
	j, _ := applied(t, write(t, filepath.Join(t.TempDir(), "mcp.json"), cursorFile), Record{})
	files, _ := filepath.Glob(filepath.Join(j.Folder, "*", "*"))
	if len(files) != 4 {
		t.Errorf("it holds %v", files)
	}
	for _, path := range files {
		if info, err := os.Stat(path); err != nil || filepath.Base(path) != ownerFile && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v, %v", path, info.Mode(), err)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("its folder has the mode %v, %v", info.Mode(), err)
		}
	}
}

func TestAFileIsChangedByOneAtATime(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "mcp.json"), cursorFile)
	j, release := applied(t, path, Record{})
	now := content(t, path)
	if _, err := apply(j, path, Record{}); !errors.Is(err, ErrInUse) {
		t.Errorf("got %v", err)
	}
	if done, err := j.Recover(); err != nil || len(done) != 0 || content(t, path) != now {
		t.Errorf("what lives is taken back: %v, %v", done, err)
	}
	release() // as at the end of the process
	if done, err := j.Recover(); err != nil || len(done) != 1 || !done[0].Whole || content(t, path) != cursorFile {
		t.Errorf("%v, %v: %s", done, err, content(t, path))
	}
	if _, err := apply(j, path, Record{Kept: true}); err != nil {
		t.Fatal(err)
	}
	if done, err := j.Recover(); err != nil || len(done) != 0 {
		t.Errorf("what is kept is taken back: %v, %v", done, err)
	}
	write(t, path, cursorFile) // by hand
	if done, err := j.Recover(); err != nil || len(done) != 1 || !done[0].Whole {
		t.Errorf("what was taken back by hand stays in the journal: %v, %v", done, err)
	}
}

func TestAFileThatChangesInTheMomentIsNotReplaced(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "mcp.json"), cursorFile)
	if err := (Journal{}).replaceFile(path, []byte("something else"), []byte("new"), false); !errors.Is(err, errChanged) {
		t.Errorf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); content(t, path) != cursorFile || len(left) > 0 {
		t.Errorf("%s, %v", content(t, path), left)
	}
}

func TestUnrestorableEntriesAreKept(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "mcp.json"), cursorFile)
	j, release := applied(t, path, Record{})
	release()
	write(t, path, strings.Replace(content(t, path), `"x"`, `"z"`, 1))
	done := restoreOne(t, j)
	if done.Whole || len(done.Left) != 1 || done.Left[0] != "a" || content(t, done.Original) != cursorFile {
		t.Errorf("%+v", done)
	}
	if now := content(t, path); now != `{"mcpServers": {"a": {"args": ["proxy", "a", "--", "z"], "command": "J"}, "b": {"command": "y"}}}` {
		t.Errorf("the file is %s", now)
	}

	write(t, path, cursorFile)
	j, release = applied(t, path, Record{})
	release()
	whole := content(t, path)
	write(t, path, "{ // half wri")
	if done, err := j.Recover(); err == nil || !strings.Contains(err.Error(), "not JSON") || len(done) != 0 {
		t.Errorf("%v, %v", done, err)
	}
	write(t, path, whole)
	if done := restoreOne(t, j); !done.Whole || content(t, path) != cursorFile {
		t.Errorf("%+v: %s", done, content(t, path))
	}

	j, release = applied(t, path, Record{})
	release()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if done := restoreOne(t, j); !done.Gone {
		t.Errorf("%+v", done)
	}
}

func TestFilesAreFoundOnEverySystem(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "src", "p")
	for _, name := range []string{
		".config/Claude/claude_desktop_config.json", "Library/Application Support/Claude/claude_desktop_config.json", "Roaming/Claude/claude_desktop_config.json",
		".claude.json", ".cursor/mcp.json", "src/p/.cursor/mcp.json", "src/p/.git/HEAD", "src/p/sub/.cursor/mcp.json", "src/.cursor/mcp.json",
		".config/Code/User/profiles/1/mcp.json", ".config/Code/User/mcp.json", ".config/zed/settings.json", "Roaming/Zed/settings.json",
		".continue/config.yaml", ".continue/mcpServers/a.yaml", ".continue/mcpServers/b.json", ".continue/mcpServers/c.txt",
		".config/goose/config.yaml", "Roaming/Block/goose/config/config.yaml", "elsewhere/config.toml", ".codex/config.toml", ".codex/other.toml",
		".qwen/settings.json", ".copilot/mcp-config.json", ".config/opencode/opencode.jsonc", "src/p/opencode.json", ".config/amp/settings.json", ".config/crush/crush.json", "Local/crush/crush.json",
		".lmstudio/mcp.json", ".junie/mcp/mcp.json", "Local/github-copilot/intellij/mcp.json",
	} {
		write(t, filepath.Join(home, filepath.FromSlash(name)), "{}")
	}
	env := map[string]string{"APPDATA": filepath.Join(home, "Roaming"), "LOCALAPPDATA": filepath.Join(home, "Local")}
	for _, test := range []struct{ host, goos, codexHome, want string }{
		{"claude-desktop", "linux", "", ".config/Claude/claude_desktop_config.json"},
		{"claude-desktop", "darwin", "", "Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", "", "Roaming/Claude/claude_desktop_config.json"},
		{"claude-code", "linux", "", ".claude.json"},
		{"cursor", "linux", "", "src/p/sub/.cursor/mcp.json src/p/.cursor/mcp.json .cursor/mcp.json"},
		{"vscode", "linux", "", ".config/Code/User/mcp.json .config/Code/User/profiles/1/mcp.json"},
		{"zed", "darwin", "", ".config/zed/settings.json"},
		{"zed", "windows", "", "Roaming/Zed/settings.json"},
		{"continue", "linux", "", ".continue/config.yaml .continue/mcpServers/a.yaml .continue/mcpServers/b.json"},
		{"goose", "linux", "", ".config/goose/config.yaml"},
		{"goose", "windows", "", "Roaming/Block/goose/config/config.yaml"},
		{"codex", "linux", "", ".codex/config.toml"},
		{"codex", "linux", filepath.Join(home, "elsewhere"), "elsewhere/config.toml"},
		{"lmstudio", "linux", "", ".lmstudio/mcp.json"},
		{"jetbrains", "windows", "", ".junie/mcp/mcp.json Local/github-copilot/intellij/mcp.json"},
		{"qwen", "linux", "", ".qwen/settings.json"},
		{"copilot", "linux", "", ".copilot/mcp-config.json"},
		{"opencode", "linux", "", "src/p/opencode.json .config/opencode/opencode.jsonc"},
		{"opencode", "windows", "", "src/p/opencode.json .config/opencode/opencode.jsonc"},
		{"amp", "darwin", "", ".config/amp/settings.json"},
		{"crush", "linux", "", ".config/crush/crush.json"},
		{"crush", "windows", "", "Local/crush/crush.json"},
		{"windsurf", "linux", "", ""},
	} {
		h, _, _ := LookupHost(test.host)
		var got []string
		for _, path := range Find(h, Options{GOOS: test.goos, HomeDir: home, WorkDir: filepath.Join(project, "sub"), Getenv: func(name string) string {
			if name == "CODEX_HOME" {
				return test.codexHome
			}
			return env[name]
		}}) {
			rest, err := filepath.Rel(home, path)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, filepath.ToSlash(rest))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s on %s: got %q, want %q", test.host, test.goos, got, test.want)
		}
	}
}

func TestAHostIsFoundByItsProgram(t *testing.T) {
	for name, want := range map[string]string{"claude-code": "claude-code", "/usr/bin/claude": "claude-code", "codex": "codex", "code.exe": "vscode", "junie": "jetbrains", "vim": ""} {
		if h, _, ok := LookupHost(name); h.ID != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", name, h.ID, ok)
		}
	}
}

func TestTheEnvironmentSaysWhereAServerIs(t *testing.T) {
	env := map[string]string{"JUNCTION_URL": "https://x.example", "JUNCTION_HEADER_1": "A: b:c", "JUNCTION_HEADER_2": "Authorization: Bearer ", "JUNCTION_HEADER_2_FROM": "TOKEN", "TOKEN": "t", "JUNCTION_HEADER_4": "no: gap"}
	url, headers, err := RemoteOf(func(name string) string { return env[name] })
	if err != nil || url != "https://x.example" || strings.Join(headers, "|") != "A: b:c|Authorization: Bearer t" {
		t.Errorf("%q %q %v", url, headers, err)
	}
	delete(env, "TOKEN")
	if _, _, err := RemoteOf(func(name string) string { return env[name] }); err == nil || err.Error() != "the variable TOKEN is not set, and a header needs it" {
		t.Error(err)
	}
	if _, _, err := RemoteOf(func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "JUNCTION_URL is not set") {
		t.Error(err)
	}
}

func TestFilesThatAreNotConfigurationsAreRefused(t *testing.T) {
	deep := strings.Repeat("[", maxDepth+1)
	parts := strings.Repeat("a.", maxKeyParts-1)
	inline := strings.Repeat(parts+"a={", maxDepth/maxKeyParts)
	for _, test := range []struct{ host, path, data, want string }{
		{"cursor", "mcp.json", "[]", "mcp.json: expected an object with servers in it"},
		{"cursor", "mcp.json", `{"a": "s3cret` + "\x01\"}", "mcp.json: not JSON: line 1, column 7: invalid string, number or word"},
		{"cursor", "mcp.json", `{"a":` + deep, "mcp.json: the file is nested deeper than 5000 levels"},
		{"cursor", "mcp.json", `{"mcpServers": {}, "mcpServers": {"a": {"command": "x"}}}`, `mcp.json: "mcpServers" occurs twice; remove one`},
		{"cursor", "mcp.json", "\xff", "mcp.json: the file is not UTF-8"},
		{"goose", "config.yaml", "a: b\n---\nc: d\n", "config.yaml: the file holds more than one document of YAML"},
		{"goose", "config.yaml", "a: [", "config.yaml: not YAML: "},
		{"codex", "config.toml", "a = 1\na = 2\n", "config.toml: not TOML: line 2: "},
		{"codex", "config.toml", "a." + parts + "a = 1\n", "config.toml: a key has more than 100 parts"},
		{"codex", "config.toml", "[a." + parts + "a]\n", "config.toml: a key has more than 100 parts"},
		{"codex", "config.toml", "[[a." + parts + "a]]\n", "config.toml: a key has more than 100 parts"},
		{"codex", "config.toml", "x = [{a." + parts + "a = 1}]\n", "config.toml: a key has more than 100 parts"},
		{"codex", "config.toml", inline + "b=1" + strings.Repeat("}", maxDepth/maxKeyParts) + "\n", "config.toml: the file is nested deeper than 5000 levels"},
		{"codex", "config.toml", strings.Repeat("[[t]]\n", maxKeys+1), "config.toml: the file has more than 20000 keys and tables"},
		{"codex", "config.toml", "x = [" + strings.Repeat("{a = 1},", maxKeys) + "]\n", "config.toml: the file has more than 20000 keys and tables"},
		{"codex", "config.toml", strings.Repeat("#", maxTOML+1), "config.toml: the file is larger than 4 MiB"},
	} {
		h, _, _ := LookupHost(test.host)
		if _, err := Parse(h, test.path, []byte(test.data)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%.30q: got %v, want %s", test.data, err, test.want)
		}
	}
	h, _, _ := LookupHost("cursor")
	for _, empty := range []string{"", "  \n", byteOrderMark, "{}"} {
		if d, err := Parse(h, "mcp.json", []byte(empty)); err != nil || len(d.Entries) != 0 {
			t.Errorf("%q: %v, %v", empty, d, err)
		}
	}
	if d, err := Parse(h, "mcp.json", []byte(`{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}, "b": {"command": "x", "command": "y"}, "c": 1, "d": {"command": "x", "args": {}}}}`)); err != nil {
		t.Error(err)
	} else {
		for i, want := range []string{"it is defined twice; remove one", "it is defined twice; remove one", `"command" is there twice`, "it is not an object", "args is not a list of texts"} {
			if got := d.Entries[i].Problem; got == nil || got.Error() != want {
				t.Errorf("entry %d: got %v, want %s", i, got, want)
			}
		}
	}
}

// A file at the limit of keys takes a second, mostly in go-toml.
func TestAFileOfManyTablesIsReadInTime(t *testing.T) {
	const tables = (maxKeys - 2) / threadtime.Slowdown // the library searches all keys for each
	var b strings.Builder
	for i := range tables {
		fmt.Fprintf(&b, "k%d.a=1\n", i)
	}
	b.WriteString("[mcp_servers.x]\ncommand = 'y'\n")
	h, _, _ := LookupHost("codex")
	var d *Document
	var err error
	took := threadtime.Of(func() { d, err = Parse(h, "config.toml", []byte(b.String())) })
	if err != nil || len(d.root.members) != tables+1 || len(d.Entries) != 1 || d.Entries[0].Command != "y" {
		t.Fatalf("%v, %v", d, err)
	}
	if took > time.Minute {
		t.Errorf("%d bytes took %v", b.Len(), took)
	}
}

func TestAKeyOfManyPartsIsRead(t *testing.T) {
	h, _, _ := LookupHost("codex")
	text := strings.Repeat("a.", maxKeyParts-1) + "a = 1\n[mcp_servers.x]\ncommand = 'y'\n"
	if d, err := Parse(h, "config.toml", []byte(text)); err != nil || len(d.Entries) != 1 {
		t.Errorf("%v, %v", d, err)
	}
}
