package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// Limits of the part of a resumed conversation that is shown again.
const (
	maxReplay      = 200 // entries
	maxReplayLines = 20  // lines of each question, which can hold a large paste
)

// replay prints an entry of a resumed conversation.
func (s *screen) replay(e *host.Entry) {
	switch {
	case e.Message != nil && e.Shown != "":
		s.typed(e.Shown)
	case e.Message != nil:
		s.replayMessage(e.Message)
	case e.Summary != nil:
		s.say(ink.Muted, "for the model, this summary replaces the text above:")
		s.printMarkdown(e.Summary.Text)
	case e.Task != nil:
		s.replayTask(e.Task)
	case e.Ended != nil:
		e := e.Ended
		switch {
		case e.Stop == "cancelled":
			s.say(ink.Warn, "cancelled")
		case e.Error != "":
			s.say(ink.Bad, "error: "+e.Error)
		default:
			s.say(ink.Warn, "the answer is not complete: the run ended with "+e.Stop)
		}
	case e.Note != "":
		s.say(ink.Muted, keptNote+e.Note)
	}
}

// unanswered reports whether the last run of a conversation did not end.
func unanswered(entries []host.Entry) bool {
	for _, e := range slices.Backward(entries) {
		switch {
		case e.Totals != nil:
			return false
		case e.Message != nil:
			return e.Message.Role != model.RoleAssistant || len(e.Message.Calls()) > 0
		}
	}
	return false
}

// noAnswer is printed after a question whose run did not end.
const noAnswer = "This has no answer: junction chat ended too early."

// cutOff reports that the last run of some entries did not end, and lists the calls that may have
// been made in it. It ignores later runs, whose calls may have the same IDs.
func (s *screen) cutOff(entries []host.Entry) {
	made, run := false, entries
	for i, e := range slices.Backward(entries) {
		if e.Totals != nil {
			run = entries[i+1:]
			break
		}
	}
	unasked := host.UnansweredCalls(run)
	for _, c := range s.past {
		if c.result != nil || c.thought != "" {
			continue
		}
		c.result = &host.Returned{CallID: c.CallID, IsError: true, Text: "junction chat ended before there was a result; it may have been carried out"}
		switch {
		case c.task > 0:
			c.result.IsError, c.result.Text = false, fmt.Sprintf("went on as task %d", c.task)
		case unasked[c.CallID]:
			c.result.Text = "junction chat ended while you were asked; it was not carried out"
		default:
			made = true
		}
		s.print(c.folded(s)...)
	}
	said := noAnswer
	if made {
		said += " Find out whether the call above was carried out before you ask for it again."
	}
	s.say(ink.Warn, said)
}

func (s *screen) replayMessage(m *model.Message) {
	if m.Role == model.RoleUser {
		s.replayQuestion(m.Parts)
	} else if text := strings.TrimSpace(m.Text()); text != "" {
		s.printMarkdown(text)
	}
	for _, p := range m.Parts {
		switch {
		case p.Reasoning != nil && p.Reasoning.Text != "":
			s.remember(&call{thought: p.Reasoning.Text})
		case p.Call != nil:
			server, tool := splitName(p.Call.Name)
			s.remember(&call{Called: host.Called{CallID: p.Call.ID, Server: server, Tool: tool, Arguments: p.Call.Arguments}, began: time.Unix(0, 0)})
		case p.Result != nil:
			for _, c := range s.past {
				if c.CallID != p.Result.CallID || c.result != nil || c.thought != "" || c.refused != "" {
					continue
				}
				text := p.Result.Text()
				c.result = &host.Returned{CallID: c.CallID, Text: text, IsError: p.Result.IsError, Bytes: len(text), Tokens: model.EstimateTokens(len(text))}
				s.print(c.folded(s)...)
			}
		}
	}
}

// replayQuestion prints the user's text and the names of the attachments.
func (s *screen) replayQuestion(parts []model.Part) {
	var said strings.Builder
	var names []string
	for _, p := range parts {
		line, _, _ := strings.Cut(p.Text, "\n")
		name, isAttached := strings.CutPrefix(line, "[attached: ")
		if name, closed := strings.CutSuffix(name, "]"); isAttached && closed {
			names = append(names, plaintext.Line(name, 200))
			continue
		}
		said.WriteString(p.Text)
	}
	if text := strings.TrimSpace(said.String()); text != "" {
		lines := s.saidLines(text)
		more := len(lines) - maxReplayLines
		if more > 0 {
			lines = append(lines[:maxReplayLines:maxReplayLines], ink.Lines(ink.Muted, fmt.Sprintf("  … %s (/export has all)", plural(more, "more line", "more lines")), s.width)...)
		}
		s.print(lines...)
	}
	s.attachedLine(names)
}

// splitName returns the server and the tool in a name that the model sees.
func splitName(name string) (server, tool string) {
	if server, tool, found := strings.Cut(name, "__"); found {
		return server, tool
	}
	return "", name
}
