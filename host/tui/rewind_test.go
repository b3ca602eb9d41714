package tui

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	turns "github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// exchange are the entries of a question with its answer; more is attached to it.
func exchange(text string, more ...string) []host.Entry {
	question := model.UserText(text)
	for _, m := range more {
		question.Parts = append(question.Parts, model.Part{Text: m})
	}
	result := model.Message{Role: model.RoleUser, Parts: []model.Part{{Text: "a result"}}}
	answer := model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: "yes"}}}
	return []host.Entry{{Message: &question}, {Message: &answer}, {Message: &result}, {Message: &answer}, {Totals: &host.Totals{}}}
}

func TestAConversationContinuesFromAnEarlierQuestion(t *testing.T) {
	entries := slices.Concat([]host.Entry{{Note: "a note"}}, exchange("typed one", "[attached: x]"), exchange("from a prompt"), exchange("typed three"))
	entries[6].Shown = "plan: tea" // what a program made of it is not shown
	session := &scripted{entries: entries, saved: Saved{ID: "abcd"}}
	play(t, session, 80, 24, func(st *stage) {
		st.keys("<esc>")
		st.wait(time.Second)
		st.keys("<esc>")
		st.holds("continue from before which question?")
		st.holds("▸ typed three\n  plan: tea  omits 1 later question\n  typed one  omits 2 later questions")
		st.keys("<down><enter>")
		st.printedText("Went back to before “plan: tea”, in a copy. Calls that have run since then are\nnot undone. Original: /resume abcd")
		if !session.did("rewind 6") || !st.screen.input.Empty() {
			t.Errorf("%q; the input holds %q", session.calls, st.screen.input.Text())
		}
		st.keys("<alt+esc><enter>")
		if !session.did("rewind 1") || st.screen.input.Text() != "typed one" {
			t.Errorf("%q; the input holds %q", session.calls, st.screen.input.Text())
		}
		st.keys("<ctrl+u>/rewind<enter>")
		st.holds("there is no question to go back to")
		st.wait(10 * time.Second)
		session.entries = entries
		st.keys("<esc>")
		st.wait(3 * time.Second)
		st.keys("<esc>x<esc><esc>")
		if st.screen.panel != nil {
			t.Error("it opens by itself")
		}
	}, func(o *Options) { o.History = []string{"typed one", "typed three"} })
}

// answeredSession is a session in which these questions were asked and answered.
func answeredSession(t *testing.T, h *host.Host, store Store, questions ...string) Session {
	t.Helper()
	s, err := Attach(t.Context(), h, store, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range questions {
		if _, err := s.Talk().Ask(t.Context(), host.Question{Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Where the conversation is kept, the copy is, too; without a store it is in memory.
func TestAHostsConversationIsRewound(t *testing.T) {
	t.Parallel()
	for _, store := range []Store{&folder{kept: map[string]*kept{}}, nil} {
		h, err := host.New(host.Options{Model: parrot{}})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		s := answeredSession(t, h, store, "one", "two", "three")
		all := questions(s.Talk().Entries())
		if len(all) != 3 || all[1].text != "two" {
			t.Fatalf("the questions are %+v", all)
		}
		if err := s.Rewind(t.Context(), all[1].entry); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Talk().Ask(t.Context(), host.Question{Text: "another"}); err != nil {
			t.Fatal(err)
		}
		if got := questions(s.Talk().Entries()); len(got) != 2 || got[1].text != "another" || s.Talk().Totals().Requests != 2 {
			t.Errorf("the questions are %+v, %+v", got, s.Talk().Totals())
		}
		if err := s.Rewind(t.Context(), 0); err != nil || len(s.Talk().Entries()) != 0 {
			t.Errorf("%v, %d entries", err, len(s.Talk().Entries()))
		}
	}
}

// A crash in the middle of a run hides no question that came after it.
func TestQuestionsAfterACrashAreFound(t *testing.T) {
	h, err := host.New(host.Options{Model: parrot{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	cut := model.UserText("typed before the crash")
	c := h.Conversation(nil, host.Entry{Message: &cut})
	for range 2 { // and resumed again
		if _, err := c.Ask(t.Context(), host.Question{Text: "and after"}); err != nil {
			t.Fatal(err)
		}
		c = h.Conversation(nil, c.Entries()...)
	}
	if got := questions(c.Entries()); len(got) != 3 || got[1].text != "and after" {
		t.Errorf("the questions are %+v", got)
	}
}

// agreeable is a person who says yes.
type agreeable struct{ host.Person }

func (agreeable) Consent(context.Context, host.ApprovalCard) (host.Verdict, error) {
	return host.Verdict{Allow: true}, nil
}

func (agreeable) Review(_ context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	answers := make([]host.ReviewAnswer, len(reviews))
	for i := range answers {
		answers[i].Approve = true
	}
	return answers, nil
}

// The text returns to an earlier question. Permissions that were withdrawn since stay withdrawn.
func TestRewindKeepsWithdrawnPermissions(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]Store{"kept": &folder{kept: map[string]*kept{}}, "in memory": nil} {
		t.Run(name, func(t *testing.T) {
			files := mcp.NewServer("files", "1")
			mcp.AddToolWith(files, mcp.Tool{Name: "read", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, func(context.Context, struct{}) (string, error) { return "a file", nil })
			mcp.AddToolWith(files, mcp.Tool{Name: "write"}, func(context.Context, struct{}) (string, error) { return "written", nil })
			h, err := host.New(host.Options{Person: agreeable{}, Servers: []host.Server{{Name: "files", Handler: files}},
				Model: turns.New(turns.Call("files__read", `{}`), turns.Call("files__write", `{}`), turns.Say("done"), turns.Say("two"), turns.Say("three"))})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			s := answeredSession(t, h, store, "one", "two", "three")
			all, given := questions(s.Talk().Entries()), s.Talk().Approvals()
			if len(given) == 0 {
				t.Fatal("no yes is remembered")
			}
			for _, a := range given {
				if err := s.Talk().Withdraw(a); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Talk().SetOff("files", true); err != nil {
				t.Fatal(err)
			}
			for _, q := range []int{2, 1, 0} { // each from the copy that the one before made
				if err := s.Rewind(t.Context(), all[q].entry); err != nil {
					t.Fatal(err)
				}
				if left := s.Talk().Approvals(); len(left) != 0 || !s.Talk().Servers()[0].Off {
					t.Errorf("before question %d there are %+v, and %+v", q+1, left, s.Talk().Servers())
				}
				if id := s.Saved().ID; store != nil && q > 0 {
					if err := s.Resume(t.Context(), id); err != nil || len(s.Talk().Approvals()) != 0 || !s.Talk().Servers()[0].Off {
						t.Errorf("resumed, there are %+v, and %+v; %v", s.Talk().Approvals(), s.Talk().Servers(), err)
					}
				}
			}
		})
	}
}
