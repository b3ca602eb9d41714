package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

var update = flag.Bool("update", false, "write the golden files anew")

func export(t testing.TB, a *Archive, id string, format Format) string {
	t.Helper()
	var b bytes.Buffer
	if err := a.Export(t.Context(), id, format, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestExportsAreReadable(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	c := a.New(Meta{Model: "m-1", Folder: "/home/ada"})
	c.meta.Created = noon
	for _, e := range script() {
		if err := c.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	for format, file := range map[Format]string{Markdown: "conversation.md", Text: "conversation.txt"} {
		got, path := export(t, a, Last, format), filepath.Join("testdata", file)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || got != string(want) {
			t.Errorf("%s (%v): got\n%s\nrun with -update and look at the difference", file, err, got)
		}
	}
	if err := a.Export(t.Context(), Last, "pdf", &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "markdown, text, json") {
		t.Errorf("an unknown format: %v", err)
	}
}

func TestAnExportInJSONIsEverything(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	id := record(t, a, Meta{Model: "m-1", Folder: "/home/ada", Title: "Alarms"}, script()...).Meta().ID
	var got struct {
		Format  string
		Version int
		Meta    Meta
		Entries []host.Entry
	}
	if err := json.Unmarshal([]byte(export(t, a, id, JSON)), &got); err != nil {
		t.Fatal(err)
	}
	was, entries := load(t, a, id)
	if want := was.Meta(); got.Format != exportName || got.Version != exportVersion || got.Meta.ID != want.ID || got.Meta.Title != want.Title || got.Meta.Entries != want.Entries {
		t.Errorf("got %+v, want %+v", got.Meta, want)
	}
	if len(got.Entries) != len(entries) {
		t.Errorf("%d entries of %d", len(got.Entries), len(entries))
	}
}

func TestMarkdownOfOthersDoesNothing(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	evil := "x </details> <img src=http://e/?q> ![p](http://e/?secret) \u202ereversed\u200b\x1b[31m\n" +
		"```html\n<b>![kept]</b>\n```\n![again](http://e)\n~~~~ `\n<i>\n~~~\n<i>\n~~~~\n<script>\n```never closed"
	record(t, a, Meta{Title: "<b>![t](u)"}, asked(0, evil), answered(1, evil), host.Entry{At: at(2), Note: evil},
		host.Entry{At: at(3), Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{
			{Call: &model.Call{ID: "1", Name: "<script>", Arguments: json.RawMessage(`{"a":"` + "````\\n</details>" + `"}`)}},
			{Call: &model.Call{ID: "2", Name: "broken", Malformed: "no JSON", Raw: "```" + evil}},
		}}},
		host.Entry{At: at(4), Message: &model.Message{Role: model.RoleTool, Parts: []model.Part{
			{Result: &model.Result{CallID: "1", Name: "n", IsError: true, Parts: []model.Part{{Text: evil}}}},
			{Result: &model.Result{CallID: "none", Name: "`n`", Parts: []model.Part{{Text: evil}}}},
		}}})
	var outside []string
	fence := ""
	for line := range strings.SplitSeq(export(t, a, Last, Markdown), "\n") {
		switch {
		case fence == "" && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")):
			fence = line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
		case fence != "" && strings.HasPrefix(line, fence) && strings.Trim(line, fence[:1]) == "":
			fence = ""
		case fence == "":
			outside = append(outside, line)
		}
	}
	text := strings.Join(outside, "\n")
	for _, s := range []string{"<details>", "<summary>", "</summary>", "</details>", `\![`} {
		text = strings.ReplaceAll(text, s, "")
	}
	for _, bad := range []string{"<b", "<i", "<s", "</", "![", "\u202e", "\u200b", "\x1b"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is outside of code:\n%s", bad, text)
		}
	}
	if fence != "" {
		t.Error("a block of code is never closed")
	}
	if strings.ContainsAny(export(t, a, Last, Text), "\u202e\u200b\x1b") {
		t.Error("hidden characters in the text")
	}
}

func TestAWriterThatFailsIsReported(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	record(t, a, Meta{}, script()...)
	for _, format := range []Format{Markdown, Text, JSON} {
		if err := a.Export(t.Context(), Last, format, full{}); !errors.Is(err, errFull) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
