package markdown

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/threadtime"
)

func plain(lines []ink.Line) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(l.String(), " "))
	}
	return strings.Join(out, "\n")
}

func TestRenderShows(t *testing.T) {
	for _, test := range []struct {
		name, in string
		width    int
		want     string
	}{
		{"nothing", "", 40, ""},
		{"a paragraph, wrapped", "The quick brown fox\njumps over the lazy dog", 20, "The quick brown fox\njumps over the lazy\ndog"},
		{"headings without their marks", "# One\n\n## Two", 40, "One\n\nTwo"},
		{"emphasis without its marks", "**bold** *it* ~~gone~~ `code *x*`", 40, "bold it gone code *x*"},
		{"escapes and entities", `\*a\* &amp; &#65;`, 40, "*a* & A"},
		{"lists in lists", "- a\n  - b\n    1. c\n    2. d\n- e", 40, "• a\n  ◦ b\n    1. c\n    2. d\n• e"},
		{"a list that begins at seven", "7. x\n8. y", 40, "7. x\n8. y"},
		{"a loose list as one part", "- a\n\n- b", 40, "• a\n\n• b"},
		{"long items with a margin", "- one two three four", 10, "• one two\n  three\n  four"},
		{"tasks", "- [x] done\n- [ ] open", 40, "• ☑ done\n• ☐ open"},
		{"code with its language", "```go\nfunc main() {\n\tx()\n}\n```", 40, "┌ go\n  func main() {\n      x()\n  }"},
		{"code that is too long", "```\nabcdefghij\n```", 8, "  abcdef\n  ghij"},
		{"code that is not finished", "text\n\n```py\nx = 1", 40, "text\n\n┌ py\n  x = 1"},
		{"quotes", "> a\n> b\n>\n> > c", 40, "│ a b\n│\n│ │ c"},
		{"a rule", "a\n\n---\n\nb", 5, "a\n\n─────\n\nb"},
		{"links with their address", "[here](https://example.com/x) <https://a.b>", 60, "here (https://example.com/x) https://a.b"},
		{"a link that is its own address once", "[https://a.b](https://a.b)", 60, "https://a.b"},
		{"images", "![a cat](cat.png)", 60, "image: a cat (cat.png)"},
		{"HTML as text", "<b>x</b> <script>alert(1)</script>", 60, "<b>x</b> <script>alert(1)</script>"},
		{"a hard break", "a  \nb\\\nc", 60, "a\nb\nc"},
		{"a table", "| a | bb |\n|--:|:--|\n| 100 | x |\n| 2 | `y|` |", 40, "  a │ bb\n────┼───\n100 │ x\n  2 │ `y"},
		{"a table that is too wide", "| name | text |\n|---|---|\n| x | the quick brown fox |", 20, "name │ text\n─────┼──────────────\nx    │ the quick\n     │ brown fox"},
		{"a table with too many columns", "|a|b|c|d|\n|-|-|-|-|\n|11111|222222|33333|44444|\n|5|6|7|8|", 20, "a: 11111\nb: 222222\nc: 33333\nd: 44444\n────────────────────\na: 5\nb: 6\nc: 7\nd: 8"},
		{"wide characters", "你好世界", 4, "你好\n世界"},
		{"an escape sequence, made visible", "a\x1b[31mb", 40, `a\x1b[31mb`},
		{"a control character from an entity", "&#27;[2J", 40, `\x1b[2J`},
		{"reversed text, made visible", "abc\u202edef", 40, `abc\u202edef`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := plain(Render(test.in, test.width)); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestStylesOfTexts(t *testing.T) {
	lines := Render("# H\n\n**b** `c` [l](u)", 40)
	theme, _ := ink.Named("dark")
	got := theme.PaintAll(lines)
	want := "\x1b[1;4;95mH\x1b[m\n\n\x1b[1mb\x1b[m \x1b[93mc\x1b[m \x1b[4;94ml\x1b[m\x1b[90m (u)\x1b[m"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStreamsReturnFinishedBlocks(t *testing.T) {
	var s Stream
	for i, step := range []struct {
		add  string
		want []string
		rest string
	}{
		{"# T", nil, "# T"},
		{"itle\n\nSome te", nil, "# Title\n\nSome te"},
		{"xt\n", []string{"# Title\n\n"}, "Some text\n"},
		{"\n```\na\n\nb\n", []string{"Some text\n\n"}, "```\na\n\nb\n"},
		{"```\n\nend\n", []string{"```\na\n\nb\n```\n\n"}, "end\n"},
	} {
		parts := s.Add(step.add)
		if strings.Join(parts, "|") != strings.Join(step.want, "|") || s.Rest() != step.rest {
			t.Errorf("step %d: got %q and %q, want %q and %q", i, parts, s.Rest(), step.want, step.rest)
		}
	}
	if got := s.End(); got != "end\n" || s.Rest() != "" {
		t.Errorf("End returned %q", got)
	}
}

func TestLongPartsAreCut(t *testing.T) {
	for name, text := range map[string]string{
		"one line":                  strings.Repeat("x", 5*maxPart),
		"one line of code":          "```go\n" + strings.Repeat("y", 3*maxPart),
		"many lines of code":        "```go\n" + strings.Repeat("z\n", 3*maxPart) + "```\n",
		"a fence as long as a book": strings.Repeat("`", 3*maxPart) + "\n",
		"wide characters":           strings.Repeat("界", maxPart),
	} {
		t.Run(name, func(t *testing.T) {
			for _, part := range Parts(text) {
				if len(part) > maxPart+1 {
					t.Errorf("a part has %d bytes", len(part))
				}
				if name == "many lines of code" && !strings.HasPrefix(part, "```go\n") {
					t.Errorf("a part begins with %.20q", part)
				}
			}
		})
	}
}

func TestDeepNestingIsShownAsWritten(t *testing.T) {
	lines := Render(strings.Repeat("> ", 5_000)+"x", 80)
	if len(lines) == 0 || len(lines) > 300 {
		t.Errorf("%d lines", len(lines))
	}
	bounded(t, lines, 80)
}

func TestNoTextTakesLong(t *testing.T) {
	for _, unit := range []string{"*", "_a", "**a ", "[", "[a](", "![", "<", "<a:", "`", "``a", "~~", "~a", "> ", "- ", "1. ", "|", "|a", "&", "\\", "a\n", " a\n\t", "#", "- a\n  ", "[a]: b\n", "*a_b", "🙂", "a\u0301", "\x1b[", "\u202e", "| a | b |\n|-|-|\n", "|-", "(", "a b "} {
		a := threadtime.Of(func() { Part(strings.Repeat(unit, maxPart/len(unit)), 40) })
		b := threadtime.Of(func() {
			Part("|"+strings.Repeat(unit, maxPart/len(unit)/2)+"|\n"+strings.Repeat("|-", maxPart/4), 40)
		})
		if a+b > 5*time.Second {
			t.Errorf("%q: %v, %v", unit, a, b)
		}
	}
}

func bounded(t *testing.T, lines []ink.Line, width int) {
	t.Helper()
	theme, _ := ink.Named("bare")
	for _, l := range lines {
		if l.Width() > width {
			t.Fatalf("%q has %d cells, more than %d", l, l.Width(), width)
		}
		for _, r := range theme.Paint(l) {
			if unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%q has the character %U", l, r)
			}
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, seed := range []string{"# a\n\nb *c*", "- a\n  - b\n\n    c", "|a|b|\n|-|-|\n|c|d|", "```x\ny\n", "> > \x1b[2J", "1) x\n\n\n2) y", "[a](b \"c\")", "~~a~~\r\n\tb", "&#0;\\"} {
		f.Add(seed, 20, 3)
	}
	f.Fuzz(func(t *testing.T, text string, width, cut int) {
		if len(text) > 4*maxPart {
			return
		}
		width = 2 + (width&0xff)%100
		whole := Render(text, width)
		bounded(t, whole, width)
		var s Stream
		var parts []string
		for rest := text; rest != ""; {
			n := min(len(rest), 1+(cut&0xf))
			parts = append(parts, s.Add(rest[:n])...)
			rest = rest[n:]
		}
		if rest := s.End(); strings.TrimSpace(rest) != "" {
			parts = append(parts, rest)
		}
		if got, want := strings.Join(parts, "\x00"), strings.Join(Parts(text), "\x00"); got != want {
			t.Errorf("in pieces %q, whole %q", got, want)
		}
	})
}
