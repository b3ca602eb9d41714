package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
)

// copying keeps what a record would have at each moment.
type copying struct{ entries []Entry }

func (c *copying) Append(e Entry) error {
	c.entries = append(c.entries, e)
	return nil
}

// If a program ends during a question to the user, it has made none of the calls of that turn.
func TestCallThatWaitsForApprovalWasNotMade(t *testing.T) {
	calls := scripted.Reply(scripted.Calling("files__write", `{"text":"a"}`), scripted.Calling("files__write", `{"text":"b"}`))
	record := &copying{}
	var killed [][]Entry // the record at the time of the question
	d := &desk{}
	d.consent = func(ApprovalCard) Verdict {
		killed = append(killed, append([]Entry(nil), record.entries...))
		return Verdict{Allow: true}
	}
	s := play(t, Options{Servers: []Server{stranger("files", "a file")}, Person: d}, calls, scripted.Say("done"), scripted.Say("so it is"), scripted.Say("so it is"))
	ask(t, s.Conversation(record), "write a and b")
	if len(killed) == 0 || len(UnansweredCalls(record.entries)) != 0 {
		t.Fatalf("asked %d times; after the answers these calls count as not made: %v", len(killed), UnansweredCalls(record.entries))
	}
	for _, entries := range killed {
		c := s.Conversation(nil, entries...)
		ask(t, c, "what became of that?")
		results := 0
		for _, m := range s.last(t).Messages {
			for _, p := range m.Parts {
				if p.Result == nil {
					continue
				}
				if results++; !strings.HasSuffix(p.Result.Text(), "during the question to the user about this call. It was not carried out.") {
					t.Errorf("the model reads %q", p.Result.Text())
				}
			}
		}
		if results != 2 {
			t.Errorf("%d results, want 2", results)
		}
	}
}

func TestRecordSaysHowARunEnded(t *testing.T) {
	for _, test := range []struct {
		name string
		turn scripted.Turn
		want *Ended
	}{
		{"an answer", scripted.Say("hello"), nil},
		{"an error", scripted.Fail(errors.New("the provider is on holiday")), &Ended{"error", "the provider is on holiday"}},
	} {
		record := &copying{}
		s := play(t, Options{}, test.turn)
		_, _ = s.Conversation(record).Ask(t.Context(), Question{Text: "hello"})
		last := record.entries[len(record.entries)-1]
		if last.Totals == nil || (last.Ended == nil) != (test.want == nil) || test.want != nil && (last.Ended.Stop != test.want.Stop || !strings.Contains(last.Ended.Error, test.want.Error)) {
			t.Errorf("%s: %+v, ended %+v", test.name, last, last.Ended)
		}
	}
}

func TestCompactWithNothingToReplace(t *testing.T) {
	s := play(t, Options{})
	c := s.Conversation(nil)
	if err := c.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.notices(NoticeCompact); len(got) != 1 || !strings.HasPrefix(got[0], "nothing to summarize") {
		t.Errorf("reported %q", got)
	}
}
