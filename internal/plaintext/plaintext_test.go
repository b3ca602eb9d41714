package plaintext

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCleanShowsHiddenText(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"plain text", "Hello, Wörld! 你好 مرحبا नमस्ते 🙂\n\tindented", "Hello, Wörld! 你好 مرحبا नमस्ते 🙂\n\tindented"},
		{"combining marks", "e\u0301", "e\u0301"},
		{"a backslash", `a\x1b`, `a\x1b`},
		{"Windows line ends", "a\r\nb\r\n", "a\nb\n"},
		{"a carriage return that overwrites", "evil\rgood", `evil\x0dgood`},
		{"carriage returns before a line end", "a\r\r\nb\r", `a\x0d` + "\n" + `b\x0d`},
		{"control characters", "\x00\x07\x08\x0b\x0c\x1f\x7f", `\x00\x07\x08\x0b\x0c\x1f\x7f`},
		{"C1 control characters", "\u0080\u0085\u009b\u009f\u00a0", `\u0080\u0085\u009b\u009f` + "\u00a0"},
		{"a colour", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"a hyperlink", "\x1b]8;;http://evil\x1b\\good\x1b]8;;\x07", `\x1b]8;;http://evil\x1b\good\x1b]8;;\x07`},
		{"bidi embeddings and overrides", "a\u202a\u202b\u202c\u202d\u202eb", `a\u202a\u202b\u202c\u202d\u202eb`},
		{"bidi isolates", "\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`},
		{"bidi marks", "\u061c\u200e\u200f", `\u061c\u200e\u200f`},
		{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufeff", `a\u200bb\u200cc\u200dd\u2060e\ufeff`},
		{"invisible operators", "\u2061\u2062\u2063\u2064\u2065", `\u2061\u2062\u2063\u2064\u2065`},
		{"soft hyphen and joiner", "\u00ad\u034f\u180e", `\u00ad\u034f\u180e`},
		{"fillers", "\u115f\u1160\u3164\uffa0\u17b4", `\u115f\u1160\u3164\uffa0\u17b4`},
		{"line and paragraph separator", "\u2028\u2029", `\u2028\u2029`},
		{"annotations", "\ufff9\ufffb", `\ufff9\ufffb`},
		{"tag characters", "\U000e0001\U000e0041\U000e007f", `\U000e0001\U000e0041\U000e007f`},
		{"variation selectors", "a\ufe00\ufe0f\U000e0100", `a\ufe00\ufe0f\U000e0100`},
		{"an emoji selector where it belongs", "⚠\ufe0f ❤\ufe0f ℹ\ufe0f", "⚠\ufe0f ❤\ufe0f ℹ\ufe0f"},
		{"an emoji selector too many", "⚠\ufe0f\ufe0f", "⚠\ufe0f" + `\ufe0f`},
		{"an emoji selector behind what was hidden", "\u200b\ufe0f", `\u200b\ufe0f`},
		{"an emoji selector at the start", "\ufe0fa", `\ufe0fa`},
		{"a family", "👩\u200d👩\u200d👧\u200d👦 and 🏳\ufe0f\u200d🌈, 👩🏽\u200d💻", "👩\u200d👩\u200d👧\u200d👦 and 🏳\ufe0f\u200d🌈, 👩🏽\u200d💻"},
		{"two joiners", "👩\u200d\u200d👧", `👩\u200d\u200d👧`},
		{"a joiner that joins a letter", "👩\u200da", `👩\u200da`},
		{"a joiner that separates symbols", "👩\u200c👧", `👩\u200c👧`},
		{"joiners between signs that are no emoji", "°\u200d°", `°\u200d°`},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"Hindi", "क्\u200dष", "क्\u200dष"},
		{"two joiners in Persian", "می\u200c\u200cخواهم", `می\u200c\u200cخواهم`},
		{"a joiner before Persian", "\u200cخ", `\u200cخ`},
		{"a visible format character", "\u0600\u06dd", "\u0600\u06dd"},
		{"no characters", "\ufffe\uffff\U0001fffe", `\ufffe\uffff\U0001fffe`},
		{"invalid UTF-8", "a\xffb\xc3(\xed\xa0\x80", `a\xffb\xc3(\xed\xa0\x80`},
		{"UTF-8 that is cut off", "a\xe4\xbd", `a\xe4\xbd`},
		{"the replacement character itself", "\ufffd", "\ufffd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Clean(test.in); got != test.want {
				t.Errorf("%+q, want %+q", got, test.want)
			}
		})
	}
}

func TestLineIsShortAndSingle(t *testing.T) {
	for _, test := range []struct {
		name string
		in   string
		max  int
		want string
	}{
		{"what fits", "hello", 5, "hello"},
		{"one too many", "hello!", 5, "hell…"},
		{"runes, not bytes", "ééééé", 5, "ééééé"},
		{"one rune", "hello", 1, "…"},
		{"one rune that fits", "h", 1, "h"},
		{"no room", "hello", 0, ""},
		{"less than no room", "hello", -1, ""},
		{"nothing", "", 5, ""},
		{"lines and tabs", "a\nb\tc\r\nd", 20, "a b c d"},
		{"runs of lines and tabs", "a\n\n\t\tb\n  c", 20, "a b   c"},
		{"lines do not count before they are folded", "a" + strings.Repeat("\n", 100) + "b", 3, "a b"},
		{"carriage returns", "a\r\r\n\r\nb", 20, `a\x0d b`},
		{"an escape is shortened too", "ab\u202ecd", 5, `ab\u…`},
		{"a cut that would end in a line end", "ab\n\ncd", 4, "ab …"},
		{"invalid UTF-8", "\xff\xff", 4, `\xf…`},
		{"a cut behind a joiner", "👩\u200d👩\u200d👧", 3, "👩…"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Line(test.in, test.max); got != test.want {
				t.Errorf("%+q, want %+q", got, test.want)
			}
		})
	}
}

func TestPlainTextIsNotCopied(t *testing.T) {
	text := strings.Repeat("plain text, Wörter\n", 100)
	if n := testing.AllocsPerRun(10, func() { Clean(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// mayStay is the documented rule, written differently from the code.
func mayStay(r, last rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case r == '\u200d' && (unicode.IsSymbol(last) || last == '\ufe0f'), (r == '\u200c' || r == '\u200d') && last >= 0x600 && (unicode.IsLetter(last) || unicode.IsMark(last)):
		return true
	case r == '\ufe0f':
		return unicode.IsSymbol(last) || last == 'ℹ'
	case unicode.IsGraphic(r):
		return !unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
	case unicode.Is(unicode.Cf, r):
		return unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	default: // private and unassigned characters are displayed in some form
		return !unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point, unicode.Other_Default_Ignorable_Code_Point)
	}
}

func TestEveryRuneIsSafeOrWrittenOut(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		in := string(r)
		if out := Clean(in); (out == in) != (mayStay(r, -1) || r == utf8.RuneError) {
			t.Errorf("%U becomes %+q", r, out)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31m\u202e\r\n\xff⚠\ufe0f", 4)
	f.Add("\r\r\n\n\t\u200b", 1)
	f.Fuzz(func(t *testing.T, s string, max int) {
		clean := Clean(s)
		checkSafe(t, clean)
		if again := Clean(clean); again != clean {
			t.Errorf("cleaned twice: %+q, once: %+q", again, clean)
		}
		line := Line(s, max)
		checkSafe(t, line)
		if strings.ContainsAny(line, "\n\t") || utf8.RuneCountInString(line) > max && line != "" {
			t.Errorf("line of at most %d: %+q", max, line)
		}
		if again := Line(line, max); again != line {
			t.Errorf("line twice: %+q, once: %+q", again, line)
		}
		if whole := []rune(fold(clean)); max > 0 && len(whole) <= max && line != string(whole) {
			t.Errorf("line %+q, want %+q", line, string(whole))
		} else if max > 0 && len(whole) > max && line != string(whole[:max-1])+"…" {
			t.Errorf("line %+q, want %+q", line, string(whole[:max-1])+"…")
		}
	})
}

func checkSafe(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("not valid UTF-8: %+q", s)
	}
	last := rune(-1)
	for _, r := range s {
		if !mayStay(r, last) && r != utf8.RuneError {
			t.Errorf("%U stays in %+q", r, s)
		}
		last = r
	}
}

func BenchmarkCleanPlain(b *testing.B) {
	text := strings.Repeat("plain text, Wörter 你好\n", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Clean(text)
	}
}

func BenchmarkLineOfMuch(b *testing.B) {
	text := strings.Repeat("plain text, Wörter 你好\n", 100000)
	for b.Loop() {
		Line(text, 80)
	}
}

func TestNumbersAndBeginnings(t *testing.T) {
	for n, want := range map[int]string{0: "0 tools", 1: "1 tool", 2: "2 tools"} {
		if got := Count(n, "tool"); got != want {
			t.Errorf("%d is %q", n, got)
		}
	}
	if got := Count(3, "process"); got != "3 processes" {
		t.Errorf("3 are %q", got)
	}
	for n, want := range map[int]string{0: "", 1: "a", 2: "a", 3: "aé", 9: "aéb"} {
		if got := Beginning("aéb", n); got != want {
			t.Errorf("of %d bytes: %q", n, got)
		}
	}
	for n, want := range map[int]string{0: "…", 1: "a…", 2: "a…", 3: "aé…", 4: "aéb", 9: "aéb"} {
		if got := Short("aéb", n); got != want {
			t.Errorf("short, of %d bytes: %q", n, got)
		}
	}
}

func BenchmarkLineThatStaysAsItIs(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Line("files__read_file", 500)
	}
}
