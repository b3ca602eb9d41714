package tui

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// slow is a session whose answers take ten seconds and begin at once.
func slow(st *stage) func(context.Context, host.Question) error {
	return func(ctx context.Context, q host.Question) error {
		st.tell(host.Event{Asked: &host.Asked{}}, text("About "+q.Text+": "))
		select {
		case <-time.After(10 * time.Second):
			st.tell(text("done."), host.Event{Answered: &host.Answered{Stop: "end"}})
			return nil
		case <-ctx.Done():
			st.tell(host.Event{Answered: &host.Answered{Stop: "cancelled", Error: ctx.Err().Error()}})
			return ctx.Err()
		}
	}
}

func TestQuestionsAreQueuedDuringAnAnswer(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = slow(st)
		st.keys("one<enter>two<enter>three<enter>fuor<enter>")
		st.holds("3 questions queued · ↑ edit · Ctrl+X remove\n↳ two\n↳ three\n↳ fuor\n")
		st.keys("<up>")
		st.holds("2 questions queued")
		st.holds("❯ fuor")
		st.keys("<ctrl+u>four<enter>five<enter><ctrl+x>unsent")
		st.holds("↳ four\n❯ unsent")
		st.wait(11 * time.Second)
		st.printedText("About one: done.\n\n❯ two")
		st.holds("2 questions queued")
		st.holds("❯ unsent")
		for range 3 {
			st.wait(11 * time.Second)
		}
		if want := []string{"ask one", "ask two", "ask three", "ask four"}; !slices.Equal(session.calls, want) {
			t.Errorf("asked %q, want %q", session.calls, want)
		}
		if strings.Contains(st.frame(), "queued") || st.screen.run != nil {
			t.Errorf("something is left:\n%s", st.frame())
		}
	})
}

func TestTheNextQuestionContinuesAfterEsc(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = slow(st)
		st.keys("one<enter>no, two<enter><esc>")
		st.printedText("About one:\n\nYou interrupted the answer. Its text so far stays in the conversation.\n\n❯ no, two")
		if !session.did("ask no, two") || strings.Contains(st.scrollback(), "cancelled") {
			t.Errorf("asked %q\n%s", session.calls, st.scrollback())
		}
		st.keys("<esc>")
		if st.screen.run != nil || st.left {
			t.Error("the second answer is not interrupted")
		}
		st.keys("<esc><esc>")
	})
}

func TestQueuedInputIsHeldAfterCtrlCAndErrors(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = slow(st)
		st.keys("one<enter>two<enter><ctrl+c>")
		st.holds("1 question held · Enter send · ↑ edit · Ctrl+X remove\n↳ two")
		session.ask = func(context.Context, host.Question) error { time.Sleep(time.Second); return errScripted }
		st.keys("<enter>three<enter>")
		st.wait(2 * time.Second)
		st.holds("1 question held")
		st.keys("<ctrl+x>")
		if want := []string{"ask one", "ask two"}; !slices.Equal(session.calls, want) || strings.Contains(st.frame(), "held") {
			t.Errorf("asked %q\n%s", session.calls, st.frame())
		}
	})
}

func TestHeldInputKeepsItsOrder(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = slow(st)
		st.keys("one<enter>two<enter>three<enter><ctrl+c>")
		st.wait(time.Second)
		st.keys("four<enter>")
		st.holds("3 questions held · Enter send · ↑ edit · Ctrl+X remove\n↳ two\n↳ three\n↳ four\n")
		st.holds("it waits behind held questions; Enter sends the first of 3")
		st.keys("<enter>")
		for range 3 {
			st.wait(11 * time.Second)
		}
		if want := []string{"ask one", "ask two", "ask three", "ask four"}; !slices.Equal(session.calls, want) {
			t.Errorf("asked %q, want %q", session.calls, want)
		}
	})
}

// What could not be sent comes back to the input, and keeps its place when it is mended.
func TestAHeldQuestionThatCannotBeSentKeepsItsPlace(t *testing.T) {
	session := &scripted{servers: []host.ServerTools{{Server: "ev", State: host.StateConnected}}}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = slow(st)
		st.keys("one<enter>two @ev:a<enter>three<enter><ctrl+c>")
		st.wait(time.Second)
		st.screen.waiting.texts[0] = "two @ev:{a}" // it could be sent when it was typed
		st.keys("<enter>")
		st.holds("❯ two @ev:{a}")
		st.holds("↳ three")
		st.keys("<ctrl+u>two<enter>")
		for range 2 {
			st.wait(11 * time.Second)
		}
		if want := []string{"ask one", "ask two", "ask three"}; !slices.Equal(session.calls, want) {
			t.Errorf("asked %q, want %q", session.calls, want)
		}
	})
}

// Sending a queued question does not disturb a user who looks through earlier input.
func TestTheDraftSurvivesAQuestionThatIsSent(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = slow(st)
		st.keys("one<enter>two<enter>draft<up>")
		st.holds("❯ one")
		st.wait(11 * time.Second)
		st.keys("<down>")
		st.holds("❯ two")
		st.keys("<down>")
		st.holds("❯ draft")
		st.keys("<esc>")
	})
}

// It is the same where the question is the one that is looked at, and where the first line
// is forgotten.
func TestScrollPositionIsKept(t *testing.T) {
	h := newHistory([]string{"a", "b"})
	h.at, h.draft = 1, "draft"
	h.add("b")
	if h.at != 1 || h.lines[h.at] != "b" || h.draft != "draft" {
		t.Errorf("%+v", h)
	}
	h = newHistory(make([]string, maxHistory))
	h.at = 7
	h.add("new")
	if h.at != 6 || len(h.lines) != maxHistory {
		t.Errorf("at %d of %d", h.at, len(h.lines))
	}
}

// Esc refuses a call; a second one a moment later was meant for the card.
func TestEscTwiceOnACardInterruptsNothing(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = func(ctx context.Context, _ host.Question) error {
			_, err := st.ui.Consent(ctx, writeCard())
			if err == nil {
				err = slow(st)(ctx, host.Question{Text: "x"})
			}
			return err
		}
		st.keys("x<enter>")
		st.wait(time.Second)
		st.keys("<esc><esc>")
		st.wait(time.Second)
		if st.screen.run == nil || st.screen.run.cancelled {
			t.Fatal("the run is interrupted")
		}
		st.keys("<esc>")
		st.printedText("You interrupted the answer.")
	})
}

// However small the screen is, what is queued leaves room for the input.
func TestQueuedInputFitsASmallScreen(t *testing.T) {
	for _, size := range [][2]int{{40, 20}, {30, 8}, {10, 4}} {
		session := &scripted{}
		play(t, session, size[0], size[1], func(st *stage) {
			session.ask = slow(st)
			for range 5 {
				st.keys("a question that is longer than the line<enter>")
			}
			st.keys("typed /<backspace>")
			if !strings.Contains(st.frame(), "❯ typed") {
				t.Errorf("%v:\n%s", size, st.frame())
			}
			st.keys("<esc>")
			for range 5 {
				st.wait(11 * time.Second)
			}
		})
	}
}

// pausing is a model that says something and then nothing more.
type pausing struct{ parrot }

func (pausing) Generate(ctx context.Context, _ *model.Request, emit func(model.Delta)) (*model.Response, error) {
	emit(model.Delta{Text: "Half of it."})
	<-ctx.Done()
	return &model.Response{Message: model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: "Half of it."}}}}, ctx.Err()
}

// What came before Esc is what the model reads with the next question.
func TestTextBeforeEscStaysInTheConversation(t *testing.T) {
	session := &scripted{}
	play(t, session, 80, 24, func(st *stage) {
		h, err := host.New(host.Options{Model: pausing{}, OnEvent: st.ui.Event})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		attached, err := Attach(t.Context(), h, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		st.screen.session = attached
		st.keys("one<enter>")
		st.holds("Half of it.")
		st.keys("<esc>")
		st.printedText("Half of it.\n\nYou interrupted the answer.")
		var said []string
		for _, e := range attached.Talk().Entries() {
			if e.Message != nil {
				said = append(said, e.Message.Text())
			}
		}
		if want := []string{"one", "Half of it."}; !slices.Equal(said, want) {
			t.Errorf("the conversation holds %q", said)
		}
	})
}
