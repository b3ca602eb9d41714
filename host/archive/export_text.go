package archive

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

func writeText(out *bufio.Writer, meta *Meta, entries []host.Entry) error {
	fmt.Fprintf(out, "%s\n%s\n", plaintext.Clean(meta.Title), meta.facts())
	for i := range entries {
		e := &entries[i]
		switch {
		case e.Message != nil:
			textOfMessage(out, e.Message)
		case e.Summary != nil:
			section(out, "In short, what was said before", e.Summary.Text)
		case e.Note != "":
			section(out, "To be kept in mind", e.Note)
		case cameOf(e) != nil:
			section(out, titleOfTask(e), cameOf(e).Text)
		case e.Totals != nil:
			fmt.Fprintf(out, "\n(%s)\n", usage(e.Totals))
		}
	}
	return nil // bufio keeps the first error, and Flush returns it
}

func textOfMessage(out *bufio.Writer, m *model.Message) {
	speaker := "Question"
	if m.Role != model.RoleUser {
		speaker = "Answer"
	}
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Call != nil:
			section(out, "Call of "+p.Call.Name, indented(p.Call))
		case p.Result != nil:
			section(out, "Result of "+p.Result.Name+", "+outcome(p.Result), resultText(p.Result))
		case p.Reasoning != nil && p.Reasoning.Text != "":
			section(out, "Reasoning", p.Reasoning.Text)
		case p.Media != nil:
			section(out, speaker, mediaText(p.Media))
		case strings.TrimSpace(p.Text) != "":
			section(out, speaker, p.Text)
		}
	}
}

// section writes a text under its name, indented so that no text can look like
// the next name.
func section(out *bufio.Writer, name, text string) {
	text = strings.Trim(plaintext.Clean(text), "\n")
	fmt.Fprintf(out, "\n%s:\n    %s\n", plaintext.Line(name, maxTitle), strings.ReplaceAll(text, "\n", "\n    "))
}
