package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		name, text    string
		indent, width int
		want          string
	}{
		{"short text stays on its line", "a b", 0, 40, "a b"},
		{"empty text stays empty", " \n ", 4, 40, ""},
		{"long text breaks between words", "the quick brown fox jumps", 0, 20, "the quick brown fox\njumps"},
		{"a word that does not fit is broken", strings.Repeat("x", 45), 0, 20, strings.Repeat("x", 20) + "\n" + strings.Repeat("x", 20) + "\nxxxxx"},
		{"every line is indented", "one\ntwo", 2, 40, "  one\n  two"},
		{"the text's own indentation and empty lines stay", "list:\n\n  - a\n\t- b", 1, 40, " list:\n\n   - a\n     - b"},
		{"wide characters take two cells", "日本語日本語日本語 日本語", 0, 20, "日本語日本語日本語\n日本語"},
		{"combining characters take none", strings.Repeat("e\u0301", 20), 0, 20, strings.Repeat("e\u0301", 20)},
		{"a screen too narrow for the indentation still shows text", "a b c", 30, 20, strings.Repeat(" ", 30) + "a b c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Wrap(test.text, test.indent, test.width); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestTable(t *testing.T) {
	long := strings.Repeat("n", 30)
	for _, test := range []struct {
		name string
		rows [][]string
		want string
	}{
		{"no rows are no text", nil, ""},
		{"columns are aligned", [][]string{{"a", "integer", "x"}, {"bcd", "any", "y"}}, "  a    integer  x\n  bcd  any      y\n"},
		{"the last column is wrapped below itself", [][]string{{"name", "one two three four five six seven eight nine"}},
			"  name  one two three four five six\n        seven eight nine\n"},
		{"a cell wider than half pushes the rest to the next line", [][]string{{long, "text"}, {"a", "b"}},
			"  " + long + "\n     text\n  a  b\n"},
		{"an empty last cell leaves no space behind", [][]string{{"a", ""}}, "  a\n"},
		{"wide characters are counted", [][]string{{"日本", "x"}, {"abcd", "y"}}, "  日本  x\n  abcd  y\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Table(test.rows, 2, 40); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func FuzzWrapNeverExceedsTheWidth(f *testing.F) {
	f.Add("the quick\tbrown fox\n\n日本語", 4, 30)
	f.Fuzz(func(t *testing.T, text string, indent, width int) {
		if indent < 0 || indent > 100 || width < 0 || width > 200 {
			return
		}
		for line := range strings.SplitSeq(Wrap(text, indent, width), "\n") {
			if Width(line) > max(width, indent+minText) {
				t.Errorf("%q has %d cells of %d", line, Width(line), width)
			}
		}
	})
}

func TestScreenCleansOutput(t *testing.T) {
	var out bytes.Buffer
	s := NewScreen(&out)
	s.Printf("%s\n", "a\x1b]52;c;evil\x07\u202eb")
	if want := "a\\x1b]52;c;evil\\x07\\u202eb\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if s.Terminal() || s.Width() != defaultWidth {
		t.Errorf("a buffer is taken for a terminal of %d cells", s.Width())
	}
}

// screenOf returns a screen that pretends to be a terminal.
func screenOf(out io.Writer) *Screen { return &Screen{out: out, terminal: true, width: 40} }

func TestTransientLineStaysBelowOutput(t *testing.T) {
	var out bytes.Buffer
	s := screenOf(&out)
	s.Transient("50 %\x1b[2J")
	s.Printf("log\n")
	s.Transient("")
	const erase = "\r\x1b[K"
	if want := `50 %\x1b[2J` + erase + "log\n" + `50 %\x1b[2J` + erase; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestNoTransientLineInTheBackground(t *testing.T) {
	var out bytes.Buffer
	s := screenOf(&out)
	s.Transient("before")
	s.away = true // as after Ctrl-Z and bg
	s.Printf("a\n")
	s.Transient("working")
	s.Printf("b\n")
	s.away = false // as after fg
	s.Printf("c\n")
	s.Transient("")
	if got, want := out.String(), "beforea\nb\nc\nworking\r\x1b[K"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBar(t *testing.T) {
	for _, test := range []struct {
		name            string
		progress, total float64
		want            string
	}{
		{"a total gives a bar", 1, 4, "██████░░░░░░░░░░░░░░░░░░  25 %  now"},
		{"more than the total is all of it", 9, 4, "████████████████████████ 100 %  now"},
		{"without a total there is a number", 3, 0, "… 3  now"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := barLine(test.progress, test.total, "now"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestBarWritesLinesWithoutATerminal(t *testing.T) {
	var out bytes.Buffer
	b := &Bar{Screen: NewScreen(&out), Lines: true}
	b.Show(1, 2, "half\x1b")
	b.Done()
	b.Show(2, 2, "too late")
	if want := "progress: 1/2 half\\x1b\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestAnswersAreReadLineByLine(t *testing.T) {
	var out bytes.Buffer
	s := screenOf(&out)
	p := NewPerson(strings.NewReader("one\ntwo\n"), s)
	s.Transient("busy")
	end, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		if got, err := p.Line(t.Context(), "? "); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if _, err := p.Line(t.Context(), "? "); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("got %v at the end of the input", err)
	}
	s.Printf("log\n")
	s.Printf("%s", strings.Repeat("x", maxWaiting))
	end()
	const erase = "\r\x1b[K"
	if got, want := out.String(), "busy"+erase+"? ? ? \nbusy"+erase+"log\nbusy"+erase+"(1 more messages were left out)\nbusy"; got != want {
		t.Errorf("the screen shows %q, want %q", got, want)
	}
}

func TestALineForAWithdrawnQuestionAnswersNoOther(t *testing.T) {
	in, typing := io.Pipe()
	defer typing.Close()
	var out bytes.Buffer
	p := NewPerson(in, screenOf(&out))
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if _, err := p.Line(ctx, "one? "); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if _, err := p.Line(ctx, "two? "); !errors.Is(err, gone) {
		t.Errorf("got %v from a question that is withdrawn before it is asked", err)
	}
	go io.WriteString(typing, "yes, the first\nno\n")
	if got, err := p.Line(t.Context(), "three? "); got != "no" || err != nil {
		t.Errorf("got %q, %v from what was typed for another question", got, err)
	}
	const settle = "(what was asked before is withdrawn: Enter goes on) > "
	if want := "one? \n" + settle + "\n" + settle + "three? "; out.String() != want {
		t.Errorf("the screen shows %q, want %q", out.String(), want)
	}
}

func TestOnlyOneAsksAtATime(t *testing.T) {
	p := NewPerson(iotest.ErrReader(io.EOF), NewScreen(io.Discard))
	end, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Begin(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v while somebody asks", err)
	}
	end()
	if end, err = p.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	end()
}

func TestOutputCanBeRedirected(t *testing.T) {
	t.Parallel()
	var out, log strings.Builder
	s := screenOf(&out)
	back := s.Divert(func(text string) { log.WriteString(text) })
	s.Printf("one \x1b[2J\n")
	back()
	s.Printf("two\n")
	if log.String() != "one \\x1b[2J\n" || out.String() != "two\n" {
		t.Errorf("the log is %q, the terminal %q", log.String(), out.String())
	}
	out.Reset()
	file := NewScreen(&out)
	file.Divert(func(string) { t.Error("a file is no terminal that could be disturbed") })()
	file.Printf("three\n")
}

func TestANilScreenDiscards(t *testing.T) {
	var s *Screen
	s.Printf("a\n")
	s.Transient("b")
}

// The program with the terminal lends it only while the user is asked.
func TestTheTerminalIsLentForAQuestion(t *testing.T) {
	p := NewPerson(strings.NewReader("yes\nno\n"), NewScreen(io.Discard))
	var did []string
	end := p.Lends(func() func() {
		did = append(did, "lent")
		return func() { did = append(did, "back") }
	})
	for n, want := range []string{"lent yes back", "lent yes back no"} {
		if n == 1 {
			end()
		}
		done, err := p.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		line, err := p.Line(t.Context(), "> ")
		if err != nil {
			t.Fatal(err)
		}
		did = append(did, line)
		done()
		if got := strings.Join(did, " "); got != want {
			t.Errorf("it went %q, want %q", got, want)
		}
	}
}
