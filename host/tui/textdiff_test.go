package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
)

func TestTheCardShowsAnEditAsADiff(t *testing.T) {
	session := &scripted{}
	play(t, session, 70, 40, func(st *stage) {
		session.ask = func(ctx context.Context, _ host.Question) error {
			_, err := st.ui.Consent(ctx, host.ApprovalCard{CallID: "1", Server: "files", Tool: "edit", Arguments: object(
				`{"path":"a.go","edits":[{"oldText":"func a() {\n\treturn 1\n}\n","newText":"func a() {\n\t// two\n\treturn 2\n}\n"},{"old_string":"x","new_string":"y"}],"dryRun":false}`)})
			return err
		}
		st.keys("x<enter>")
		st.wait(time.Second)
		st.holds(`arguments:
  path: "a.go"
  dryRun: false
  edits:
    -
      oldText (3 lines, 23 bytes) is replaced by newText (4 lines,
      ┆ 31 bytes)
      │   func a() {
      │ -     return 1
      │ +     // two
      │ +     return 2
      │   }
    -
      old_string (1 line, 1 byte) is replaced by new_string (1 line,
      ┆ 1 byte)
      │ - x
      │ + y`)
		st.keys("n")
	})
}

// Where a diff would not show all that is sent, both texts are shown as they are.
func TestADiffHidesNothing(t *testing.T) {
	for name, arguments := range map[string]string{
		"a line break at the end":   `{"oldText":"a\n","newText":"a"}`,
		"other line breaks":         `{"oldText":"a\r\nb","newText":"a\nb"}`,
		"some other line breaks":    `{"oldText":"a\rb","newText":"a\nb"}`,
		"an invisible character":    `{"oldText":"a","newText":"a\u202e"}`,
		"a name twice":              `{"oldText":"a","newText":"b","newText":"c"}`,
		"a name twice, otherwise":   `{"old_text":"a","newText":"b","new_text":"c"}`,
		"two edits in one object":   `{"old":"a","new":"b","search":"c","replace":"d"}`,
		"one of them is not a text": `{"oldText":"a","newText":{"x":"b"}}`,
		"long texts":                `{"oldText":"` + strings.Repeat(`a\n`, 1_100) + `","newText":"` + strings.Repeat(`b\n`, 1_100) + `"}`,
	} {
		shown := ""
		for _, l := range jsonLines([]byte(arguments), 80) {
			shown += l.String() + "\n"
		}
		if strings.Contains(shown, "is replaced by") || strings.Count(shown, "old")+strings.Count(shown, "new") < 2 {
			t.Errorf("%s: %.400s", name, shown)
		}
	}
}

func TestSpacesThatDifferAreSeen(t *testing.T) {
	shown := ""
	for _, l := range jsonLines(object(`{"old":"\tif x {\n  a\tb\nc","new":"    if x {\n  a\tb \nc"}`), 80) {
		shown += l.String() + "\n"
	}
	want := "│ - ⇥   if x {\n│ - ··a⇥   b\n│ + ····if x {\n│ + ··a⇥   b·\n│   c\n"
	if !strings.HasSuffix(shown, want) {
		t.Errorf("%s\nwant\n%s", shown, want)
	}
}

// The lines that stay and those that go are the old text, those that stay and those that
// come are the new one.
func FuzzCompared(f *testing.F) {
	f.Add("a\nb\nc", "b\nd\nc")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, before, after string) {
		if len(before)*len(after) > 1<<16 {
			return
		}
		old, changed := strings.Split(before, "\n"), strings.Split(after, "\n")
		var gotOld, gotNew []string
		rows, _ := diffRows(old, changed)
		for _, row := range rows {
			if row.mark != "+" {
				gotOld = append(gotOld, row.text)
			}
			if row.mark != "-" {
				gotNew = append(gotNew, row.text)
			}
		}
		if strings.Join(gotOld, "\n") != before || strings.Join(gotNew, "\n") != after {
			t.Errorf("%q, %q", gotOld, gotNew)
		}
	})
}
