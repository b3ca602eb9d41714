package editor

import (
	"strings"
	"testing"
	"unicode"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// at is the text with the cursor in it.
func at(b *Buffer) string { return b.Before() + "|" + b.After() }

func TestEditing(t *testing.T) {
	for _, test := range []struct {
		name, text string
		do         func(*Buffer)
		want       string
	}{
		{"typing", "ab", func(b *Buffer) { b.Left(); b.Insert("x") }, "ax|b"},
		{"deleting", "abc", func(b *Buffer) { b.Backspace(); b.Home(); b.Delete() }, "|b"},
		{"deleting where nothing is", "", func(b *Buffer) { b.Backspace(); b.Delete(); b.KillWord(); b.KillLeft(); b.KillRight() }, "|"},
		{"a character of several runes", "ae\u0301", func(b *Buffer) { b.Backspace() }, "a|"},
		{"over a line break", "a\nb", func(b *Buffer) { b.Home(); b.Left(); b.Left() }, "|a\nb"},
		{"words", "one two  three", func(b *Buffer) { b.WordLeft(); b.WordLeft() }, "one |two  three"},
		{"words to the right", "one two", func(b *Buffer) { b.Home(); b.WordRight(); b.WordRight() }, "one two|"},
		{"a killed word comes back", "one two", func(b *Buffer) { b.KillWord(); b.Home(); b.Yank() }, "two|one "},
		{"killing to the ends of a line", "a\nbcd\ne", func(b *Buffer) { b.Up(80); b.Right(); b.KillLeft(); b.KillRight() }, "a\n|\ne"},
		{"killing a line break", "a\nb", func(b *Buffer) { b.Up(80); b.End(); b.KillRight() }, "a|b"},
		{"control characters do not get in", "", func(b *Buffer) { b.Insert("a\x1b[31m\r\nb\x00\u009bc\rd") }, "a[31m\nbc\nd|"},
		{"replacing a word", "see @ev", func(b *Buffer) { b.Replace(3, "@everything:") }, "see @everything:|"},
		{"a column is kept", "abcd\nx\nabcd", func(b *Buffer) { b.Up(80); b.Up(80) }, "abcd|\nx\nabcd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b Buffer
			b.Set(test.text)
			test.do(&b)
			if at(&b) != test.want {
				t.Errorf("got %q, want %q", at(&b), test.want)
			}
		})
	}
}

func TestLayout(t *testing.T) {
	var b Buffer
	b.Set("abcdef\n你好吗\u202e")
	rows, x, y := b.Layout(5)
	var texts []string
	for _, r := range rows {
		texts = append(texts, r.Text)
	}
	if got, want := strings.Join(texts, "|"), `abcd|ef|你好|吗|\u202e`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if x != 6 || y != 4 {
		t.Errorf("the cursor is at %d, %d", x, y)
	}
}

func TestThereIsALimit(t *testing.T) {
	var b Buffer
	b.Insert(strings.Repeat("界", maxText))
	b.Insert("x")
	if len(b.Text()) > maxText || !strings.HasPrefix(b.Text(), "界") {
		t.Errorf("%d bytes", len(b.Text()))
	}
}

func FuzzBuffer(f *testing.F) {
	f.Add("hello\nworld", []byte("lrudhebxkwy"))
	f.Add("你好\u0301\u200d\x1b", []byte("lxlxuddw"))
	f.Fuzz(func(t *testing.T, text string, keys []byte) {
		var b Buffer
		b.Insert(text)
		for _, k := range keys[:min(len(keys), 200)] {
			press(&b, k)
			rows, x, y := b.Layout(20)
			if y >= len(rows) || x > 40 && ink.Width(rows[y].Text) < x {
				t.Fatalf("cursor at %d, %d of %d rows", x, y, len(rows))
			}
			if strings.ContainsFunc(b.Text(), func(r rune) bool { return r != '\n' && r != '\t' && unicode.Is(unicode.Cc, r) }) {
				t.Fatalf("%q holds control characters", b.Text())
			}
		}
	})
}

func press(b *Buffer, k byte) {
	moves := map[byte]func(){
		'l': b.Left, 'r': b.Right, 'h': b.Home, 'e': b.End, 'b': b.Backspace, 'x': b.Delete, 'w': b.KillWord,
		'k': b.KillRight, 'y': b.Yank, 'n': b.WordRight, 'p': b.WordLeft, 'U': b.KillLeft,
		'u': func() { b.Up(20) }, 'd': func() { b.Down(20) },
	}
	if f := moves[k]; f != nil {
		f()
	}
}
