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
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// maxThought is the number of bytes of one reasoning text that are stored.
const maxThought = 64 << 10

// A run is a question that the model is answering.
type run struct {
	cancel    context.CancelFunc
	leave     func() // cancels the run but not the tasks of its calls; nil if they cannot go on
	cancelled bool
	began     time.Time
	ticking   bool

	interrupted bool // Esc cancelled it, and the next question continues from the partial answer

	text      markdown.Stream
	wrote     bool // text came in pieces in this step
	thought   strings.Builder
	thinking  time.Time // start of the reasoning
	doing     string    // description, if it is not a question
	step      int       // index of the plan's step
	doingStep string    // step of the plan, for users
	listed    bool      // the list of tools was shown
	asked     bool      // the model is being asked
	top       call      // stands for the run: what the model calls are its calls
	draft     string    // tool whose arguments the model is writing
	answered  bool      // an Answered event came
	compacted bool      // a notice reported the result of a summary

	printed bool     // text of this step is in the scrollback
	retry   string   // notice about a failed request that is made again
	retried bool     // the request was made again, and its text is printed when complete
	held    []string // parts of that text

	rendered struct { // cache of the laid-out rest of the text
		text  string
		width int
		lines []ink.Line
	}
}

// ask starts a run for a question.
func (s *screen) ask(q host.Question) {
	ctx, r := s.begun()
	s.ui.background(func() any {
		_, err := s.session.Talk().Ask(ctx, q)
		r.cancel()
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
	switch {
	case r.interrupted:
		s.say(ink.Muted, "You interrupted the answer. Its text so far stays in the conversation.")
	case r.cancelled && !r.answered:
		s.say(ink.Muted, "cancelled")
	}
	s.run, s.used = nil, s.session.Talk().WindowUse()
	s.look(s.session.Talk().Servers())
	if !r.interrupted && (err != nil || r.cancelled) {
		s.waiting.held = true
	}
	if !s.waiting.held {
		s.goOn()
		s.goOnWithTask()
	}
	if s.run == nil && !r.cancelled && s.now().Sub(r.began) >= longTime {
		s.alert("has an answer")
	}
}

// happened shows an event.
func (s *screen) happened(e *host.Event) {
	switch {
	case e.Listed != nil:
		s.servers = e.Listed.Servers
		if s.run != nil {
			s.run.listed = true
		}
	case e.Child != nil && s.run != nil:
		s.child(s.run.top.open(e.Child.CallID), e.Child)
	case e.Reviewed != nil:
		r := e.Reviewed
		s.refused = slices.DeleteFunc(slices.Clone(s.refused), func(name string) bool { return name == r.Server })
		if !r.Approved && r.Error == "" {
			s.refused = append(s.refused, r.Server)
		}
		s.servers = slices.Clone(s.servers)
		for i := range s.servers {
			if t := &s.servers[i]; t.Server == r.Server && r.Approved {
				t.State, t.Seen = host.StateConnected, t.Tools
			}
		}
	case e.Log != nil:
		s.logs(e)
	case e.Notice != nil:
		s.notice(e.Notice)
	case e.Returned != nil && e.Returned.Task > 0:
		s.taskReturned(e.Returned)
	case s.run != nil:
		s.progress(e)
	}
	if e.Asked != nil || e.Returned != nil || e.Answered != nil {
		s.used = s.session.Talk().WindowUse()
	}
	if s.trace {
		s.traced(e)
	}
}

// progress shows an event of the run.
func (s *screen) progress(e *host.Event) {
	r := s.run
	switch {
	case e.Asked != nil:
		s.endText()
		r.asked, r.wrote, r.printed, r.retried, r.retry = true, false, false, false, ""
	case e.Delta != nil:
		s.delta(e.Delta)
	case e.Decided != nil:
		s.decided(e.Decided)
		r.top.track(s, "", e)
	case e.ServerRequest != nil:
		s.serverRequested(e.ServerRequest)
	case e.Answered != nil:
		a := e.Answered
		s.endText()
		s.run.answered = true
		switch {
		case s.run.interrupted && a.Stop == "cancelled": // the end of the run prints this
		case a.Stop == "cancelled":
			s.say(ink.Warn, "cancelled")
		case a.Error != "":
			s.say(ink.Bad, "error: "+a.Error)
		}
	default:
		if e.Called != nil {
			s.endText()
		}
		s.finished(r.top.track(s, "", e))
	}
}

func (s *screen) delta(d *model.Delta) {
	r := s.run
	r.asked = false
	switch {
	case d.Retry != nil:
		s.retry(d.Retry)
	case d.Reasoning != "":
		if r.thought.Len() == 0 {
			r.thinking = s.now()
		}
		r.thought.WriteString(d.Reasoning[:min(len(d.Reasoning), maxThought-min(maxThought, r.thought.Len()))])
	case d.Text != "":
		s.endThought()
		r.wrote, r.retry = true, ""
		for _, part := range r.text.Add(d.Text) {
			if r.retried {
				r.held = append(r.held, part)
				continue
			}
			r.printed = true
			s.printMarkdown(part)
		}
	case d.Call != nil:
		s.endThought()
		if d.Call.Name != "" {
			r.draft = d.Call.Name
		}
	}
}

// retry drops the partial answer of a failed request. Printed text cannot be removed, so the text
// of the next attempt is printed only when it is complete.
func (s *screen) retry(again *model.Retry) {
	r := s.run
	r.text.End()
	if r.printed {
		s.say(ink.Warn, "The answer was interrupted; retrying. Ignore the partial answer above.")
	}
	r.retry = fmt.Sprintf("retrying in %s, attempt %d failed", seconds(again.After), again.Attempt)
	if again.Err != nil {
		r.retry += ": " + plaintext.Line(again.Err.Error(), 500)
	}
	r.printed, r.retried, r.held = false, true, nil
	r.wrote, r.draft, r.asked = false, "", true
	r.thought.Reset()
}

// endText prints the rest of the text.
func (s *screen) endText() {
	s.endThought()
	for _, part := range s.run.held {
		s.printMarkdown(part)
	}
	s.run.held = nil
	if rest := s.run.text.End(); strings.TrimSpace(rest) != "" {
		s.printMarkdown(rest)
	}
	s.run.draft = ""
}

// endThought prints a line about the reasoning, and stores its text for Ctrl+O.
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
	r.asked, r.retry = false, ""
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
}

// live returns the unfinished lines, which are drawn in the frame.
func (s *screen) live() []ink.Line {
	r := s.run
	if r == nil {
		return nil
	}
	var lines []ink.Line
	if r.thought.Len() > 0 {
		text := strings.TrimSpace(r.thought.String())
		last := text[strings.LastIndexByte(text, '\n')+1:]
		if extra := len(last) - 400; extra > 0 {
			last = strings.ToValidUTF8(last[extra:], "")
		}
		lines = append(lines, ink.Line{ink.T(ink.Muted, "∴ thinking: ", ink.Italic), ink.T(ink.Muted, last)}.Cut(s.width))
	}
	rest := r.text.Rest() // the text not printed so far
	if n := len(r.held); n > 0 {
		rest = r.held[n-1] + rest
	}
	if strings.TrimSpace(rest) != "" {
		if r.rendered.text != rest || r.rendered.width != s.width {
			r.rendered.text, r.rendered.width = rest, s.width
			r.rendered.lines = markdown.Render(rest, s.width)
		}
		lines = append(lines, r.rendered.lines...)
	}
	for _, c := range r.running() {
		lines = append(lines, c.live(s)...)
	}
	if r.retry != "" {
		lines = append(lines, ink.Line{ink.T(ink.Warn, "↻ "+r.retry)}.Cut(s.width))
	}
	return append(lines, s.activity())
}

// activity describes what the user is waiting for.
func (s *screen) activity() ink.Line {
	r := s.run
	what, running := "working", len(r.running())
	switch {
	case r.cancelled:
		what = "cancelling"
	case len(s.cards) > 0:
		what = "waiting for you"
	case r.doing != "":
		what = r.doing
	case running > 1:
		what = fmt.Sprintf("%d calls are running", running)
	case running == 1:
		what = "a call is running"
	case r.draft != "":
		what = "preparing a call of " + r.draft
	case r.asked:
		what = "waiting for the model"
	case r.wrote:
		what = "the model is writing"
	case !r.listed && slices.ContainsFunc(s.servers, isConnecting):
		var names []string
		for i := range s.servers {
			if isConnecting(s.servers[i]) {
				names = append(names, plaintext.Line(s.servers[i].Server, 40))
			}
		}
		what = "connecting to " + strings.Join(names, ", ")
	}
	frames := []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	frame := frames[int(s.now().Sub(r.began)/tickTime)%len(frames)]
	return ink.Line{
		ink.T(ink.Accent, frame+" "), ink.T(ink.Plain, r.doingStep+what),
		ink.T(ink.Muted, " "+seconds(s.now().Sub(r.began))+" · "+s.escMeans()),
	}.Cut(s.width)
}

// seconds formats a duration for users.
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
