package tui

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// drawing is a PNG of a size.
func drawing(t testing.TB, width, height int) string {
	t.Helper()
	var b strings.Builder
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// attachedTo are the names and sizes of what goes along.
func attachedTo(q *host.Question) (all []string) {
	for _, a := range q.Attach {
		all = append(all, fmt.Sprintf("%s %d", a.URI, len(a.Picture)))
	}
	return all
}

func TestAPictureThatIsNamedGoesAlong(t *testing.T) {
	session, cat := offering(), drawing(t, 640, 480)
	var got host.Question
	session.ask = func(_ context.Context, q host.Question) error { got = q; return nil }
	play(t, session, 80, 24, func(st *stage) {
		st.keys("what is @cat.png?<enter>")
		st.printedText("❯ what is @cat.png?\n  attached: picture cat.png (640x480, 1 KB)")
		if want := []string{fmt.Sprintf("cat.png %d", len(cat))}; !slices.Equal(attachedTo(&got), want) || got.Attach[0].Text != "" {
			t.Errorf("attached %v", attachedTo(&got))
		}
	}, func(o *Options) { o.Files = drawer{"cat.png": cat} })
}

// Terminals send the paths of files that are dropped on them, each in its own way.
func TestPicturesThatAreDroppedBecomeLabels(t *testing.T) {
	cat, dog := drawing(t, 640, 480), drawing(t, 3, 4)
	files := drawer{"/p/cat.png": cat, "/p/my dog.png": dog, "/p/it's.png": dog, "/p/notes.txt": "text", "/p/bad.png": "\x89PNG\r\n\x1a\n"}
	for _, test := range []struct{ name, paste, want string }{
		{"as it is", "/p/cat.png", "cat.png"},
		{"with a space behind it", "/p/cat.png ", "cat.png"},
		{"a space in it, as it is", "/p/my dog.png", "my dog.png"},
		{"backslashes", `/p/my\ dog.png `, "my dog.png"},
		{"quotes", `'/p/my dog.png' "/p/cat.png" `, "my dog.png cat.png"},
		{"a quote in it", `'/p/it'\''s.png'`, "it's.png"},
		{"a URL", "file:///p/my%20dog.png\r\nfile://localhost/p/cat.png", "my dog.png cat.png"},
		{"a text file", "/p/notes.txt", ""},
		{"a text file next to a picture", "/p/cat.png /p/notes.txt", ""},
		{"a picture in a sentence", "see /p/cat.png", ""},
		{"a name that is not a path", "cat.png", ""},
		{"damaged", "/p/bad.png", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			session := offering()
			var got host.Question
			session.ask = func(_ context.Context, q host.Question) error { got = q; return nil }
			play(t, session, 100, 24, func(st *stage) {
				st.keys("look: ")
				st.send(tea.PasteMsg{Content: test.paste})
				if test.name == "damaged" {
					st.holds("it is damaged")
				}
				st.keys("<enter>")
				var names []string
				for _, a := range got.Attach {
					names = append(names, a.URI)
				}
				if strings.Join(names, " ") != test.want {
					t.Errorf("attached %q", names)
				}
				if strings.Contains(got.Text, "][") {
					t.Errorf("labels touch: %q", got.Text)
				}
				if shown := strings.Contains(got.Text, "[picture "); shown != (test.want != "") {
					t.Errorf("asked %q", got.Text)
				}
			}, func(o *Options) { o.Files = files })
		})
	}
}

func TestALabelStandsForItsPicture(t *testing.T) {
	session, cat := offering(), drawing(t, 640, 480)
	var asked []host.Question
	session.ask = func(_ context.Context, q host.Question) error { asked = append(asked, q); return nil }
	clipboard, err := []byte(drawing(t, 3, 4)), error(nil)
	play(t, session, 100, 24, func(st *stage) {
		st.keys("<ctrl+v>")
		st.settle()
		st.holds(fmt.Sprintf("❯ [picture 1: clipboard (3x4, %d bytes)]", len(clipboard)))
		st.keys(" or ")
		st.send(tea.PasteMsg{Content: "/p/a @cat.png"})
		st.keys("?<enter>")
		first := fmt.Sprintf("[picture 1: clipboard (3x4, %d bytes)] or [picture 2: a @cat.png (640x480, 1 KB)]?", len(clipboard))
		if len(asked) != 1 || asked[0].Text != first {
			t.Errorf("asked %d times, %q, want %q", len(asked), asked[0].Text, first)
		}
		if want := []string{fmt.Sprintf("clipboard %d", len(clipboard)), fmt.Sprintf("a @cat.png %d", len(cat))}; !slices.Equal(attachedTo(&asked[0]), want) {
			t.Errorf("attached %v, want %v", attachedTo(&asked[0]), want)
		}
		st.printedText(fmt.Sprintf("attached: picture clipboard (3x4, %d bytes), picture a @cat.png (640x480, 1 KB)", len(clipboard)))

		st.keys("<up>") // the same again, without the first one: a label is one character
		st.keys("<home><right><backspace><enter>")
		if len(asked) != 2 || len(asked[1].Attach) != 1 || asked[1].Attach[0].URI != "a @cat.png" {
			t.Errorf("asked %q with %v", asked[len(asked)-1].Text, attachedTo(&asked[len(asked)-1]))
		}

		err = errors.New("there is no picture in the clipboard")
		st.keys("<ctrl+v>")
		st.settle()
		st.holds("there is no picture in the clipboard")
		clipboard, err = []byte("\x89PNG\r\n\x1a\n"), nil
		st.keys("<ctrl+v>")
		st.settle()
		st.holds("clipboard begins as a PNG picture, and is damaged")
		st.screen.input.Set("[picture 9: cat.png (640x480, 12 KB)] and [picture 2]")
		st.keys("<enter>")
		st.holds("[picture 9: cat.png (640x480, 12 KB)] is no longer remembered")
		if len(asked) != 2 {
			t.Error("asked")
		}
	}, func(o *Options) {
		o.Files = drawer{"/p/a @cat.png": cat, "cat.png": "not that one"}
		o.Clipboard = func(context.Context) ([]byte, error) { return clipboard, err }
	})
}

// A question that waits for its turn keeps its pictures.
func TestPicturesAreRememberedWithinALimit(t *testing.T) {
	session := offering()
	session.ask = func(ctx context.Context, _ host.Question) error { <-ctx.Done(); return ctx.Err() }
	large := []byte(drawing(t, 9, 9) + strings.Repeat("x", 3<<20))
	play(t, session, 100, 24, func(st *stage) {
		s := st.screen
		st.keys("go<enter>")
		s.takePicture(host.Attachment{URI: "queued", Picture: large})
		st.keys("<enter>")
		st.holds("1 question queued")
		for range 20 {
			s.takePicture(host.Attachment{URI: "dropped", Picture: large})
			s.input.Set("")
		}
		held := 0
		for _, p := range s.pastes.all {
			held += len(p.picture.Picture)
		}
		if held > maxPastedBytes || s.pastes.all[0].picture.URI != "queued" {
			t.Errorf("%d bytes are remembered, the first of %s", held, s.pastes.all[0].picture.URI)
		}
		if q, err := s.toSend(s.waiting.texts[0]); err != nil || len(q.Attach) != 1 {
			t.Errorf("the queued question has %d attachments, %v", len(q.Attach), err)
		}
		st.keys("<esc>")
	}, func(o *Options) { o.Files = drawer{} })
}

func TestResumedQuestionsNameAttachments(t *testing.T) {
	session := offering()
	session.entries = []host.Entry{{Message: &model.Message{Role: model.RoleUser, Parts: []model.Part{
		{Text: "compare these"}, {Text: "[attached: picture cat.png (640x480, 12 KB)]"}, {Media: &model.Media{Type: "image/png", Data: []byte("x")}},
		{Text: "[attached: list.txt]\nbuy milk\n[end of list.txt]"},
	}}}}
	play(t, session, 100, 24, func(st *stage) {
		for i := range session.entries {
			st.screen.replay(&session.entries[i])
		}
		st.printedText("❯ compare these\n  attached: picture cat.png (640x480, 12 KB), list.txt")
		if all := st.scrollback(); strings.Contains(all, "buy milk") {
			t.Errorf("printed %s", all)
		}
	})
}

// What was pasted stood on the screen as a label, and does not push the conversation out of sight
// when it goes on.
func TestAResumedQuestionShowsTheBeginningOfALongPaste(t *testing.T) {
	session := offering()
	said := "what is wrong here?\n" + strings.Repeat("panic: x\n", 3000)
	session.entries = []host.Entry{{Message: &model.Message{Role: model.RoleUser, Parts: []model.Part{{Text: said}}}}}
	play(t, session, 80, 24, func(st *stage) {
		st.printedText("❯ what is wrong here?\n  panic: x\n  panic: x")
		st.printedText("  … 3.0k more lines (/export has all)")
		if n := strings.Count(st.scrollback(), "panic"); n != 19 {
			t.Errorf("%d lines of the paste are shown", n)
		}
	})
}
