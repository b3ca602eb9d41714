package markdown

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// roled are lines with the role of what is not plain written around it.
func roled(lines []ink.Line) string {
	names := map[ink.Role]string{ink.Keyword: "k", ink.String: "s", ink.Comment: "c", ink.Number: "n", ink.Code: "o", ink.Added: "+", ink.Removed: "-", ink.Accent: "@"}
	var rows []string
	for _, l := range lines {
		var row strings.Builder
		for _, s := range l {
			if name := names[s.Style.Role]; name != "" {
				row.WriteString(name + "‹" + s.Text + "›")
				continue
			}
			row.WriteString(s.Text)
		}
		rows = append(rows, row.String())
	}
	return strings.Join(rows, "\n")
}

func TestCodeIsColouredByItsLanguage(t *testing.T) {
	for _, test := range []struct{ language, code, want string }{
		{"go", "func f() { // x\n\treturn `a\nb` + \"\\\"\" + 0x1f\n}", "k‹func› f() { c‹// x›\n    k‹return› s‹`a›\ns‹b`› + s‹\"\\\"\"› + n‹0x1f›\n}"},
		{"Python", "def f(x): # no\n  \"\"\"one\n  two\"\"\"\n  return forx", "k‹def› f(x): c‹# no›\n  s‹\"\"\"one›\ns‹  two\"\"\"›\n  k‹return› forx"},
		{"sh", "if [ $# -gt 1 ]; then echo 'a' # end", "k‹if› [ $# -gt n‹1› ]; k‹then› echo s‹'a'› c‹# end›"},
		{"sql", "select A from t where x = 'it' -- c", "k‹select› A k‹from› t k‹where› x = s‹'it'› c‹-- c›"},
		{"json", `{"a": [1, true]}`, `{s‹"a"›: [n‹1›, k‹true›]}`},
		{"rust", "fn f<'a>(x: &'a str) /* all\nof it */ {}", "k‹fn› f<'a>(x: &'a str) c‹/* all›\nc‹of it */› {}"},
		{"c", "/* open", "c‹/* open›"},
		{"text", "if x", "o‹if x›"},
		{"", "if x\n\ny", "o‹if x›\n\no‹y›"},
		{"diff", "--- a\n+++ b\n@@ 1\n-x\n+y\n z", "@‹--- a›\n@‹+++ b›\n@‹@@ 1›\n-‹-x›\n+‹+y›\n z"},
		{"js", "don't \xff open", "don't \\xff open"},
	} {
		if got := roled(Highlighted(test.language, test.code)); got != test.want {
			t.Errorf("%s:\n%s\nwant\n%s", test.language, got, test.want)
		}
	}
}

// Colours change nothing of what stands there.
func FuzzHighlighted(f *testing.F) {
	f.Add("go", "func main() { x := `a\n` }")
	f.Add("py", "'''\n#\n")
	f.Fuzz(func(t *testing.T, language, code string) {
		var rows []string
		for _, l := range Highlighted(language, code) {
			rows = append(rows, l.String())
		}
		var want []string
		for line := range strings.SplitSeq(code, "\n") {
			want = append(want, line)
		}
		if len(rows) != len(want) {
			t.Fatalf("%d lines of %d: %q", len(rows), len(want), rows)
		}
	})
}

func TestABlockOfCodeIsColoured(t *testing.T) {
	if got, want := roled(Part("```go\nvar x = 1\n```", 40)), "┌ go\n  k‹var› x = n‹1›"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
