package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// choices are models that record which of them was chosen.
type choices struct {
	session *scripted
	effort  string
	err     error
}

func (c *choices) List(context.Context) ([]ModelChoice, error) {
	return []ModelChoice{{Name: "test:test-model", Current: true}, {Name: "test:large", About: "1M tokens"}, {Name: "other:small"}}, c.err
}

func (c *choices) Choose(name string) error {
	if strings.Contains(name, "bad") {
		return errScripted
	}
	provider, name, _ := strings.Cut(name, ":")
	c.session.info = model.Info{Provider: provider, Name: name, Language: true, Window: 200_000}
	return nil
}

func (c *choices) Efforts() ([]string, string) {
	if c.session.info.Provider == "other" {
		return nil, ""
	}
	return []string{"default", "low", "high"}, c.effort
}

func (c *choices) SetEffort(level string) error { c.effort = level; return nil }

func TestTheModelIsSwitchedInARunningConversation(t *testing.T) {
	session := &scripted{ledger: host.WindowUse{Window: 32_000, Used: 10}}
	models := &choices{session: session, effort: "default"}
	play(t, session, 80, 24, func(st *stage) {
		st.keys("/model<enter>")
		st.holds("model: test-model at test; effort: default")
		st.holds("▸ test:test-model  this one")
		st.keys("lar<enter>")
		st.printedText("Now answering: large at test, 200k-token context; effort: default. This session\nstill uses 32.0k tokens of its context; start with --model to use all of it.")
		st.holds("large · ")
		st.keys("/effort<enter><down><enter>")
		st.printedText("From the next question on, the model uses this effort: low")
		st.keys("/effort huge<enter>")
		st.holds("expected /effort with one of default, low, high")
		st.keys("<ctrl+c>/effort high<enter>")
		if models.effort != "high" {
			t.Errorf("the effort is %q", models.effort)
		}
		st.keys("/model other:small<enter>/effort<enter>")
		st.holds("small has no levels of effort that junction knows")
		st.keys("/model bad<enter>")
		st.printedText("error: the provider is on holiday")
	}, func(o *Options) { o.Models = models })
}

func TestALateListDoesNotSwitchTheModelDuringAnAnswer(t *testing.T) {
	session := &scripted{}
	models := &choices{session: session, err: errors.New("no answer of other: 500")}
	play(t, session, 80, 24, func(st *stage) {
		session.ask = func(context.Context, host.Question) error { time.Sleep(time.Second); return nil }
		st.keys("/model<enter>")
		st.printedText("no answer of other: 500")
		st.screen.ask(host.Question{Text: "x"})
		st.keys("<down><enter>")
		st.holds("the answer is still coming")
		st.wait(2 * time.Second)
		if session.info.Name != "test-model" {
			t.Errorf("%v answers", session.info)
		}
	}, func(o *Options) { o.Models = models })
}

func TestWithoutModelsTheOneThatAnswersIsDescribed(t *testing.T) {
	session := &scripted{info: model.Info{Name: "m", Provider: "p", Language: true, Window: 8_000, Price: model.Price{Input: 1, Output: 2}}}
	play(t, session, 80, 24, func(st *stage) {
		st.keys("/model<enter>")
		st.printedText("m at p, 8.0k-token context; a million tokens cost $1 in, $2 out")
		st.keys("/model x<enter>")
		st.holds("start with --model x")
		st.keys("<ctrl+c>/effort<enter>")
		st.holds("m has no levels")
	})
	if names := []string{"model", "effort"}; slices.ContainsFunc(names, func(n string) bool { return !commandNamed(n).idle }) {
		t.Error("the model can be switched in the middle of an answer")
	}
}
