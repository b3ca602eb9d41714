package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/task"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

const (
	maxPast    = 200 // calls and thoughts that Ctrl+O can show
	foldedRows = 4   // lines of a result that are shown at once
	barCells   = 20

	roomForArguments = 24 // columns of a call's first line that its title leaves to the rest
)

// A call is a tool call with what came of it, or a thought of the model.
type call struct {
	host.Called
	began    time.Time
	progress host.Progress
	consent  host.Consented
	result   *host.Returned
	files    []string // where its media were kept
	took     time.Duration

	thought string

	agent   string    // the sub-agent that carries it out
	inner   []*call   // that it makes
	wanted  stepCalls // what it asked for last
	omitted int       // before them
	by      string    // the sub-agent that makes it
	refused string    // why it did not run
	task    int       // as which it went on, in an earlier process; 0: as none
}

// track takes up what an event says of a call that is made within this one, and returns that call; nil where it is
// about none.
func (c *call) track(s *screen, agent string, e *host.Event) *call {
	switch {
	case e.Decided != nil:
		var all stepCalls
		if e.Decided.Message != nil {
			for i := range e.Decided.Message.Parts {
				if c := e.Decided.Message.Parts[i].Call; c != nil {
					all = append(all, c)
				}
			}
		}
		c.wanted = all
	case e.Consent != nil:
		in := c.begin(agent, host.Called{CallID: e.Consent.CallID, Server: e.Consent.Server, Tool: e.Consent.Tool})
		if in.consent = *e.Consent; !e.Consent.Allowed {
			in.refused, in.Arguments = s.refusal(e.Consent), c.wanted.arguments(in.CallID)
		}
		return in
	case e.Called != nil:
		in := c.begin(agent, *e.Called)
		in.Called, in.began = *e.Called, s.now()
		return in
	case e.Progress != nil:
		if in := c.open(e.Progress.CallID); in != nil {
			in.progress = *e.Progress
		}
	case e.Returned != nil:
		in := c.begin(agent, c.wanted.called(e.Returned))
		in.result, in.took = e.Returned, e.Returned.Duration
		return in
	}
	return nil
}

// isOver reports whether nothing more comes of the call.
func (c *call) isOver() bool { return c.result != nil || c.refused != "" }

// running are the calls of the model itself that are not over.
func (r *run) running() []*call {
	return slices.DeleteFunc(slices.Clone(r.top.inner), (*call).isOver)
}

// stepCalls are the calls that a model asked for in its last step.
type stepCalls []*model.Call

// called is a call of which only the result was reported.
func (w stepCalls) called(r *host.Returned) host.Called {
	called := host.Called{CallID: r.CallID, Server: r.Server, Tool: r.Tool, Arguments: w.arguments(r.CallID)}
	if called.Server == "" {
		called.Server, called.Tool = splitName(r.Tool)
	}
	return called
}

func (w stepCalls) arguments(id string) json.RawMessage {
	for _, c := range w {
		if c.ID == id {
			return c.Arguments
		}
	}
	return nil
}

// refusal is who did not allow a call, and why.
func (s *screen) refusal(c *host.Consented) string {
	by := map[string]string{"person": "you said no", "policy": "a rule says no", "session": "you said no for this session", "host": "not allowed"}[c.By]
	if by == "" {
		by = c.By
	}
	for _, more := range []string{c.Rule, c.Reason} {
		isWhy := c.By != "person" && (c.By != "host" || more != c.Rule) // the person saw why it was asked; no rule says no for the host
		if more != "" && isWhy {
			by += ": " + more
		}
	}
	if c.By == "person" && s.noted.call == c.CallID && s.noted.text != "" {
		by += ": “" + oneLine(s.noted.text, 1_000) + "”"
	}
	return by
}

// allower is who allowed a call.
func allower(c *host.Consented) string {
	switch c.By {
	case "person":
		return "you, once"
	case "session":
		return "you, for this session"
	case "question":
		return "you, for this question"
	case "policy":
		return strings.TrimSpace("the rule " + c.Rule)
	}
	return c.By
}

// finished keeps a call that is over, and prints one of the model itself.
func (s *screen) finished(c *call) {
	if c == nil || !c.isOver() {
		return
	}
	s.remember(c)
	switch {
	case c.by != "": // its own call shows it
	case c.refused != "":
		s.print(ink.Wrap(ink.Line{ink.T(ink.Bad, "✗ "), ink.T(ink.Plain, toolName(c.Server, c.Tool), ink.Bold), ink.T(ink.Muted, " did not run; "+c.refused)}, s.width)...)
	default:
		s.print(c.folded(s)...)
	}
	if c.result != nil {
		for _, m := range c.result.Media {
			s.media(c, m)
		}
	}
}

// remember keeps a call for Ctrl+O.
func (s *screen) remember(c *call) {
	s.past = append(s.past, c)
	if len(s.past) > maxPast {
		s.past = s.past[1:]
	}
}

// media keeps an image, a sound or a file, and announces it.
func (s *screen) media(c *call, m model.Media) {
	what := fmt.Sprintf("%s, %s", m.Type, bytes(len(m.Data)))
	save := s.ui.options.SaveMedia
	if save == nil {
		s.add(ink.Line{ink.T(ink.Muted, "  ⎙ "+what)})
		return
	}
	server, tool := c.Server, c.Tool
	s.ui.background(func() any {
		path, err := save(server, tool, m)
		return func(s *screen) {
			if err != nil {
				s.say(ink.Bad, what+" could not be kept: "+err.Error())
				return
			}
			c.files = append(c.files, path)
			s.print(ink.Wrap(ink.Line{ink.T(ink.Muted, "⎙ "+what+" is in "), ink.T(ink.Link, path)}, s.width)...)
		}
	})
}

// toolName is how a tool is called on the screen.
func toolName(server, tool string) string {
	if server == "" {
		return tool
	}
	return server + " · " + tool
}

// head is the first line of a call.
func (c *call) head(mark ink.Span, more string, width int) ink.Line {
	line := ink.Line{mark, ink.T(ink.Plain, toolName(c.Server, c.Tool), ink.Bold)}
	if title := " “" + oneLine(c.Title, 60) + "”"; c.Title != "" && c.Title != c.Tool && line.Width()+ink.Width(title) < width-roomForArguments {
		line = append(line, ink.T(ink.Plain, title))
	}
	agent, details := c.agent, string(c.Arguments)
	if c.Server == host.OwnServer && c.Tool == task.Name { // in the model's words, not as JSON
		text := func(name string) string {
			text, _ := jsonrpc.Unquote(jsonrpc.Get(c.Arguments, name))
			return text
		}
		agent, details = orElse(agent, text("name")), orElse(text("task"), details)
	}
	if agent != "" {
		line = append(line, ink.T(ink.Plain, " "+oneLine(agent, 30)))
	}
	if more != "" {
		line = append(line, ink.T(ink.Muted, " "+more))
	}
	if room := width - line.Width() - 2; room >= 8 && len(c.Arguments) > 2 {
		line = append(line, ink.T(ink.Muted, "  "), ink.T(ink.Code, oneLine(details, room)))
	}
	return line.Cut(width)
}

// live is a call that runs.
func (c *call) live(s *screen) []ink.Line {
	if c.began.IsZero() {
		return []ink.Line{c.head(ink.T(ink.Muted, "○ "), "waits", s.width)}
	}
	lines := []ink.Line{c.head(ink.T(ink.Accent, "● "), seconds(s.now().Sub(c.began)), s.width)}
	if p := c.progress; p.CallID != "" {
		lines = append(lines, bar(p.Progress, p.Total, p.Message).Cut(s.width))
	}
	return append(lines, c.steps(s, s.width, agentRows)...)
}

func bar(progress, total float64, message string) ink.Line {
	if total <= 0 {
		return ink.Line{ink.T(ink.Muted, "  … "+strconv.FormatFloat(progress, 'f', -1, 64)+"  "), ink.T(ink.Plain, oneLine(message, 200))}
	}
	share := max(0, min(progress/total, 1))
	full := int(share * barCells)
	return ink.Line{
		ink.T(ink.Accent, "  "+strings.Repeat("█", full)), ink.T(ink.Muted, strings.Repeat("░", barCells-full)),
		ink.T(ink.Plain, fmt.Sprintf(" %3.0f%%  %s", share*100, oneLine(message, 200))),
	}
}

// lasted is how long the call took; nothing where that is not known, as in a
// conversation that goes on.
func (c *call) lasted() string {
	if c.took == 0 {
		return ""
	}
	return seconds(c.took)
}

// folded is a call that is over: its head and the beginning of its result.
func (c *call) folded(s *screen) []ink.Line {
	width := s.width
	mark, role := ink.T(ink.Good, "✓ "), ink.Muted
	if c.result.IsError {
		mark, role = ink.T(ink.Bad, "✗ "), ink.Bad
	}
	lines := append([]ink.Line{c.head(mark, c.lasted(), width)}, c.steps(s, width, agentRows)...)
	text := strings.TrimSpace(c.result.Text)
	if text == "" {
		return lines
	}
	if c.result.IsError && !strings.Contains(text, "\n") { // why it failed is read in full
		if whole := ink.Lines(role, text, width-2); len(whole) <= foldedRows {
			return append(lines, ink.Indent(whole, ink.Of("  "), ink.Of("  "))...)
		}
	}
	rows := strings.SplitN(text, "\n", foldedRows+1)
	for _, row := range rows[:min(len(rows), foldedRows)] {
		lines = append(lines, ink.Line{ink.T(role, "  "+oneLine(row, width))}.Cut(width))
	}
	if len(rows) > foldedRows {
		more := fmt.Sprintf("  … %s, %s tokens (%s shows all)", plural(strings.Count(text, "\n")+1-foldedRows, "more line", "more lines"), count(c.result.Tokens), s.more())
		if c.result.Kept != "" {
			more = fmt.Sprintf("  … %s, all that the model saw of %s (%s)", plural(strings.Count(text, "\n")+1-foldedRows, "more line", "more lines"), bytes(c.result.Bytes), s.more())
		}
		lines = append(lines, ink.Line{ink.T(ink.Muted, more)}.Cut(width))
	}
	return lines
}

// more is how what is folded can be seen.
func (s *screen) more() string {
	if s.byLine {
		return "/calls"
	}
	return "Ctrl+O"
}

// details is everything there is to say about a call.
func (c *call) details(width int) []ink.Line {
	if c.thought != "" {
		return ink.Lines(ink.Plain, c.thought, width)
	}
	var lines []ink.Line
	say := func(name, value string) {
		if value != "" {
			lines = append(lines, ink.Wrap(ink.Line{ink.T(ink.Muted, name+": "), ink.T(ink.Plain, value)}, width)...)
		}
	}
	say("title", c.Title)
	say("sub-agent", c.agent+c.by)
	say("did not run", c.refused)
	if c.refused == "" {
		say("allowed by", allower(&c.consent))
	}
	lines = append(lines, ink.Line{ink.T(ink.Muted, "arguments")})
	lines = append(lines, ink.Indent(jsonLines(c.Arguments, width-2), ink.Of("  "), ink.Of("  "))...)
	if c.result != nil {
		if c.took > 0 {
			say("took", seconds(c.took))
		}
		say("result", fmt.Sprintf("%s, %s tokens", bytes(c.result.Bytes), count(c.result.Tokens)))
		say("the rest is kept as", c.result.Kept)
		role := ink.Plain
		if c.result.IsError {
			role = ink.Bad
		}
		lines = append(lines, ink.Indent(ink.Lines(role, c.result.Text, width-2), ink.Of("  "), ink.Of("  "))...)
	}
	for _, f := range c.files {
		say("file", f)
	}
	return lines
}
