package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// maxLog is how many messages of servers are remembered.
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

// line is the message as the log shows it.
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
		ink.T(ink.Accent, oneLine(from, 60)+" "), ink.T(role, oneLine(text, 2_000)),
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
			return // it was said that it failed, and why
		}
	case host.NoticeRetry:
		if s.run != nil {
			s.run.retry = n.Text // in the frame: of most, nobody needs to know afterwards
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

// serverRequested prints what a server asked in the middle of a call.
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
		text = fmt.Sprintf("%s “%s”: %s", what, oneLine(q.Message, 80), outcome)
	}
	s.print(ink.Wrap(ink.Line{ink.T(ink.Muted, "? "), ink.T(ink.Plain, q.Server, ink.Bold), ink.T(ink.Muted, " "+text)}, s.width)...)
}

// traced prints which of the seven steps an event is.
func (s *screen) traced(e *host.Event) {
	var step int
	var text, agent string
	for ; e.Child != nil; e = &e.Child.Event {
		agent = "sub-agent " + oneLine(e.Child.Agent, 60) + ": "
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
			count(e.Decided.Usage.Input), count(e.Decided.Usage.Output), money(e.Decided.Cost, e.Decided.CostUnknown))
	case e.Called != nil:
		step, text = 4, "tools/call "+toolName(e.Called.Server, e.Called.Tool)+" "+oneLine(string(e.Called.Arguments), 200)
	case e.Returned != nil:
		step, text = 5, fmt.Sprintf("result of %s: %s, %s, %s tokens", toolName(e.Returned.Server, e.Returned.Tool),
			seconds(e.Returned.Duration), bytes(e.Returned.Bytes), count(e.Returned.Tokens))
	case e.Generated != nil && e.Generated.Decided != nil:
		d := e.Generated.Decided
		text = fmt.Sprintf("%s: %s in, %s out, %s", strings.TrimSpace(e.Generated.For+" "+e.Generated.Server), count(d.Usage.Input), count(d.Usage.Output), money(d.Cost, d.CostUnknown))
	case e.Answered != nil:
		step, text = 7, fmt.Sprintf("answer: %s, %s, %s, %s", orElse(e.Answered.Stop, "end"),
			plural(e.Answered.Totals.Requests, "request", "requests"), plural(e.Answered.Totals.Calls, "call", "calls"), money(e.Answered.Totals.Cost, e.Answered.Totals.CostUnknown))
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
