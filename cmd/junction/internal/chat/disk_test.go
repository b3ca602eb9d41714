package chat_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/host"
)

func TestOnlyTextsBelowTheFoldersOfTheChatAreRead(t *testing.T) {
	base := t.TempDir()
	inside := filepath.Join(base, "work")
	write := func(name, text string) string {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(clitest.In(t, filepath.Dir(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(clitest.In(t, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(to, name string) string {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.Symlink(to, path); err != nil {
			t.Skip(err)
		}
		return path
	}
	file, secret := write("work/sub/a.txt", "hello"), write("secret", "key")
	write("work2/a.txt", "other")
	through := link(inside, "link")
	for _, test := range []struct {
		name, path, want string
		folders          []string
	}{
		{"a file", file, "hello", []string{inside}},
		{"in the second folder", file, "hello", []string{filepath.Join(base, "work2"), inside}},
		{"an empty one", write("work/empty", ""), "", []string{inside}},
		{"where the folder is a link", filepath.Join(through, "sub", "a.txt"), "hello", []string{through}},
		{"where links lead to, as servers say it", file, "hello", []string{through}},
		{"a link that stays", link("sub/a.txt", "work/stays"), "hello", []string{inside}},
		{"no folder", file, "-", nil},
		{"outside", secret, "-", []string{inside}},
		{"out of it", inside + "/../secret", "-", []string{inside}},
		{"a folder that begins alike", filepath.Join(base, "work2", "a.txt"), "-", []string{inside}},
		{"a link that leads out", link(secret, "work/out"), "-", []string{inside}},
		{"a folder on the way that leads out", filepath.Join(link(base, "work/up"), "secret"), "-", []string{inside}},
		{"none", filepath.Join(inside, "none"), "-", []string{inside}},
		{"a folder", filepath.Join(inside, "sub"), "-", []string{inside}},
		{"the folder itself", inside, "-", []string{inside}},
		{"what is no text", write("work/bytes", "\xff\xfe"), "-", []string{inside}},
		{"what is large", write("work/large", strings.Repeat("x", chat.MaxOnDisk+1)), "-", []string{inside}},
	} {
		got, ok := "-", false
		if read := chat.FileReader(clitest.PlaceOf(t), test.folders); read != nil {
			got, ok = read(test.path)
		}
		if ok != (test.want != "-") || ok && got != test.want {
			t.Errorf("%s: %v, %.40q", test.name, ok, got)
		}
	}
}

func TestACardComparesWithFilesOfTheFoldersAtWork(t *testing.T) {
	base := t.TempDir()
	here, notes := filepath.Join(base, "here"), filepath.Join(base, "notes")
	clitest.Write(t, map[string]string{
		filepath.Join(here, "a.txt"): "here", filepath.Join(notes, "a.txt"): "notes", filepath.Join(base, "root", "a.txt"): "root", filepath.Join(base, "else", "a.txt"): "else",
	})
	clitest.Chdir(t, here)
	setup := &chat.Setup{App: &cli.App{Place: clitest.PlaceOf(t)}}
	setup.App.Desk.Roots = []string{filepath.Join(base, "root")}
	setup.Options.Servers = []host.Server{{Name: "files", Origin: []string{"npx", "-y", "server-filesystem", notes, "/"}}, {Name: "web", Origin: []string{"https://a.example"}}}
	read := chat.FileReader(clitest.PlaceOf(t), setup.Folders())
	for folder, want := range map[string]bool{"here": true, "notes": true, "root": true, "else": false} {
		if text, ok := read(filepath.Join(base, folder, "a.txt")); ok != want || ok && text != folder {
			t.Errorf("%s: %v, %q", folder, ok, text)
		}
	}
}
