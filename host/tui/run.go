package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/host/tui/internal/markdown"
	"github.com/junction-mcp/junction/model"
)

// maxThought is how many bytes of one piece of reasoning are kept to be shown.
const maxThought = 64 << 10

// A run is a question that is being answered.
type run struct {
	cancel    context.CancelFunc
	cancelled bool
	began     time.Time
	ticking   bool

	text      markdown.Stream
	wrote     bool // text came in pieces in this step
	thought   strings.Builder
	thinking  time.Time     // when it began
	doing     string        // what it is, where that is no question
	listed    bool          // which tools there are was shown
	asked     bool          // the model is being asked
	calls     []*call       // that have not returned
	untold    []*model.Call // calls of which nothing was heard yet
	draft     string        // the tool whose arguments are being written
	answered  bool          // an Answered event came
	explained bool          // a notice said why it ends

	rendered struct { // of the text's rest
		text  string
		width int
		lines []ink.Line
	}
}

// ask begins a run.
func (s *screen) ask(q host.Question) {
	ctx, cancel := context.WithCancel(s.ctx)
	r := &run{cancel: cancel, began: s.now()}
	s.run = r
	s.ui.background(func() any {
		err := s.session.Ask(ctx, q)
		cancel()
		return func(s *screen) { s.over(r, err) }
	})
}

// over ends a run.
func (s *screen) over(r *run, err error) {
	if s.run != r {
		return
	}
	s.endText()
	if err != nil && !r.answered && !errors.Is(err, context.Canceled) {
		s.say(ink.Bad, "error: "+err.Error())
	}
	if r.cancelled && !r.answered {
		s.say(ink.Muted, "cancelled")
	}
	s.run, s.used = nil, s.session.Ledger()
	s.look(s.session.Servers())
}

// happened shows an event.
func (s *screen) happened(e *host.Event) {
	switch {
	case e.Listed != nil:
		s.servers = e.Listed.Servers
		if s.run != nil {
			s.run.listed = true
		}
	case e.Log != nil:
		s.logs(e)
	case e.Notice != nil:
		s.notice(e.Notice)
	case s.run != nil:
		s.progress(e)
	}
	if e.Asked != nil || e.Returned != nil || e.Answered != nil {
		s.used = s.session.Ledger()
	}
	if s.trace {
		s.traced(e)
	}
}

// progress shows an event of the run.
func (s *screen) progress(e *host.Event) {
	r := s.run
	r.hear(e)
	switch {
	case e.Asked != nil:
		s.endText()
		s.neverCalled()
		r.asked, r.wrote = true, false
	case e.Delta != nil:
		s.delta(e.Delta)
	case e.Decided != nil:
		s.decided(e.Decided)
	case e.Consent != nil:
		s.consented(e.Consent)
	case e.Called != nil:
		s.called(e.Called)
	case e.Progress != nil:
		if c := r.call(e.Progress.CallID); c != nil {
			c.progress = *e.Progress
		}
	case e.ServerRequest != nil:
		s.serverRequested(e.ServerRequest)
	case e.Returned != nil:
		s.returned(e.Returned)
	case e.Answered != nil:
		s.answered(e.Answered)
	}
}

func (s *screen) delta(d *model.Delta) {
	r := s.run
	r.asked = false
	switch {
	case d.Retry != nil:
		rest := r.text.End()
		if r.wrote && rest != "" {
			s.printMarkdown(rest)
		}
		if r.wrote {
			s.say(ink.Warn, "the answer broke off and is asked for again; what stands above is void")
		}
		r.wrote, r.draft, r.asked = false, "", true
		r.thought.Reset()
	case d.Reasoning != "":
		if r.thought.Len() == 0 {
			r.thinking = s.now()
		}
		r.thought.WriteString(d.Reasoning[:min(len(d.Reasoning), maxThought-min(maxThought, r.thought.Len()))])
	case d.Text != "":
		s.endThought()
		r.wrote = true
		for _, part := range r.text.Add(d.Text) {
			s.printMarkdown(part)
		}
	case d.Call != nil:
		s.endThought()
		if d.Call.Name != "" {
			r.draft = d.Call.Name
		}
	}
}

// endText prints what is left of the text.
func (s *screen) endText() {
	s.endThought()
	if rest := s.run.text.End(); strings.TrimSpace(rest) != "" {
		s.printMarkdown(rest)
	}
	s.run.draft = ""
}

// endThought prints that the model thought; what, is shown on demand.
func (s *screen) endThought() {
	r := s.run
	if r.thought.Len() == 0 {
		return
	}
	took := s.now().Sub(r.thinking)
	s.print(ink.Line{ink.T(ink.Muted, "∴ thought for "+seconds(took)+" ("+s.more()+" shows it)", ink.Italic)})
	s.remember(&call{thought: strings.ToValidUTF8(r.thought.String(), ""), took: took})
	r.thought.Reset()
}

func (s *screen) decided(d *host.Decided) {
	r := s.run
	r.asked = false
	wrote := r.wrote
	r.wrote = false
	if !wrote && d.Message != nil {
		for _, p := range d.Message.Parts {
			if p.Reasoning != nil && r.thought.Len() == 0 {
				r.thinking = s.now()
				r.thought.WriteString(p.Reasoning.Text[:min(len(p.Reasoning.Text), maxThought)])
			}
		}
	}
	s.endText()
	if !wrote && d.Message != nil && strings.TrimSpace(d.Message.Text()) != "" {
		s.printMarkdown(d.Message.Text())
	}
	if d.Message != nil {
		for i := range d.Message.Parts {
			if c := d.Message.Parts[i].Call; c != nil {
				r.untold = append(r.untold, c)
			}
		}
	}
}

func (s *screen) answered(a *host.Answered) {
	s.endText()
	s.neverCalled()
	s.run.answered = true
	if text := stopped(a); text != "" && (!s.run.explained || a.Stop == "error") {
		role := ink.Warn
		if a.Stop == "error" {
			role = ink.Bad
		}
		s.say(role, text)
	}
}

// stopped says why a run is over, where that is not the model's own decision.
func stopped(a *host.Answered) string {
	var text string
	switch a.Stop {
	case "end", "":
		return ""
	case "error":
		return "error: " + a.Error
	case "cancelled":
		return "cancelled"
	case "length":
		text = "the answer is cut off: it reached the model's limit of length"
	case "refusal":
		text = "the model refused to answer"
	case "loop":
		text = "stopped: the model repeats itself"
	default:
		text = "stopped: the limit of " + a.Stop + " is reached; ask again to go on"
	}
	if a.Error != "" {
		text += " (" + a.Error + ")"
	}
	return text
}

// live is what is still moving, drawn in the frame.
func (s *screen) live() []ink.Line {
	r := s.run
	if r == nil {
		return nil
	}
	var lines []ink.Line
	if r.thought.Len() > 0 {
		lines = append(lines, s.thinkingLine())
	}
	if rest := r.text.Rest(); strings.TrimSpace(rest) != "" {
		if r.rendered.text != rest || r.rendered.width != s.width {
			r.rendered.text, r.rendered.width = rest, s.width
			r.rendered.lines = markdown.Part(rest, s.width)
		}
		lines = append(lines, r.rendered.lines...)
	}
	for _, c := range r.calls {
		lines = append(lines, c.live(s)...)
	}
	return append(lines, s.activity())
}

// thinkingLine shows the last line of the reasoning.
func (s *screen) thinkingLine() ink.Line {
	text := strings.TrimSpace(s.run.thought.String())
	last := text[strings.LastIndexByte(text, '\n')+1:]
	if extra := len(last) - 400; extra > 0 {
		last = strings.ToValidUTF8(last[extra:], "")
	}
	return ink.Line{ink.T(ink.Muted, "∴ thinking: ", ink.Italic), ink.T(ink.Muted, last)}.Cut(s.width)
}

// activity says what is being waited for.
func (s *screen) activity() ink.Line {
	r := s.run
	what := "working"
	switch {
	case r.cancelled:
		what = "cancelling"
	case len(s.cards) > 0:
		what = "waiting for you"
	case r.doing != "":
		what = r.doing
	case len(r.calls) > 1:
		what = fmt.Sprintf("%d calls are running", len(r.calls))
	case len(r.calls) == 1:
		what = "a call is running"
	case r.draft != "":
		what = "preparing a call of " + r.draft
	case r.asked:
		what = "waiting for the model"
	case r.wrote:
		what = "the model is writing"
	case !r.listed && slices.ContainsFunc(s.servers, isConnecting):
		what = "waiting for servers that connect"
	}
	frames := []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	frame := frames[int(s.now().Sub(r.began)/tickTime)%len(frames)]
	return ink.Line{
		ink.T(ink.Accent, frame+" "), ink.T(ink.Plain, what),
		ink.T(ink.Muted, " "+seconds(s.now().Sub(r.began))+" · Ctrl+C cancels"),
	}.Cut(s.width)
}

// seconds is a time as people read it.
func seconds(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}
