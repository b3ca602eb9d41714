package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

func writeMarkdown(out *bufio.Writer, meta *Meta, entries []host.Entry) error {
	m := markdown{out: out, results: results(entries)}
	fmt.Fprintf(out, "# %s\n\n%s\n", inert(meta.Title), inert(meta.facts()))
	for i := range entries {
		m.entry(&entries[i])
	}
	return nil // bufio keeps the first error, and Flush returns it
}

type markdown struct {
	out     *bufio.Writer
	results map[string]*model.Result
	shown   map[string]bool // calls whose result stands with them
	speaker model.Role
}

func (m *markdown) entry(e *host.Entry) {
	switch {
	case e.Message != nil:
		m.message(e.Message)
	case e.Summary != nil:
		m.fold("What was said before, in short", block{"", e.Summary.Text})
	case e.Note != "":
		m.paragraph("**To be kept in mind:** " + inert(e.Note))
	case e.Kept != nil:
		m.fold("A long result in full: "+e.Kept.URI, block{"", e.Kept.Text})
	case cameOf(e) != nil:
		m.fold(titleOfTask(e), block{"", cameOf(e).Text})
	case e.Totals != nil:
		m.paragraph("*" + usage(e.Totals) + "*")
	}
}

func (m *markdown) message(message *model.Message) {
	names := map[model.Role]string{model.RoleUser: "Question", model.RoleAssistant: "Answer"}
	if name := names[message.Role]; name != "" && message.Role != m.speaker {
		m.paragraph("## " + name)
		m.speaker = message.Role
	}
	for i := range message.Parts {
		switch p := &message.Parts[i]; {
		case p.Call != nil:
			m.call(p.Call)
		case p.Result != nil && !m.shown[p.Result.CallID]:
			m.fold(p.Result.Name+": "+outcome(p.Result), block{"", resultText(p.Result)})
		case p.Reasoning != nil && p.Reasoning.Text != "":
			m.fold("Reasoning", block{"", p.Reasoning.Text})
		case p.Media != nil:
			m.paragraph(inert(mediaText(p.Media)))
		case strings.TrimSpace(p.Text) != "":
			m.paragraph(inert(p.Text))
		}
	}
}

func (m *markdown) call(c *model.Call) {
	if m.shown == nil {
		m.shown = map[string]bool{}
	}
	m.shown[c.ID] = true
	blocks := []block{{"json", indented(c)}}
	result := m.results[c.ID]
	if result != nil {
		blocks = append(blocks, block{"", resultText(result)})
	}
	m.fold(c.Name+": "+outcome(result), blocks...)
}

// indented are the arguments of a call for people, or what stood in their place.
func indented(c *model.Call) string {
	if c.Malformed != "" {
		return plaintext.Clean(c.Raw)
	}
	var b bytes.Buffer
	if json.Indent(&b, c.Arguments, "", "  ") != nil {
		return plaintext.Clean(string(c.Arguments))
	}
	return plaintext.Clean(b.String())
}

func (m *markdown) paragraph(text string) {
	fmt.Fprintf(m.out, "\n%s\n", strings.Trim(text, "\n"))
}

// block is a text that is shown as it is.
type block struct{ language, text string }

func (m *markdown) fold(title string, blocks ...block) {
	fmt.Fprintf(m.out, "\n<details>\n<summary>%s</summary>\n", html.EscapeString(plaintext.Line(title, maxTitle)))
	for _, b := range blocks {
		text := strings.Trim(plaintext.Clean(b.text), "\n")
		fence := strings.Repeat("`", max(3, 1+longestRun(text, '`')))
		fmt.Fprintf(m.out, "\n%s%s\n%s\n%s\n", fence, b.language, text, fence)
	}
	m.out.WriteString("\n</details>\n")
}

// longestRun is how often c stands in s in a row at most.
func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

var (
	fenceLine = regexp.MustCompile("^(```+)[^`]*$|^(~~~+).*$")
	tag       = regexp.MustCompile(`<([A-Za-z/!?])`)
)

// inert is Markdown that does nothing when it is opened: no HTML, and no pictures,
// whose addresses could carry away what was said. Code blocks stay as they are.
func inert(text string) string {
	lines := strings.Split(plaintext.Clean(text), "\n")
	open := ""
	for i, line := range lines {
		marks := fenceLine.FindStringSubmatch(line)
		switch {
		case open != "":
			if closes := strings.TrimRight(line, " \t"); strings.HasPrefix(closes, open) && strings.Trim(closes, open[:1]) == "" {
				open = ""
			}
		case marks != nil:
			open = marks[1] + marks[2]
		default:
			line = tag.ReplaceAllString(line, "&lt;$1")
			lines[i] = strings.ReplaceAll(line, "![", `\![`)
		}
	}
	if open != "" {
		lines = append(lines, open) // what comes next is no part of it
	}
	return strings.Join(lines, "\n")
}
