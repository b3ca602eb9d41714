package tui

import (
	"context"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/model"
)

// A said is a question of the conversation.
type said struct {
	entry int // where it begins
	text  string
}

// questions are those of the conversation, the first one first.
func questions(entries []host.Entry) []said {
	var all []said
	running := false
	for i := range entries {
		switch e := &entries[i]; {
		case e.Totals != nil:
			running = false
		case e.Message != nil && e.Message.Role == model.RoleUser && !running:
			running = true
			text := e.Shown
			if text == "" && len(e.Message.Parts) > 0 { // the first is the text, the others what was attached
				text = strings.TrimSpace(e.Message.Parts[0].Text)
			}
			all = append(all, said{i, text})
		}
	}
	return all
}

// rewind offers the questions to go on from.
func (s *screen) rewind(string) {
	all := questions(s.session.Talk().Entries())
	if len(all) == 0 {
		s.hint = "there is no question to go back to"
		return
	}
	slices.Reverse(all)
	p := &picker{title: "go on from before which question?"}
	for i, q := range all {
		detail := ""
		if i > 0 {
			detail = "omits " + plural(i, "later question", "later questions")
		}
		p.items = append(p.items, item{label: orElse(s.folded(q.text), "(no text)"), detail: detail})
	}
	p.chosen = func(s *screen, i int) { s.rewindTo(all[i]) }
	s.panel = p
}

// rewindTo goes on with a copy of what came before a question, which comes back to the
// input if the person typed it. What a server's prompt said does not.
func (s *screen) rewindTo(q said) {
	if s.run != nil {
		s.hint = "the answer is still coming; Esc interrupts it"
		return
	}
	before := s.session.Saved()
	s.inBackground(func(ctx context.Context) error { return s.session.Rewind(ctx, q.entry) }, func(s *screen) {
		s.print(s.rule(strings.TrimSpace("conversation " + s.session.Saved().ID)))
		text := "This is a copy that ends before “" + oneLine(s.folded(q.text), 60) + "”. Calls that ran since are not undone."
		if before.ID != "" {
			text += " The whole conversation: /resume " + before.ID
		}
		s.say(ink.Muted, text)
		if s.input.Empty() && slices.Contains(s.history.lines, q.text) {
			s.input.Set(s.folded(q.text))
			s.menu.update(s)
		}
	})
}
