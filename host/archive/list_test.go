package archive

import (
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

func titles(t testing.TB, a *Archive, f Filter) []string {
	t.Helper()
	list, err := a.List(t.Context(), f)
	if err != nil {
		t.Fatalf("%+v: %v", f, err)
	}
	names := []string{}
	for _, m := range list {
		names = append(names, m.Title)
	}
	return names
}

func TestAListIsChosenAndNewestFirst(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	record(t, a, Meta{Folder: "/a"}, asked(1, "old"), answered(9, "but changed last"))
	record(t, a, Meta{Folder: "/a"}, asked(2, "middle"))
	record(t, a, Meta{Folder: "/b", Title: "named"}, asked(3, "other folder"))
	for _, c := range []struct {
		filter Filter
		want   []string
	}{
		{Filter{}, []string{"old", "named", "middle"}},
		{Filter{Folder: "/a"}, []string{"old", "middle"}},
		{Filter{Folder: "/"}, []string{}},
		{Filter{Limit: 1}, []string{"old"}},
		{Filter{Folder: "/b", Search: "folder", Limit: 1_000_000}, []string{"named"}},
	} {
		if got := titles(t, a, c.filter); !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %q, want %q", c.filter, got, c.want)
		}
	}
}

func TestASearchFindsAllItsWordsAnywhere(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	record(t, a, Meta{}, script()...)
	record(t, a, Meta{Title: "100% \"quoted\" go_mod"}, asked(0, "something else"))
	record(t, a, Meta{}, asked(0, "Straße nach ÉCOLE"), answered(1, "ok"))
	alarms, quoted, street := "Which alarm types are there?", "100% \"quoted\" go_mod", "Straße nach ÉCOLE"
	for search, want := range map[string][]string{
		"ALARM":             {alarms},
		"larm TYPE":         {alarms}, // parts of words
		"count two":         {alarms}, // in different messages
		"alarm something":   {},
		"db__query":         {alarms}, // a tool's name
		"überlast":          {alarms}, // a result
		"火災":                {alarms}, // shorter than the index can find
		"火":                 {alarms},
		"école":             {street},
		"100%":              {quoted},
		"%":                 {quoted},
		`"quoted"`:          {quoted},
		"go_m":              {quoted},
		"goxm":              {},
		`" OR text:*`:       {},
		"NEAR( a* ^b":       {},
		"\x00go\xff_m\x00":  {quoted},
		"' ; DROP TABLE --": {},
	} {
		if got := titles(t, a, Filter{Search: search}); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", search, got, want)
		}
	}
	list, err := a.List(t.Context(), Filter{Search: "two"})
	if err != nil || len(list) != 1 || list[0].Match != "Two: **Überlast** and 火災." {
		t.Errorf("what was found is not shown: %+v, %v", list, err)
	}
}

func TestMatchesAreShownAroundTheWord(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("before ", 50) + "\x1b[2J the needle " + strings.Repeat("after ", 50)
	got := excerpt(text, []string{"NEEDLE"})
	if !strings.Contains(got, "needle") || !strings.HasPrefix(got, "…before") || !strings.HasSuffix(got, "…") || len([]rune(got)) > maxMatch || strings.Contains(got, "\x1b") {
		t.Errorf("%q", got)
	}
	for _, text := range []string{"", "needle", "火", strings.Repeat("火", 500), "no"} {
		if got := excerpt(text, []string{"needle"}); len([]rune(got)) > maxMatch {
			t.Errorf("%q", got)
		}
	}
}

func TestATitleIsTheLastGivenOrTheFirstQuestion(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	long := strings.Repeat("word ", 100)
	for want, entries := range map[string][]host.Entry{
		"first":                       {asked(0, "\n first \nsecond line"), asked(1, "other")},
		"given":                       {asked(0, "first"), {At: at(1), Title: "earlier"}, {At: at(2), Title: "given"}, asked(3, "x")},
		"plan: tea":                   {{At: at(0), Shown: "plan: tea", Message: asked(0, "Make a plan").Message}, asked(1, "other")},
		"later":                       {{At: at(0), Note: "n"}, asked(1, "  "), asked(2, "later")},
		`\x1b[2Jclear`:                {asked(0, "\x1b[2Jclear")},
		titleOf(long):                 {asked(0, long)},
		strings.Repeat("火", 79) + "…": {asked(0, strings.Repeat("火", 200))},
	} {
		if got := record(t, a, Meta{}, entries...).Meta().Title; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTitlesLeaveOutAttachments(t *testing.T) {
	t.Parallel()
	for want, parts := range map[string][]model.Part{
		"Summarize this":     {{Text: "Summarize this"}, {Text: "[attached: standard input]\nbuy milk\n[end of standard input]"}},
		"What is on it?":     {{Media: &model.Media{Type: "image/png", Data: []byte("x")}}, {Text: "What is on it?\nLook closely."}},
		"[attached: a text]": {{Text: "[attached: a text]\nbuy milk\n[end of a text]"}},
	} {
		c := record(t, fresh(t), Meta{}, host.Entry{At: at(1), Message: &model.Message{Role: model.RoleUser, Parts: parts}})
		if got := c.Meta().Title; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
