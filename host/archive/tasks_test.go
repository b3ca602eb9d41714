package archive

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// What came of a task leaves with the conversation. What a task can be asked about by stays here, and what a file says
// of tasks is not believed.
func TestTasksOfAConversationThatLeaves(t *testing.T) {
	a := fresh(t)
	c := a.New(Meta{})
	said := model.UserText("dig")
	for _, e := range []host.Entry{
		{Message: &said},
		{Task: &host.TaskEntry{Number: 1, Began: &host.TaskBegan{Tool: host.ToolRef{Server: "works", Tool: "dig"}, Via: "works", ID: "the-secret-id", CallID: "c1"}}},
		{Task: &host.TaskEntry{Number: 1, Left: true}},
		{Task: &host.TaskEntry{Number: 1, Came: &host.TaskCame{Message: &said, LongResult: &host.LongResult{URI: "junction://result/1", Server: "works", Tool: "dig", Text: "a pot of gold"}}}},
	} {
		e.At = time.Now()
		if err := c.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []Format{Markdown, JSON} {
		var out bytes.Buffer
		if err := a.Export(t.Context(), c.Meta().ID, format, &out); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, "the-secret-id") || !strings.Contains(text, "a pot of gold") || format != JSON && !strings.Contains(text, "Outcome of task 1, works/dig") {
			t.Errorf("as %s: %s", format, text)
		}
		if format != JSON {
			continue
		}
		text := strings.Replace(out.String(), `"left":true`, `"began":{"tool":{"server":"works","tool":"dig"},"via":"works","id":"x","callId":"c1"}`, 1)
		meta, err := a.Import(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		_, entries, err := a.Load(t.Context(), meta.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Task != nil {
				t.Errorf("imported %+v", e.Task)
			}
		}
	}
}
