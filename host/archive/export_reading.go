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
	fmt.Fprintf(out, "# %s\n\n%s\n", inert(meta.Title), inert(meta.facts()))
	x := reading{out: out, results: results(entries), shown: map[string]bool{}}
	x.write(entries)
	return nil // bufio keeps the first error, and Flush returns it
}

// reading writes an export in Markdown.
type reading struct {
	out     *bufio.Writer
	results map[string]*model.Result
	shown   map[string]bool // calls already written, with their results
	speaker string
}

func (x *reading) write(entries []host.Entry) {
	for i := range entries {
		switch e := &entries[i]; {
		case e.Message != nil:
			x.message(e.Message)
		case e.Summary != nil:
			x.fold("Summary of the earlier conversation", block{"", e.Summary.Text})
		case e.Note != "":
			x.say("**To remember:** ", e.Note)
		case e.LongResult != nil:
			x.fold("A long result in full: "+e.LongResult.URI, block{"", e.LongResult.Text})
		case lateResult(e) != nil:
			x.fold(titleOfTask(e), block{"", lateResult(e).Text})
		case e.Totals != nil:
			fmt.Fprintf(x.out, "\n*%s*\n", usage(e.Totals))
		}
	}
}

func (x *reading) message(message *model.Message) {
	name := map[model.Role]string{model.RoleUser: "Question", model.RoleAssistant: "Answer"}[message.Role]
	if name != "" && name != x.speaker {
		x.speaker = name
		fmt.Fprintf(x.out, "\n## %s\n", name)
	}
	for i := range message.Parts {
		switch p := &message.Parts[i]; {
		case p.Call != nil:
			c := p.Call
			x.shown[c.ID] = true
			blocks := []block{{"json", indented(c)}}
			result := x.results[c.ID]
			if result != nil {
				blocks = append(blocks, block{"", resultText(result)})
			}
			x.fold(c.Name+": "+outcome(result), blocks...)
		case p.Result != nil && !x.shown[p.Result.CallID]:
			x.fold(p.Result.Name+": "+outcome(p.Result), block{"", resultText(p.Result)})
		case p.Reasoning != nil && p.Reasoning.Text != "":
			x.fold("Reasoning", block{"", p.Reasoning.Text})
		case p.Media != nil:
			x.say("", mediaText(p.Media))
		case strings.TrimSpace(p.Text) != "":
			x.say("", p.Text)
		}
	}
}

// say writes a text of the conversation after mark.
func (x *reading) say(mark, text string) {
	fmt.Fprintf(x.out, "\n%s\n", strings.Trim(mark+inert(text), "\n"))
}

// indented returns the arguments of a call with indentation. If the model's arguments were not
// valid JSON, it returns them as they are.
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

// block is a block of verbatim text.
type block struct{ language, text string }

func (x *reading) fold(title string, blocks ...block) {
	fmt.Fprintf(x.out, "\n<details>\n<summary>%s</summary>\n", html.EscapeString(plaintext.Line(title, maxTitle)))
	for _, b := range blocks {
		text := strings.Trim(plaintext.Clean(b.text), "\n")
		marks := 3
		for _, run := range backticks.FindAllString(text, -1) {
			marks = max(marks, len(run)+1)
		}
		fence := strings.Repeat("`", marks)
		fmt.Fprintf(x.out, "\n%s%s\n%s\n%s\n", fence, b.language, text, fence)
	}
	x.out.WriteString("\n</details>\n")
}

var (
	backticks = regexp.MustCompile("`+")
	fenceLine = regexp.MustCompile("^(```+)[^`]*$|^(~~~+).*$")
	tag       = regexp.MustCompile(`<([A-Za-z/!?])`)
)

// inert returns Markdown that cannot load or run anything: without HTML, and without pictures,
// whose addresses could carry data out. Code blocks are unchanged.
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
		lines = append(lines, open) // close the block, so that later text is not part of it
	}
	return strings.Join(lines, "\n")
}
