package ink

import (
	"strings"
	"testing"
	"unicode"
)

func texts(lines []Line) string {
	var out []string
	for _, l := range lines {
		out = append(out, l.String())
	}
	return strings.Join(out, "|")
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		name, text string
		width      int
		want       string
	}{
		{"nothing", "", 5, ""},
		{"what fits", "one two", 7, "one two"},
		{"at a space", "one two", 6, "one|two"},
		{"the spaces at a break are dropped", "one   two", 5, "one|two"},
		{"indentation is kept", "  one\n\n  two", 9, "  one||  two"},
		{"a long word", "abcdefgh", 3, "abc|def|gh"},
		{"a long word behind a short one", "a bcdefgh i", 4, "a|bcde|fgh|i"},
		{"wide characters", "你好 世界", 4, "你好|世界"},
		{"a character that is too wide", "你", 1, "…"},
		{"tabs", "a\tb", 9, "a    b"},
		{"no width", "ab", 0, "a|b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := texts(Lines(Plain, test.text, test.width)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestStylesStayWithTheirText(t *testing.T) {
	line := Line{T(Plain, "a"), T(Code, "bc de"), T(Plain, "f")}
	theme, _ := Named("dark")
	if got, want := theme.PaintAll(Wrap(line, 4)), "a\x1b[93mbc\x1b[m\n\x1b[93mde\x1b[mf"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCutAndPad(t *testing.T) {
	l := Line{T(Plain, "你好"), T(Code, "abc")}
	for width, want := range map[int]string{7: "你好abc", 6: "你好a…", 4: "你…", 1: "…", 0: ""} {
		if got := l.Cut(width).String(); got != want {
			t.Errorf("%d: got %q, want %q", width, got, want)
		}
	}
	if got := l.Pad(9).String(); got != "你好abc  " || l.String() != "你好abc" {
		t.Errorf("got %q", got)
	}
}

func TestThemes(t *testing.T) {
	l := Line{T(Bad, "x", Bold, Underline), T(Plain, "y\nz")}
	for name, want := range map[string]string{
		"dark": "\x1b[1;4;91mx\x1b[my z", "light": "\x1b[1;4;31mx\x1b[my z", "mono": "\x1b[1;4mx\x1b[my z", "bare": "xy z",
	} {
		theme, ok := Named(name)
		if got := theme.Paint(l); !ok || got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if _, ok := Named("pink"); ok {
		t.Error("there is a theme pink")
	}
}

// Whatever a text holds, its lines fit, and what is painted of them holds no
// control characters.
func FuzzWrap(f *testing.F) {
	f.Add("one two\n\x1b[31mthree\u202e 你好 e\u0301", 7)
	f.Add("👩‍👩‍👧 \u200b\x00\xff", 1)
	theme, _ := Named("bare")
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = 2 + (width&0xff)%60
		lines := Wrap(Line{T(Plain, text), T(Code, text)}, width)
		lines = append(lines, Chop(Line{T(Code, strings.ReplaceAll(text, "\n", " "))}, width)...)
		for _, l := range append(lines, Line{T(Plain, text)}.Cut(width)) {
			if l.Width() > width && !strings.Contains(l.String(), "\n") {
				t.Fatalf("%q has %d cells, more than %d", l, l.Width(), width)
			}
			if strings.ContainsFunc(theme.Paint(l), func(r rune) bool { return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) }) {
				t.Fatalf("%q holds control characters", theme.Paint(l))
			}
		}
	})
}
