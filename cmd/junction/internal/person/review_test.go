package person_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/person"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/terminal"
)

// brings returns the first review of a server with a tool without findings.
func brings(server string, findings ...guard.Finding) host.Review {
	return host.Review{Server: server, First: true, Items: []host.ReviewItem{
		{Kind: "command", Text: "text: npx -y " + server, Value: "npx -y " + server}, {Kind: "version", Text: "text: " + server + " 1.0.0", Value: server + " 1.0.0"},
		{Kind: "tool", Name: "fetch", Text: "description: Fetches, and whatever nobody finds.", Findings: findings}}}
}

func TestReviewShowsItsSubject(t *testing.T) {
	orders := guard.Finding{Severity: guard.Warn, Where: "description", Excerpt: "you must", Why: "It gives orders."}
	sameName := guard.Finding{Rule: "equal-name", Severity: guard.Warn, Where: "name", Excerpt: "fetch / a: fetch", Why: "another server has a tool of the same name"}
	changed := host.Review{Server: "c", Items: []host.ReviewItem{{Kind: "tool", Name: "x", Changed: true, Text: "+ evil"}}}
	for _, test := range []struct {
		name    string
		reviews []host.Review
		typed   string
		want    []bool
		shown   string
	}{
		{"one server, its command and what it brings", []host.Review{brings("a")}, "y", []bool{true}, `
  a  1 tool: 0 read, 1 write; a 1.0.0
    npx -y a
y approve · n refuse · t approve and trust… · d Enter details
? `},
		{"its definitions on demand", []host.Review{brings("a")}, "d,n", []bool{false}, "Fetches, and whatever nobody finds."},
		{"a change at once", []host.Review{changed}, "n", []bool{false}, "  c  1 tool changed\n\n~ changed tool x\n  + evil\ny approve"},
		{"several, those with warnings first", []host.Review{brings("a"), brings("b", orders)}, "A,n", []bool{true, false}, `
▸ b  1 tool: 0 read, 1 write; b 1.0.0; 1 warning
    npx -y b
    ! tool fetch: It gives orders, in its description: “you must”
  a  1 tool: 0 read, 1 write; a 1.0.0
    npx -y a
y approve · n refuse · t approve and trust… · d Enter details
A approve all 1 without warnings · N refuse all · 1 and so on: choose
? `},
		{"a name that they share, once", []host.Review{brings("a", sameName), brings("b", sameName)}, "1,A", []bool{true, true}, `
Tools of several servers have the same or similar names: fetch. The model sees
each name after its server's name.
▸ a  1 tool: 0 read, 1 write; a 1.0.0
    npx -y a
  b  1 tool: 0 read, 1 write; b 1.0.0
    npx -y b
y approve`},
		{"all of several, in one line", []host.Review{brings("a"), brings("b")}, "y", []bool{true, true}, `
a, b. 2 tools: 0 read, 2 write. Nothing looks suspicious.
y approve all 2 · n refuse all · d Enter look at each`},
		{"none of several, in one line", []host.Review{brings("a"), brings("b")}, ",n", []bool{false, false}, "✗ 2 servers refused: a, b"},
		{"each of several, asked for by its number", []host.Review{brings("a"), brings("b")}, "2,n,y", []bool{true, false}, "✗ b refused"},
		{"none of several", []host.Review{brings("a"), brings("b")}, "1,N", []bool{false, false}, "A approve all 2 without"},
		{"a change is no part of all", []host.Review{brings("a"), changed}, "A,d,n", []bool{true, false}, "+ evil"},
		{"one by one, with details before", []host.Review{brings("a"), brings("b")}, "1,d,n,y", []bool{false, true}, "whatever nobody finds"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			screen := terminal.NewScreen(&out)
			plain := person.Plain{Screen: screen, Person: terminal.NewPerson(strings.NewReader(strings.ReplaceAll(test.typed, ",", "\n")+"\n"), screen)}
			who := person.Approving{Person: &plain}
			got, err := who.Review(t.Context(), test.reviews)
			if err != nil || !slices.Equal(approved(got), test.want) || slices.ContainsFunc(got, func(a host.ReviewAnswer) bool { return a.Trust }) {
				t.Errorf("the answer is %v, %v", got, err)
			}
			if !strings.Contains(out.String(), test.shown) {
				t.Errorf("shown:\n%s\nwithout:\n%s", out.String(), test.shown)
			}
		})
	}
}

func approved(answers []host.ReviewAnswer) []bool {
	var all []bool
	for _, a := range answers {
		all = append(all, a.Approve)
	}
	return all
}

func TestAReviewCanBeAnsweredWithTrust(t *testing.T) {
	for typed, want := range map[string]host.ReviewAnswer{
		"t,s":  {Approve: true, Trust: true},
		"t,a":  {Approve: true, Trust: true, Forever: true},
		"t,,y": {Approve: true},
	} {
		var out bytes.Buffer
		screen := terminal.NewScreen(&out)
		plain := person.Plain{Screen: screen, Person: terminal.NewPerson(strings.NewReader(strings.ReplaceAll(typed, ",", "\n")+"\n"), screen)}
		got, err := plain.Review(t.Context(), []host.Review{brings("a")})
		if err != nil || !slices.Equal(got, []host.ReviewAnswer{want}) {
			t.Errorf("%s: the answer is %+v, %v\n%s", typed, got, err, out.String())
		}
	}
}

func TestAReviewCanSayThatToolsOnlyRead(t *testing.T) {
	quiet := brings("db")
	quiet.Items[2].Silent = true
	for typed, want := range map[string]host.ReviewAnswer{
		"r,y":   {Approve: true, Reads: true},
		"r,,y":  {Approve: true},
		"r,x,y": {Approve: true, Reads: true},
		"y":     {Approve: true},
	} {
		var out bytes.Buffer
		screen := terminal.NewScreen(&out)
		plain := person.Plain{Screen: screen, Person: terminal.NewPerson(strings.NewReader(strings.ReplaceAll(typed, ",", "\n")+"\n"), screen)}
		got, err := plain.Review(t.Context(), []host.Review{quiet})
		if err != nil || !slices.Equal(got, []host.ReviewAnswer{want}) || !strings.Contains(out.String(), "r approve, 1 only read…") {
			t.Errorf("%s: the answer is %+v, %v\n%s", typed, got, err, out.String())
		}
		if typed != "y" && !strings.Contains(out.String(), "does not declare what these do: fetch.") {
			t.Errorf("%s: the tools are not named:\n%s", typed, out.String())
		}
	}
}

func TestAllOfADefinitionIsShown(t *testing.T) {
	long := "description: " + strings.Repeat("Fetches. ", 4_000) + "the last word"
	for _, test := range []struct {
		name, typed string
		item        host.ReviewItem
	}{
		{"one that is new, on demand", "d\n", host.ReviewItem{Kind: "tool", Name: "fetch", Text: long}},
		{"one that changed, at once", "", host.ReviewItem{Kind: "tool", Name: "fetch", Changed: true, Text: "+" + long}},
		{"a command with characters that nobody sees", "", host.ReviewItem{Kind: "command", Value: "npx" + strings.Repeat("\u200b", 100) + " the last word"}},
	} {
		var out bytes.Buffer
		screen := terminal.NewScreen(&out)
		plain := person.Plain{Screen: screen, Person: terminal.NewPerson(strings.NewReader(test.typed+"y\n"), screen)}
		if _, err := plain.Review(t.Context(), []host.Review{{Server: "a", First: !test.item.Changed, Items: []host.ReviewItem{test.item}}}); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if shown := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(shown, "the last word") {
			t.Errorf("%s: the last word is not shown", test.name)
		}
	}
}

func TestBlanksAddNoLineToAReview(t *testing.T) {
	for _, blank := range []string{" ", "\t", "\u00a0", "\u3000"} {
		text := "x" + strings.Repeat(blank, 400) + " y approve"
		review := host.Review{Server: text, First: true, Items: []host.ReviewItem{{Kind: "command", Text: "text: " + text, Value: text},
			{Kind: "tool", Name: text, Text: "description: " + text, Findings: []guard.Finding{{Severity: guard.Warn, Excerpt: text, Why: "It looks odd."}}}}}
		var out bytes.Buffer
		screen := terminal.NewScreen(&out)
		plain := person.Plain{Screen: screen, Person: terminal.NewPerson(strings.NewReader("d\nn\n"), screen)}
		if _, err := plain.Review(t.Context(), []host.Review{review}); err != nil {
			t.Error(err)
		}
		for line := range strings.SplitSeq(out.String(), "\n") {
			isPrompt := strings.HasPrefix(line, "y approve · n refuse")
			if strings.HasPrefix(line, "y approve") && !isPrompt || !isPrompt && terminal.Width(line) > screen.Width() {
				t.Errorf("%q: the line %q stands there as if it was the question", blank, line)
			}
		}
	}
}
