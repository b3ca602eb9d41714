package tui

import (
	"context"
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
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

const (
	maxPast    = 200 // calls and reasoning texts that Ctrl+O can show
	foldedRows = 4   // lines of a result shown without Ctrl+O
	barCells   = 20

	roomForArguments = 24 // columns of a call's first line that its title leaves free
)

// A call is a tool call with its result, or a reasoning text of the model.
type call struct {
	host.Called
	began    time.Time
	progress host.Progress
	consent  host.Consented
	result   *host.Returned
	files    []string // paths of its stored media
	took     time.Duration

	thought string

	agent   string    // sub-agent that carries out the call
	inner   []*call   // calls of the sub-agent
	wanted  stepCalls // calls in the last step of the sub-agent
	omitted int       // number of earlier inner calls that were dropped
	by      string    // sub-agent that made the call
	refused string    // reason why it did not run
	task    int       // number of the task that it became in an earlier process, or 0
}

// track applies an event about a call within this one. It returns that call, or nil if the event is
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

// isOver reports whether the call has ended.
func (c *call) isOver() bool { return c.result != nil || c.refused != "" }

// running returns the model's own calls that have not ended.
func (r *run) running() []*call {
	return slices.DeleteFunc(slices.Clone(r.top.inner), (*call).isOver)
}

// stepCalls holds the calls of a model's last step.
type stepCalls []*model.Call

// called returns a call for which only the result was reported.
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

// refusal describes the decision that refused a call.
func (s *screen) refusal(c *host.Consented) string {
	by := map[string]string{"person": "you said no", "policy": "a rule says no", "session": "you said no for this session", "host": "not allowed"}[c.By]
	if by == "" {
		by = c.By
	}
	for _, more := range []string{c.Rule, c.Reason} {
		isWhy := c.By != "person" && (c.By != "host" || more != c.Rule) // the user saw the reasons on the card; for "host", Rule did not decide
		if more != "" && isWhy {
			by += ": " + more
		}
	}
	if c.By == "person" && s.refusalNote.call == c.CallID && s.refusalNote.text != "" {
		by += ": “" + plaintext.Line(s.refusalNote.text, 1_000) + "”"
	}
	return by
}

// permissionSource names the user or the rule that allowed a call.
func permissionSource(c *host.Consented) string {
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

// finished stores an ended call. It prints the call if the conversation's own model made it.
func (s *screen) finished(c *call) {
	if c == nil || !c.isOver() {
		return
	}
	s.remember(c)
	switch {
	case c.by != "": // shown within the outer call
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

// remember stores a call for Ctrl+O.
func (s *screen) remember(c *call) {
	s.past = append(s.past, c)
	if len(s.past) > maxPast {
		s.past = s.past[1:]
	}
}

// media stores an image, a sound or a file, and prints a line about it.
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

// toolName returns the name of a tool for the screen.
func toolName(server, tool string) string {
	if server == "" {
		return tool
	}
	return server + " · " + tool
}

// head returns the first line of a call.
func (c *call) head(mark ink.Span, more string, width int) ink.Line {
	line := ink.Line{mark, ink.T(ink.Plain, toolName(c.Server, c.Tool), ink.Bold)}
	if title := " “" + plaintext.Line(c.Title, 60) + "”"; c.Title != "" && c.Title != c.Tool && line.Width()+ink.Width(title) < width-roomForArguments {
		line = append(line, ink.T(ink.Plain, title))
	}
	agent, details := c.agent, string(c.Arguments)
	if c.Server == host.OwnServer && c.Tool == task.Name { // the model's text, not JSON
		text := func(name string) string {
			text, _ := jsonrpc.Unquote(jsonrpc.Get(c.Arguments, name))
			return text
		}
		agent, details = orElse(agent, text("name")), orElse(text("task"), details)
	}
	if agent != "" {
		line = append(line, ink.T(ink.Plain, " "+plaintext.Line(agent, 30)))
	}
	if more != "" {
		line = append(line, ink.T(ink.Muted, " "+more))
	}
	if room := width - line.Width() - 2; room >= 8 && len(c.Arguments) > 2 {
		line = append(line, ink.T(ink.Muted, "  "), ink.T(ink.Code, plaintext.Line(details, room)))
	}
	return line.Cut(width)
}

// state returns a mark and a short text for the state of the call.
func (c *call) state(now time.Time) (mark ink.Span, words string) {
	switch {
	case c.refused != "":
		return ink.T(ink.Bad, "✗ "), "did not run; " + c.refused
	case c.result == nil && c.began.IsZero():
		return ink.T(ink.Muted, "○ "), "waits"
	case c.result == nil:
		return ink.T(ink.Accent, "● "), seconds(now.Sub(c.began))
	}
	if c.took > 0 { // 0 if unknown, as in a resumed conversation
		words = seconds(c.took)
	}
	if c.result.IsError {
		return ink.T(ink.Bad, "✗ "), words
	}
	return ink.T(ink.Good, "✓ "), words
}

// live returns the lines of a running call.
func (c *call) live(s *screen) []ink.Line {
	mark, words := c.state(s.now())
	lines := []ink.Line{c.head(mark, words, s.width)}
	if c.began.IsZero() {
		return lines
	}
	if p := c.progress; p.CallID != "" {
		lines = append(lines, bar(p.Progress, p.Total, p.Message).Cut(s.width))
	}
	return append(lines, c.steps(s, s.width, agentRows)...)
}

func bar(progress, total float64, message string) ink.Line {
	if total <= 0 {
		return ink.Line{ink.T(ink.Muted, "  … "+strconv.FormatFloat(progress, 'f', -1, 64)+"  "), ink.T(ink.Plain, plaintext.Line(message, 200))}
	}
	share := max(0, min(progress/total, 1))
	full := int(share * barCells)
	return ink.Line{
		ink.T(ink.Accent, "  "+strings.Repeat("█", full)), ink.T(ink.Muted, strings.Repeat("░", barCells-full)),
		ink.T(ink.Plain, fmt.Sprintf(" %3.0f%%  %s", share*100, plaintext.Line(message, 200))),
	}
}

// folded returns an ended call: its head and the beginning of its result.
func (c *call) folded(s *screen) []ink.Line {
	width := s.width
	role := ink.Muted
	if c.result.IsError {
		role = ink.Bad
	}
	mark, words := c.state(s.now())
	lines := append([]ink.Line{c.head(mark, words, width)}, c.steps(s, width, agentRows)...)
	text := strings.TrimSpace(c.result.Text)
	if text == "" {
		return lines
	}
	if c.result.IsError && !strings.Contains(text, "\n") { // a one-line error is shown in full
		if whole := ink.Lines(role, text, width-2); len(whole) <= foldedRows {
			return append(lines, ink.Indent(whole, ink.Of("  "), ink.Of("  "))...)
		}
	}
	rows := strings.SplitN(text, "\n", foldedRows+1)
	for _, row := range rows[:min(len(rows), foldedRows)] {
		lines = append(lines, ink.Line{ink.T(role, "  "+plaintext.Line(row, width))}.Cut(width))
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

// more returns the key or command that shows folded text.
func (s *screen) more() string {
	if s.byLine {
		return "/calls"
	}
	return "Ctrl+O"
}

// details returns the full text about a call.
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
		say("allowed by", permissionSource(&c.consent))
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

// agentRows is the number of a sub-agent's calls shown below its own call.
const agentRows = 6

// child shows an event of a sub-agent below its call.
func (s *screen) child(outer *call, in *host.ChildEvent) {
	e := &in.Event
	switch {
	case e.Notice != nil:
		n := *e.Notice
		switch n.Kind {
		case host.NoticeRetry, host.NoticeOffline: // the run's own notices suffice
			return
		case host.NoticeStop, host.NoticeLimit, host.NoticeLoop:
			n.Text = fmt.Sprintf("sub-agent %s: %s", plaintext.Line(in.Agent, 60), n.Text)
		}
		s.notice(&n)
	case e.Log != nil, e.Reviewed != nil:
		s.happened(e)
	case e.ServerRequest != nil:
		s.serverRequested(e.ServerRequest)
	case outer == nil: // the outer call has ended
	case e.Child != nil:
		s.child(outer.open(e.Child.CallID), e.Child)
	default:
		s.finished(outer.track(s, in.Agent, e))
	}
}

// open returns the inner call with this id that has not ended. Ids may repeat.
func (c *call) open(id string) *call {
	for _, in := range c.inner {
		if in.CallID == id && !in.isOver() {
			return in
		}
	}
	return nil
}

// begin returns the open inner call, or a new one.
func (c *call) begin(agent string, called host.Called) *call {
	c.agent = agent
	if in := c.open(called.CallID); in != nil {
		return in
	}
	in := &call{Called: called, by: agent}
	c.inner = append(c.inner, in)
	if extra := len(c.inner) - maxPast; extra > 0 {
		c.inner, c.omitted = c.inner[extra:], c.omitted+extra
	}
	return in
}

// steps returns the lines of the sub-agent's calls, only the last ones if there are many.
func (c *call) steps(s *screen, width, rows int) []ink.Line {
	from := max(0, len(c.inner)-rows)
	var lines []ink.Line
	if n := c.omitted + from; n > 0 {
		lines = append(lines, ink.Line{ink.T(ink.Muted, fmt.Sprintf("… %s (%s shows them)", plural(n, "earlier call", "earlier calls"), s.more()))})
	}
	for _, in := range c.inner[from:] {
		mark, words := in.state(s.now())
		lines = append(lines, in.head(mark, words, width-4))
		lines = append(lines, in.steps(s, width-4, rows)...)
	}
	margin := ink.Line{ink.T(ink.Muted, "  │ ")}
	return ink.Indent(lines, margin, margin)
}

// maxByItself is the number of times that the model continues with results of tasks before the user
// asks something again. Without it, a server could keep the model running.
const maxByItself = 8

// watchTasks waits for the tasks of the current conversation, and stops waiting for those of the
// last one.
func (s *screen) watchTasks() {
	if s.unwatch != nil {
		s.unwatch()
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.unwatch, s.came = cancel, 0
	s.ui.work.Go(func() { s.session.Talk().WatchTasks(ctx) })
}

// tasks lists the calls that run as tasks, or cancels or leaves one of them.
func (s *screen) tasks(argument string) {
	verb, number, _ := strings.Cut(argument, " ")
	n, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case argument == "":
		s.panel = tasksPanel()
	case (verb != "cancel" && verb != "leave") || err != nil:
		s.hint = "expected /tasks, /tasks cancel NUMBER or /tasks leave NUMBER"
	default:
		s.toTask(verb, n)
	}
}

func (s *screen) toTask(verb string, n int) {
	s.change(func(ctx context.Context) (string, error) {
		if verb == "leave" {
			return fmt.Sprintf("the model continues without task %d, and gets its result later", n), s.session.Talk().LeaveTask(n)
		}
		return fmt.Sprintf("the server is asked to cancel task %d", n), s.session.Talk().CancelTask(ctx, n)
	})
}

func tasksPanel() *roster {
	r := &roster{title: "tasks", none: "no call runs as a task", keys: []string{"c cancel", "l leave"}}
	r.rows = func(s *screen, width int) (rows [][]ink.Line) {
		for _, t := range s.session.Talk().Tasks() {
			rows = append(rows, taskLines(&t, s.now(), width))
		}
		return rows
	}
	var last time.Time
	r.act = func(s *screen, key string, at int) {
		verb := map[string]string{"c": "cancel", "l": "leave"}[key]
		all := s.session.Talk().Tasks()
		if verb == "" || at >= len(all) {
			return
		}
		held := s.now().Sub(last) < quietTime // key held or pressed twice: it is not meant for the next row
		if last = s.now(); !held {
			s.toTask(verb, all[at].Number)
		}
	}
	return r
}

// taskLines returns the lines of a task: its server, tool, status, start and message.
func taskLines(t *host.Task, now time.Time, width int) []ink.Line {
	line := ink.Line{ink.T(ink.Muted, "task "+strconv.Itoa(t.Number)+" "), ink.T(ink.Plain, toolName(plaintext.Line(t.Server, 60), plaintext.Line(t.Tool, 80)), ink.Bold)}
	status := strings.ReplaceAll(plaintext.Line(t.Status, 40), "_", " ")
	if t.Agent != "" {
		status = "of sub-agent " + plaintext.Line(t.Agent, 30) + ", " + status
	}
	since := t.Began.Format("15:04")
	if now.Sub(t.Began) > 12*time.Hour {
		since = t.Began.Format("2 Jan 15:04")
	}
	lasts := now.Sub(t.Began)
	took := seconds(lasts)
	if lasts >= time.Hour {
		took = fmt.Sprintf("%d h %d min", int(lasts.Hours()), int(lasts.Minutes())%60)
	}
	status += ", since " + since + " (" + took + ")"
	if !t.Left {
		status += ", a call waits for it"
	}
	lines := ink.Wrap(append(line, ink.T(ink.Muted, "  "+status)), width)
	if t.Message != "" {
		lines = append(lines, ink.Line{ink.T(ink.Plain, "  "+plaintext.Line(t.Message, 200))}.Cut(width))
	}
	return lines
}

// taskReturned shows the result of a task that no call waited for, and lets the model continue with
// it.
func (s *screen) taskReturned(r *host.Returned) {
	if s.run != nil {
		s.endText()
	}
	c := &call{Called: host.Called{CallID: r.CallID, Server: r.Server, Tool: r.Tool}, result: r, took: r.Duration}
	s.remember(c)
	s.print(append([]ink.Line{{ink.T(ink.Muted, fmt.Sprintf("task %d is over:", r.Task))}}, c.folded(s)...)...)
	for _, m := range r.Media {
		s.media(c, m)
	}
	s.came = r.Task
	s.alert("has the result of a task")
	s.goOnWithTask()
}

// goOnWithTask lets the model continue with the result of a task, once no question waits.
func (s *screen) goOnWithTask() {
	if s.came == 0 || s.run != nil || s.quitting || len(s.waiting.texts) > 0 {
		return
	}
	if s.taskRuns >= maxByItself {
		s.say(ink.Muted, fmt.Sprintf("Task %d is over. The model has already continued by itself %d times since your last question, so it waits: ask it to continue.", s.came, s.taskRuns))
		s.came = 0
		return
	}
	s.taskRuns++
	said := fmt.Sprintf("Task %d is over; the model continues with its result.", s.came)
	s.say(ink.Muted, said)
	s.ask(host.Question{Text: "Continue with the result of the task: read it, and finish the request.", Shown: said, Relayed: true})
}

// replayTask shows an earlier event of a task.
func (s *screen) replayTask(t *host.TaskEntry) {
	switch {
	case t.Began != nil:
		for _, c := range s.past {
			if c.CallID == t.Began.CallID {
				c.task = t.Number
			}
		}
	case t.Came != nil:
		text := fmt.Sprintf("task %d is over", t.Number)
		if t.Came.LongResult != nil {
			text += ": " + plaintext.Line(t.Came.LongResult.Text, 200)
		}
		s.say(ink.Muted, text)
	}
}

// maxLog is the number of stored log messages.
const maxLog = 1_000

// logged is a log message of a server.
type logged struct {
	at time.Time
	host.Logged
}

func (s *screen) logs(e *host.Event) {
	s.log = append(s.log, logged{e.At, *e.Log})
	if extra := len(s.log) - maxLog; extra > 0 {
		s.log = slices.Delete(s.log, 0, extra)
	}
}

// line returns the message as a line of the log.
func (l *logged) line() ink.Line {
	role := ink.Plain
	switch n := l.Level.Severity(); {
	case n >= mcp.LogError.Severity():
		role = ink.Bad
	case n >= mcp.LogWarning.Severity():
		role = ink.Warn
	case n <= mcp.LogDebug.Severity():
		role = ink.Muted
	}
	text, isText := jsonrpc.Unquote(l.Data)
	if !isText {
		text = string(l.Data)
	}
	from := l.Server
	if l.Logger != "" {
		from += "/" + l.Logger
	}
	return ink.Line{
		ink.T(ink.Muted, l.at.Format("15:04:05 ")), ink.T(role, fmt.Sprintf("%-7s ", l.Level)),
		ink.T(ink.Accent, plaintext.Line(from, 60)+" "), ink.T(role, plaintext.Line(text, 2_000)),
	}
}

func (s *screen) notice(n *host.Notice) {
	role := ink.Muted
	switch n.Kind {
	case host.NoticeGuard:
		role = ink.Bad
	case host.NoticeServer, host.NoticeReviews, host.NoticeStop, host.NoticeLimit, host.NoticeLoop, host.NoticeOffline:
		role = ink.Warn
	}
	switch n.Kind {
	case host.NoticeServer, host.NoticeTools:
		s.look(s.session.Talk().Servers())
		s.menu.load(s)
		if n.Kind == host.NoticeServer && slices.Contains(s.troubled, n.Server) {
			return // the failure was already reported
		}
	case host.NoticeRetry:
		if s.run != nil {
			s.run.retry = n.Text // shown in the frame only, because few users need it later
			return
		}
	case host.NoticeCompact:
		if s.run != nil {
			s.run.compacted = true
		}
	case host.NoticeStop, host.NoticeLimit, host.NoticeLoop:
		if s.run != nil {
			s.endText()
		}
	}
	text := n.Text
	if n.Kind == host.NoticeReviews {
		text += " (/review " + n.Server + " shows it to you)"
	}
	if (n.Kind == host.NoticeGuard || n.Kind == host.NoticeLowered || n.Kind == host.NoticeTask) && n.Tool != "" {
		text = toolName(n.Server, n.Tool) + ": " + text
	}
	s.print(ink.Indent(ink.Lines(role, text, s.width-2), ink.Line{ink.T(role, "! ")}, ink.Of("  "))...)
}

// serverRequested prints a server's request during a call.
func (s *screen) serverRequested(q *host.ServerRequested) {
	what := q.Method
	switch q.Method {
	case "elicitation/create":
		what = "asked you"
	case "sampling/createMessage":
		what = "asked the model"
	case "roots/list":
		return
	}
	outcome := q.Outcome
	if done, ok := map[string]string{mcp.ElicitAccept: "accepted", mcp.ElicitDecline: "declined", mcp.ElicitCancel: "cancelled"}[outcome]; ok {
		outcome = done
	}
	if q.Method == "sampling/createMessage" && outcome == "accepted" {
		outcome = "allowed"
	}
	text := what + ": " + outcome
	if q.Message != "" {
		text = fmt.Sprintf("%s “%s”: %s", what, plaintext.Line(q.Message, 80), outcome)
	}
	s.print(ink.Wrap(ink.Line{ink.T(ink.Muted, "? "), ink.T(ink.Plain, q.Server, ink.Bold), ink.T(ink.Muted, " "+text)}, s.width)...)
}

// traced prints the number of the step that an event belongs to.
func (s *screen) traced(e *host.Event) {
	var step int
	var text, agent string
	for ; e.Child != nil; e = &e.Child.Event {
		agent = "sub-agent " + plaintext.Line(e.Child.Agent, 60) + ": "
	}
	switch {
	case e.Listed != nil:
		step, text = 1, fmt.Sprintf("list tools: %s of %s are sent, about %s tokens; %d are left to search",
			plural(e.Listed.Native, "tool", "tools"), plural(len(e.Listed.Servers), "server", "servers"), count(e.Listed.Tokens), e.Listed.Deferred)
	case e.Asked != nil:
		step, text = 2, fmt.Sprintf("ask %s: %s, %s, about %s tokens", e.Asked.Model,
			plural(e.Asked.Messages, "message", "messages"), plural(e.Asked.Tools, "tool", "tools"), count(e.Asked.Tokens))
		if e.Step > 1 {
			step = 6
		}
	case e.Decided != nil:
		step, text = 3, fmt.Sprintf("decided: %s, %s in, %s out, %s", e.Decided.Stop,
			count(e.Decided.Usage.Input), count(e.Decided.Usage.Output), formatDollars(e.Decided.Cost, e.Decided.CostUnknown))
	case e.Called != nil:
		step, text = 4, "tools/call "+toolName(e.Called.Server, e.Called.Tool)+" "+plaintext.Line(string(e.Called.Arguments), 200)
	case e.Returned != nil:
		step, text = 5, fmt.Sprintf("result of %s: %s, %s, %s tokens", toolName(e.Returned.Server, e.Returned.Tool),
			seconds(e.Returned.Duration), bytes(e.Returned.Bytes), count(e.Returned.Tokens))
	case e.Generated != nil && e.Generated.Decided != nil:
		d := e.Generated.Decided
		text = fmt.Sprintf("%s: %s in, %s out, %s", strings.TrimSpace(e.Generated.For+" "+e.Generated.Server), count(d.Usage.Input), count(d.Usage.Output), formatDollars(d.Cost, d.CostUnknown))
	case e.Answered != nil:
		step, text = 7, fmt.Sprintf("answer: %s, %s, %s, %s", orElse(e.Answered.Stop, "end"),
			plural(e.Answered.Totals.Requests, "request", "requests"), plural(e.Answered.Totals.Calls, "call", "calls"), formatDollars(e.Answered.Totals.Cost, e.Answered.Totals.CostUnknown))
	default:
		return
	}
	mark := "·"
	if step > 0 {
		mark = fmt.Sprint(step)
	}
	s.add(ink.Indent(ink.Lines(ink.Muted, agent+strings.TrimSpace(text), s.width-4), ink.Line{ink.T(ink.Accent, "  "+mark+" ")}, ink.Of("    "))...)
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
