package chat_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/internal/picture"
)

func TestLocalFilesAreFoundAndReadBelowTheFolderOnly(t *testing.T) {
	clitest.Chdir(t, t.TempDir())
	outside := filepath.Join(t.TempDir(), "outside.txt")
	clitest.Write(t, map[string]string{
		"main.go": "package main\n", "docs/Manual.md": "m", "docs/deep/remains.txt": "r", ".env": "K=V", "picture.png": "\x89PNG\x00", "empty": " \n",
		"large": strings.Repeat("x", chat.MaxAttachment+1), "node_modules/main.js": "j", "a b.txt": "spaced", outside: "o",
		"cat": clitest.Painted(t, 640, 480), "large.gif": "GIF89a" + strings.Repeat("x", picture.MaxBytes), "bad.webp": "RIFF1234WEBPVP8 ",
	})
	if err := os.Symlink(outside, clitest.In(t, "leak.txt")); err != nil {
		t.Skip(err)
	}
	l, done := chat.Files(clitest.PlaceOf(t))
	defer done()
	for typed, want := range map[string][]string{
		"ma":      {"main.go", "docs/Manual.md", "docs/deep/remains.txt"},
		"docs/":   {"docs/Manual.md", "docs/deep/"},
		"docs/ma": {"docs/Manual.md", "docs/deep/remains.txt"},
		".e":      {".env"},
		"../":     nil,
		"/etc":    nil,
	} {
		if got := l.Find(t.Context(), typed); !slices.Equal(got, want) {
			t.Errorf("%s becomes %q, want %q", typed, got, want)
		}
	}
	for name, want := range map[string]string{
		"main.go": "", "a b.txt": "", "docs/Manual.md": "", "picture.png": "is neither text", "empty": "is empty", "large": "larger than 1 MiB",
		"cat": "a picture", "large.gif": "large.gif is a picture of more than 3.75 MiB", "bad.webp": "bad.webp begins as a WebP picture, and is damaged",
		"leak.txt": "leads out of this folder, or nowhere", outside: "not below this folder", "docs/": "is a folder", "docs": "none", "alice": "none", "../nothing": "none", "main.go/x": "none",
	} {
		a, found, err := l.Read(name)
		switch {
		case want == "a picture":
			if !found || err != nil || a.URI != name || string(a.Picture) != clitest.Painted(t, 640, 480) || a.Text != "" {
				t.Errorf("%s: %+v, %v, %v", name, a, found, err)
			}
		case want == "none" && (found || err != nil), want == "" && (!found || err != nil || a.URI != name || a.Text == "" || a.Server != ""):
			t.Errorf("%s: %+v, %v, %v", name, a, found, err)
		case want != "" && want != "none" && (!found || err == nil || !strings.Contains(err.Error(), want) || a.Text != ""):
			t.Errorf("%s: %+v, %v, %v", name, a, found, err)
		}
	}
}

// A picture that is dropped on the terminal can be anywhere, a text cannot.
func TestDroppedPicturesAreReadWhereverTheyAre(t *testing.T) {
	clitest.Chdir(t, t.TempDir())
	outside := t.TempDir()
	clitest.Write(t, map[string]string{
		outside + "/my cat.png": clitest.Painted(t, 3, 4), outside + "/notes.txt": "n", outside + "/empty": "", outside + "/bad.png": clitest.Painted(t, 3, 4)[:20],
	})
	l, done := chat.Files(clitest.PlaceOf(t))
	defer done()
	for name, want := range map[string]string{"my cat.png": "", "bad.png": "bad.png begins as a PNG", "notes.txt": "none", "empty": "none", "nothing": "none", ".": "none"} {
		a, found, err := l.Picture(filepath.Join(outside, name))
		switch {
		case want == "none" && (found || err != nil), want == "" && (!found || err != nil || a.URI != name || string(a.Picture) != clitest.Painted(t, 3, 4)):
			t.Errorf("%s: %+v, %v, %v", name, a, found, err)
		case want != "" && want != "none" && (!found || err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}
