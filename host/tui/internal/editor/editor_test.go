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
		{"killing to the left where nothing is", "你b", func(b *Buffer) { b.Home(); b.KillLeft(); b.KillWord() }, "|你b"},
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

func TestLinesAreWrappedAtSpaces(t *testing.T) {
	for _, test := range []struct {
		name, text, want string // in rows of nine cells and one for the cursor
		x, y             int
	}{
		{"words", "one two three four", "one two |three |four", 4, 2},
		{"a space that does not fit", "one two 9 cells..", "one two 9 |cells..", 7, 1},
		{"a space at the end that does not fit", "123456789 ", "123456789 |", 0, 1},
		{"a word that is wider than a row", "a 0123456789abc d", "a |012345678|9abc d", 6, 2},
		{"a word that fills the row", "123456789", "123456789", 9, 0},
		{"several spaces", "12345678   9", "12345678  | 9", 2, 1},
		{"wide characters", "a 你好吗你好吗", "a 你好吗|你好吗", 6, 1},
		{"a word behind wide characters", "你好 hello", "你好 |hello", 5, 1},
		{"an emoji of several runes", "1234567 👨‍👩‍👧 x", "1234567 |👨‍👩‍👧 x", 4, 1},
		{"line breaks", "one\ntwo three four\n", "one|two three |four|", 0, 3},
		{"a tab", "12345\tx yz", "12345    |x yz", 4, 1},
		{"a space that is not shown as one", "12345678 \ufe0f", `12345678| \ufe0f`, 7, 1},
		{"a paste is one word", "a [b c d] e", "a [b c d] |e", 1, 1},
		{"a paste is not broken at its spaces", "see [b c d] e", "see |[b c d] e", 9, 1},
	} {
		b := Buffer{Solid: []string{"[b c d]"}}
		b.Set(test.text)
		rows, x, y := b.Layout(10)
		var texts []string
		for _, r := range rows {
			texts = append(texts, r.Text)
		}
		if got := strings.Join(texts, "|"); got != test.want || x != test.x || y != test.y {
			t.Errorf("%s: got %q with the cursor at %d, %d; want %q, %d, %d", test.name, got, x, y, test.want, test.x, test.y)
		}
	}
}

func TestTheCursorMovesOverWrappedLines(t *testing.T) {
	for _, test := range []struct {
		name, text string
		do         func(*Buffer)
		want       string
	}{
		{"up to a row that is shorter, and back", "ab cdefghi jklmnopq", func(b *Buffer) { b.Up(10); b.Up(10) }, "ab| cdefghi jklmnopq"},
		{"the column is kept over a row that is shorter", "abcdefgh ij klmnopqr", func(b *Buffer) { b.Up(10); b.Up(10); b.Down(10); b.Down(10) }, "abcdefgh ij klmnopqr|"},
		{"down from the first row", "ab cdefghi jk", func(b *Buffer) { b.Home(); b.Right(); b.Down(10) }, "ab c|defghi jk"},
		{"Home and End go to the ends of the line", "x\nab cdefghi jk\ny", func(b *Buffer) {
			b.Up(10)
			b.Up(10)
			b.Home()
			b.Insert("<")
			b.End()
			b.Insert(">")
		}, "x\n<ab cdefghi jk>|\ny"},
		{"wide characters", "ab 你好吗你好吗", func(b *Buffer) { b.Up(10) }, "ab 你|好吗你好吗"},
		{"down over a paste that is wider than a row", "a\n[a picture]\nb", func(b *Buffer) { b.move(0); b.Down(10); b.Down(10); b.Down(10) }, "a\n[a picture]\n|b"},
		{"up over it", "a\n[a picture]\nb", func(b *Buffer) { b.Up(10); b.Up(10) }, "a|\n[a picture]\nb"},
	} {
		b := Buffer{Solid: []string{"[a picture]"}}
		b.Set(test.text)
		if test.do(&b); at(&b) != test.want {
			t.Errorf("%s: got %q, want %q", test.name, at(&b), test.want)
		}
	}
}

func TestInputIsBounded(t *testing.T) {
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
			all := ""
			for i, r := range rows {
				if all += b.text[r.from:r.to]; i+1 < len(rows) && rows[i+1].from > r.to {
					all += "\n"
				}
				if w := ink.Width(r.Text); w > 20 && r.to-r.from > ink.First(b.text[r.from:]) {
					t.Fatalf("row %q has %d cells", r.Text, w)
				}
			}
			if all != b.text {
				t.Fatalf("the rows hold %q of %q", all, b.text)
			}
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
