package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// Format is the format of an export.
type Format string

// The formats of [Archive.Export].
const (
	// Markdown is for reading. Calls, with their arguments and results, are folded. The text loads
	// no pictures, and HTML in messages is escaped.
	Markdown Format = "markdown"
	// JSON has everything and can be imported.
	JSON Format = "json"
)

// Export writes a conversation to w. Invisible characters are written as visible escapes in
// Markdown, and unchanged in JSON.
func (a *Archive) Export(ctx context.Context, id string, format Format, w io.Writer) error {
	write := map[Format]func(*bufio.Writer, *Meta, []host.Entry) error{Markdown: writeMarkdown, JSON: writeJSON}[format]
	if write == nil {
		return fmt.Errorf("export %s: no format is called %q; it is %s or %s", id, format, Markdown, JSON)
	}
	c, entries, err := a.Load(ctx, id)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if err := write(out, &c.meta, entries); err != nil {
		return fmt.Errorf("export %s: %w", c.meta.ID, err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("export %s: %w", c.meta.ID, err)
	}
	return nil
}

// exportName is the value of "format" at the start of an export, by which an import recognizes it.
const exportName = "junction.conversation"

func writeJSON(out *bufio.Writer, meta *Meta, entries []host.Entry) error {
	head, err := json.Marshal(meta, dialect)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "{\"format\":%q,\"version\":%d,\n\"meta\":%s,\n\"entries\":[", exportName, exportVersion, head)
	begun := false
	for i := range entries {
		e := &entries[i]
		if e.Task != nil && e.Task.Began != nil {
			continue // the id of a task may give access to its result
		}
		text, err := json.Marshal(e, dialect)
		if err != nil {
			return err
		}
		if begun {
			out.WriteByte(',')
		}
		begun = true
		out.WriteByte('\n')
		out.Write(text)
	}
	_, err = out.WriteString("\n]}\n")
	return err
}

// lateResult returns the stored result of a task that no call waited for, or nil if the entry has
// none.
func lateResult(e *host.Entry) *host.LongResult {
	if e.Task == nil || e.Task.Came == nil {
		return nil
	}
	return e.Task.Came.LongResult
}

func titleOfTask(e *host.Entry) string {
	kept := lateResult(e)
	return fmt.Sprintf("Outcome of task %d, %s/%s", e.Task.Number, kept.Server, kept.Tool)
}

// facts returns a line of facts about the conversation.
func (m *Meta) facts() string {
	facts := []string{"begun " + m.Created.UTC().Format("2006-01-02 15:04 UTC")}
	if m.Model != "" {
		facts = append([]string{plaintext.Line(m.Model, maxTitle)}, facts...)
	}
	facts = append(facts, plaintext.Count(m.Questions, "question"), plaintext.Count(m.Calls, "call"), plaintext.Count(m.Tokens, "token"))
	if m.Cost > 0 {
		facts = append(facts, fmt.Sprintf("$%.4f", m.Cost))
	}
	return strings.Join(facts, ", ")
}

// results returns the result of each call by its id.
func results(entries []host.Entry) map[string]*model.Result {
	found := map[string]*model.Result{}
	for i := range entries {
		if entries[i].Message == nil {
			continue
		}
		for j := range entries[i].Message.Parts {
			if r := entries[i].Message.Parts[j].Result; r != nil {
				found[r.CallID] = r
			}
		}
	}
	return found
}

// mediaText returns a line in place of an image or a sound.
func mediaText(m *model.Media) string {
	return fmt.Sprintf("[%s, %s]", plaintext.Line(m.Type, maxTitle), plaintext.Count(len(m.Data), "byte"))
}

// resultText returns a result as text, with a line in place of each part that is not text.
func resultText(r *model.Result) string {
	var lines []string
	for i := range r.Parts {
		switch p := &r.Parts[i]; {
		case p.Text != "":
			lines = append(lines, p.Text)
		case p.Media != nil:
			lines = append(lines, mediaText(p.Media))
		}
	}
	return plaintext.Clean(strings.Join(lines, "\n"))
}

// outcome returns the outcome of a call in one or two words.
func outcome(r *model.Result) string {
	switch {
	case r == nil:
		return "no result"
	case r.IsError:
		return "failed"
	}
	return "ok"
}

// usage returns a line about the resources that a run used.
func usage(t *host.Totals) string {
	if *t == (host.Totals{}) {
		return "cut off"
	}
	line := fmt.Sprintf("%s in, %d out, %s", plaintext.Count(t.Usage.Input, "token"), t.Usage.Output, t.Duration.Round(time.Millisecond))
	if t.Cost > 0 {
		line += fmt.Sprintf(", $%.4f", t.Cost)
	}
	if t.CostUnknown {
		line += ", cost not known for some requests"
	}
	return line
}
