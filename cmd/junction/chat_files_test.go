package main

import (
	"image"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/picture"
)

// write makes files below the current folder.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = in(t, name)
		if err := os.MkdirAll(in(t, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(t, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLocalFilesAreFoundAndReadBelowTheFolderOnly(t *testing.T) {
	chdir(t, t.TempDir())
	outside := filepath.Join(t.TempDir(), "outside.txt")
	write(t, map[string]string{
		"main.go": "package main\n", "docs/Manual.md": "m", "docs/deep/remains.txt": "r", ".env": "K=V", "picture.png": "\x89PNG\x00", "empty": " \n",
		"large": strings.Repeat("x", chat.MaxAttachment+1), "node_modules/main.js": "j", "a b.txt": "spaced", outside: "o",
		"cat": painted(t, 640, 480), "large.gif": "GIF89a" + strings.Repeat("x", picture.MaxBytes), "bad.webp": "RIFF1234WEBPVP8 ",
	})
	if err := os.Symlink(outside, in(t, "leak.txt")); err != nil {
		t.Skip(err)
	}
	l, done := chat.Files(placeOf(t))
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
		"main.go": "", "a b.txt": "", "docs/Manual.md": "", "picture.png": "not text", "empty": "is empty", "large": "larger than 1 MiB",
		"cat": "a picture", "large.gif": "large.gif is a picture of more than 3.75 MiB", "bad.webp": "bad.webp begins as a WebP picture, and is damaged",
		"leak.txt": "leads nowhere", outside: "not below this folder", "docs/": "is a folder", "docs": "none", "alice": "none", "../nothing": "none", "main.go/x": "none",
	} {
		a, found, err := l.Read(name)
		switch {
		case want == "a picture":
			if !found || err != nil || a.URI != name || string(a.Picture) != painted(t, 640, 480) || a.Text != "" {
				t.Errorf("%s: %+v, %v, %v", name, a, found, err)
			}
		case want == "none" && (found || err != nil), want == "" && (!found || err != nil || a.URI != name || a.Text == "" || a.Server != ""):
			t.Errorf("%s: %+v, %v, %v", name, a, found, err)
		case want != "" && want != "none" && (!found || err == nil || !strings.Contains(err.Error(), want) || a.Text != ""):
			t.Errorf("%s: %+v, %v, %v", name, a, found, err)
		}
	}
}

func TestAFileGoesAlong(t *testing.T) {
	noState(t)
	write(t, map[string]string{"list.txt": "buy milk\n", "picture.png": "\x89PNG\x00"})
	if got := runs(t, "", "chat", "-p", "add 2 and 40", "--attach", "list.txt"); got.code != cli.ExitOK || got.stdout != "42\n" {
		t.Errorf("%+v", got)
	}
	if got := runs(t, "", "conversations", "export", "last"); !strings.Contains(got.stdout, "[attached: list.txt]") || !strings.Contains(got.stdout, "buy milk") {
		t.Errorf("recorded %s", got.stdout)
	}
	if got := runs(t, "", "chat", "-p", "x", "--attach", "picture.png"); got.code != cli.ExitUsage || !strings.Contains(got.stderr, "picture.png is not text") {
		t.Errorf("%+v", got)
	}
}

// painted is a PNG of a size.
func painted(t testing.TB, width, height int) string {
	t.Helper()
	var b strings.Builder
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A picture that is dropped on the terminal can be anywhere, a text cannot.
func TestDroppedPicturesAreReadWhereverTheyAre(t *testing.T) {
	chdir(t, t.TempDir())
	outside := t.TempDir()
	write(t, map[string]string{
		outside + "/my cat.png": painted(t, 3, 4), outside + "/notes.txt": "n", outside + "/empty": "", outside + "/bad.png": painted(t, 3, 4)[:20],
	})
	l, done := chat.Files(placeOf(t))
	defer done()
	for name, want := range map[string]string{"my cat.png": "", "bad.png": "bad.png begins as a PNG", "notes.txt": "none", "empty": "none", "nothing": "none", ".": "none"} {
		a, found, err := l.Picture(filepath.Join(outside, name))
		switch {
		case want == "none" && (found || err != nil), want == "" && (!found || err != nil || a.URI != name || string(a.Picture) != painted(t, 3, 4)):
			t.Errorf("%s: %+v, %v, %v", name, a, found, err)
		case want != "" && want != "none" && (!found || err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
}

// A picture goes to the model, into the archive and out of it, and a trace names it.
func TestAPictureGoesAlong(t *testing.T) {
	noState(t)
	write(t, map[string]string{"cat.png": painted(t, 640, 480), "bad.png": painted(t, 3, 4)[:20]})
	var sent []string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if sent = append(sent, string(body)); len(sent) == 3 {
			http.Error(w, `{"error":{"message":"this model does not support image input"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A cat.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(provider.Close)
	model := []string{"--model", "openai:eyes", "--base-url", provider.URL}
	const name, url = "[attached: picture cat.png (640x480, 1 KB)]", `"image_url":{"url":"data:image/png;base64,iVBORw0KGgo`

	got := runs(t, "", append([]string{"chat", "-p", "what is it?", "--attach", "cat.png", "--json", "--trace", "--trace-file", "run.svg"}, model...)...)
	if got.code != cli.ExitOK || !strings.Contains(got.stdout, `"answered":{"text":"A cat."`) || strings.Contains(got.stdout, "iVBOR") {
		t.Errorf("%+v", got)
	}
	if len(sent) != 1 || !strings.Contains(sent[0], name) || !strings.Contains(sent[0], url) {
		t.Fatalf("sent %.2000q", sent)
	}
	diagram, err := os.ReadFile(in(t, "run.svg"))
	for what, text := range map[string]string{"the trace": got.stderr, "the diagram": string(diagram)} {
		if err != nil || !strings.Contains(text, "picture cat.png") || !strings.Contains(text, "[image/png]") {
			t.Errorf("%s does not name the picture: %v\n%.3000s", what, err, text)
		}
	}
	for format, want := range map[string][]string{"markdown": {name, "[image/png, 1225 bytes]"}, "json": {name, `"data":"iVBORw0KGgo`}} {
		exported := runs(t, "", "conversations", "export", "last", "--format", format)
		for _, want := range want {
			if !strings.Contains(exported.stdout, want) {
				t.Errorf("%s lacks %s: %s%s", format, want, exported.stdout, exported.stderr)
			}
		}
	}

	got = runs(t, painted(t, 3, 4), append([]string{"chat", "--resume", "-p", "and this?", "--attach", "-"}, model...)...)
	if got.code != cli.ExitOK || len(sent) != 2 || strings.Count(sent[1], url) != 2 || !strings.Contains(sent[1], "picture standard input (3x4, 75 bytes)") {
		t.Errorf("%+v, sent %.3000q", got, sent[1:])
	}
	got = runs(t, "", append([]string{"chat", "--resume", "-p", "sure?"}, model...)...) // by a model that sees nothing
	if got.code != cli.ExitOK || len(sent) != 4 || strings.Contains(sent[3], "image_url") || !strings.Contains(got.stderr, "2 pictures are not shown to the model, as its provider refused: this model does not support image input") {
		t.Errorf("%+v, sent %.3000q", got, sent[2:])
	}
	for _, attach := range []string{"bad.png", "-"} {
		got := runs(t, painted(t, 3, 4)[:20], "chat", "-p", "x", "--attach", attach)
		if got.code != cli.ExitUsage || !strings.Contains(got.stderr, "begins as a PNG picture, and is damaged") {
			t.Errorf("%s: %+v", attach, got)
		}
	}
}
