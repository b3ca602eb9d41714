package offline

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// What an extract keeps.
const (
	maxExtract     = 4 << 10 // bytes
	maxExtractLine = 200     // characters of a message
)

// wantsSummary reports whether a conversation is to be made shorter: there are no
// tools, and the system prompt or the last message asks for a summary.
func wantsSummary(req *model.Request) bool {
	if len(req.Tools) > 0 || len(req.Messages) == 0 {
		return false
	}
	last := &req.Messages[len(req.Messages)-1]
	for _, text := range []string{req.System, last.Text()} {
		text = strings.ToLower(text[:min(len(text), maxQuestion)])
		for _, word := range []string{"summar", "compact", "condense", "shorten"} {
			if strings.Contains(text, word) {
				return true
			}
		}
	}
	return false
}

// extract is the first line of each message, or every line of the only message,
// which is then a transcript. If not all have room, the first and the newest are
// kept.
func extract(messages []model.Message) string {
	var lines []string
	if len(messages) == 1 {
		for line := range strings.Lines(messages[0].Text()) {
			lines = append(lines, plaintext.Line(strings.TrimSpace(line), maxExtractLine))
		}
	} else {
		for i := range messages {
			lines = append(lines, firstLines(&messages[i])...)
		}
	}
	const title = "An extract, as no language model is at hand to summarise:"
	size, from := len(title), len(lines)
	if len(lines) > 0 {
		size += len(lines[0])
	}
	for from > 1 && size+len(lines[from-1])+1 <= maxExtract {
		from--
		size += len(lines[from]) + 1
	}
	kept := []string{title}
	if len(lines) > 0 {
		kept = append(kept, lines[0])
	}
	if from > 1 {
		kept = append(kept, fmt.Sprintf("… (%d lines left out)", from-1))
	}
	return strings.Join(append(kept, lines[min(len(lines), max(1, from)):]...), "\n")
}

func firstLines(m *model.Message) []string {
	var lines []string
	add := func(who, text string) {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		lines = append(lines, who+": "+plaintext.Line(first, maxExtractLine))
	}
	if text := m.Text(); strings.TrimSpace(text) != "" {
		add(string(m.Role), text)
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Call != nil:
			add("called "+p.Call.Name, string(p.Call.Arguments))
		case p.Result != nil && p.Result.IsError:
			add(p.Result.Name+" failed", p.Result.Text())
		case p.Result != nil:
			add("result of "+p.Result.Name, p.Result.Text())
		}
	}
	return lines
}
