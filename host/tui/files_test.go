package tui

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/picture"
)

// drawer are files in memory.
type drawer map[string]string

func (d drawer) Find(_ context.Context, typed string) []string {
	var found []string
	for name := range d {
		if strings.HasPrefix(name, typed) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

func (d drawer) Read(path string) (host.Attachment, bool, error) {
	text, found := d[path]
	if text == "" && found {
		return host.Attachment{}, true, errors.New(path + " is empty")
	}
	if picture.Is([]byte(text)) {
		return host.Attachment{URI: path, Picture: []byte(text)}, found, nil
	}
	return host.Attachment{URI: path, Text: text}, found, nil
}

func (d drawer) Picture(path string) (host.Attachment, bool, error) {
	text := d[path]
	switch {
	case !picture.Is([]byte(text)):
		return host.Attachment{}, false, nil
	case len(text) < 20:
		return host.Attachment{}, true, errors.New("it is damaged")
	}
	return host.Attachment{URI: filepath.Base(path), Picture: []byte(text)}, true, nil
}

func TestLocalFilesAreAttached(t *testing.T) {
	session := offering()
	var got host.Question
	session.ask = func(_ context.Context, q host.Question) error { got = q; return nil }
	play(t, session, 80, 24, func(st *stage) {
		st.keys("compare @READ")
		st.holds("▸ @README.md")
		st.keys("<tab>with @my<tab>and @ev:demo://text, @alice and a@b.txt<enter>")
		st.printedText("❯ compare @README.md with @\"my file.txt\" and @ev:demo://text, @alice and a@b.txt\n  attached: README.md (7 bytes), my file.txt (5 bytes)")
		want := []host.Attachment{{URI: "README.md", Text: "# Hello"}, {URI: "my file.txt", Text: "notes"}, {Server: "ev", URI: "demo://text"}}
		if !reflect.DeepEqual(got.Attach, want) {
			t.Errorf("attached %+v", got.Attach)
		}
		got = host.Question{}
		st.keys("what is in @README.md? And again @README.md.<enter>")
		if len(got.Attach) != 1 || got.Attach[0].URI != "README.md" {
			t.Errorf("attached %+v", got.Attach)
		}
		got = host.Question{}
		st.keys("see @none.txt now<enter>")
		st.holds("none.txt is empty")
		st.holds("❯ see @none.txt now")
		if got.Text != "" {
			t.Errorf("asked %+v", got)
		}
		st.keys("<ctrl+c>@text") // a server has demo://text
		st.holds("▸ @text.md")
		st.keys("<ctrl+c>@src/<tab>")
		st.holds("❯ @src/main.go")
	}, func(o *Options) {
		o.Files = drawer{"README.md": "# Hello", "my file.txt": "notes", "none.txt": "", "src/main.go": "package main", "text.md": "t", "b.txt": "b"}
	})
}

func TestMissingFilesAreReported(t *testing.T) {
	session := offering()
	play(t, session, 80, 24, func(st *stage) {
		st.keys("see @missing.txt, @alice<enter>")
		st.printedText("there is no file missing.txt here, so nothing is attached for @missing.txt")
		st.keys("thanks @README.md<enter>")
		if n := strings.Count(st.scrollback(), "there is no file"); n != 1 {
			t.Errorf("said %d times", n)
		}
	}, func(o *Options) { o.Files = drawer{"README.md": "# Hello"} })
}
