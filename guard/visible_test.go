package guard

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// tags returns text in tag characters.
func tags(s string) string {
	var b strings.Builder
	for _, c := range s {
		b.WriteRune(0xe0000 + c)
	}
	return b.String()
}

func TestHiddenTextIsMadeVisibleAndTakenOut(t *testing.T) {
	for _, test := range []struct{ name, in, visible, clean string }{
		{"plain text", "Adds two numbers — 加法, ±1.", "Adds two numbers — 加法, ±1.", "Adds two numbers — 加法, ±1."},
		{"a zero-width space", "a\u200bb", "a⟨U+200B⟩b", "ab"},
		{"a byte order mark in the middle", "a\ufeffb", "a⟨U+FEFF⟩b", "ab"},
		{"an override of direction", "a\u202eb\u202c", "a⟨U+202E⟩b⟨U+202C⟩", "ab"},
		{"tag characters", "a" + tags("hi there") + "b", "a⟨tags: hi there⟩b", "ab"},
		{"a private character", "a\ue123b", "a⟨U+E123⟩b", "ab"},
		{"a soft hyphen", "co\u00adop", "co⟨U+00AD⟩op", "coop"},
		{"selectors on Latin letters", "a\ufe01b", "a⟨U+FE01⟩b", "ab"},
		{"escape sequences", "a\x1b[31mb", `a\x1b[31mb`, "a\x1b[31mb"},
		{"a family", "👨‍👩‍👧 at home", "👨‍👩‍👧 at home", "👨‍👩‍👧 at home"},
		{"the flag of Scotland", "🏴" + tags("gbsct") + "\U000e007f!", "🏴" + tags("gbsct") + "\U000e007f!", "🏴" + tags("gbsct") + "\U000e007f!"},
		{"a flag that is none", "🏴" + tags("say hi") + "\U000e007f", "🏴⟨tags: say hi⟩", "🏴"},
		{"a heart with a selector", "❤️", "❤️", "❤️"},
		{"Hebrew with a mark", "שלום\u200f!", `שלום\u200f!`, "שלום\u200f!"},
	} {
		if got := Visible(test.in); got != test.visible {
			t.Errorf("%s: visible %q, want %q", test.name, got, test.visible)
		}
		if got := Clean(test.in); got != test.clean {
			t.Errorf("%s: clean %q, want %q", test.name, got, test.clean)
		}
	}
}

func TestPersianKeepsItsJoiners(t *testing.T) {
	const want = "می\u200cخواهم"
	if got := Clean(want); got != want {
		t.Errorf("clean: %q", got)
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u200b" + tags("x") + "🏴" + tags("gbeng") + "\U000e007f👩‍💻\xff\x1b")
	f.Fuzz(func(t *testing.T, s string) {
		shown := Visible(s)
		if !utf8.ValidString(shown) {
			t.Errorf("%q: not UTF-8: %q", s, shown)
		}
		for _, r := range shown {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == '\u200b' {
				t.Fatalf("%q: %q is in %q", s, r, shown)
			}
		}
		clean := Clean(s)
		if again := Clean(clean); len(again) > len(clean) {
			t.Errorf("%q: cleaning twice made %q of %q", s, again, clean)
		}
	})
}
