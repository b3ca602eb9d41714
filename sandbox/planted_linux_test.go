package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/process/processtest"
)

// A program can prepare its writable files for its next start.
func TestLinksThatAProgramCouldHaveMadeLeadNowhere(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	make := func(path, text string, mode os.FileMode) {
		t.Helper()
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		processtest.WriteProgram(t, path, []byte(text), mode)
	}
	link := func(path, target string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(home, path)); err != nil {
			t.Fatal(err)
		}
	}
	make(".ssh/id", "S3CRET", 0o700)
	make(".ssh/lib/x", "S3CRET", 0o700)
	make("project/a", "", 0o600)
	make("project/run", "#!/bin/sh\ncat ~/.ssh/id ~/project/sub/id ~/project/docs/id ~/.ssh/lib/x; true\n", 0o700)
	make("project/script", "#!"+home+"/.ssh/id\n", 0o700)
	link("project/sub", filepath.Join(home, ".ssh"))
	link("project/docs", "../.ssh")
	link("project/program", "../.ssh/id")
	link("mine-with-a-long-name", "project") // a link of the user
	p := Profile{Write: []string{"~/project/docs", "~/project/sub/lib", "~/mine-with-a-long-name"}, Read: []string{"~/project/sub", "~/project/docs/lib"}}
	for _, program := range []string{"project/run", "mine-with-a-long-name/run"} {
		got, _, _ := run(t, p, Options{}, filepath.Join(home, program))
		if strings.Contains(got, "S3CRET") || strings.Count(got, "No such file") != 4 {
			t.Errorf("%s: %s", program, got)
		}
	}
	if got, status, _ := run(t, p, Options{}, "sh", "-c", "cd ~; ls -A; echo b > mine-with-a-long-name/b; cat project/b"); got != "mine-with-a-long-name\nproject\nb\n" || status != nil {
		t.Errorf("%v, %q", status, got)
	}
	for _, program := range []string{"project/program", "project/script"} {
		if folders := programFolders(filepath.Join(home, program), "", []string{filepath.Join(home, "project")}); len(folders) != 0 {
			t.Errorf("%s is made of %q", program, folders)
		}
	}
	for program, want := range map[string]string{
		"server": home + "/server", "Downloads/server": home + "/Downloads/server", "bin/server": home + "/bin", ".local/bin/uvx": home + "/.local/bin", "shims/x": home + "/shims/x",
		".nvm/versions/node/v20/bin/node": home + "/.nvm/versions/node/v20", "tools/server-1.2/server": home + "/tools/server-1.2",
	} {
		make(program, "", 0o700)
		if strings.Contains(program, "v20") {
			make(".nvm/versions/node/v20/lib/x", "", 0o600)
		}
		if got := installation(filepath.Join(home, program)); !slices.Equal(got, []string{want}) {
			t.Errorf("%s is made of %s, want %s", program, got, want)
		}
	}
}
