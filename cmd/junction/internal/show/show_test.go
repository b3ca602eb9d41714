package show

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

func TestTools(t *testing.T) {
	tools := []*mcp.Tool{
		{
			Name: "forecast", Title: "Forecast", Description: "What the weather will be.\n\nDays count from today, and whatever is longer than a line is wrapped.",
			InputSchema: json.RawMessage(`{"type":"object","required":["city"],"properties":{
				"city":{"type":"string","description":"City, in English or in the language of the country that it lies in."},
				"days":{"type":"integer","default":3},
				"unit":{"enum":["C","F"],"title":"Unit of temperature"},
				"place":{"enum":["at sea","on land","in the air"]}}}`),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)},
		},
		{Name: "reset", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{Title: "Start again", DestructiveHint: new(true)}},
	}
	const want = `forecast  (read-only)
    What the weather will be.

    Days count from today, and whatever is longer than a
    line is wrapped.
    city   string   required  City, in English or in the
                              language of the country that
                              it lies in.
    days   integer  optional  (default 3)
    unit   C|F      optional  Unit of temperature
    place  choice   optional  (one of at sea, on land, in
                              the air)

reset  (Start again, destructive)
`
	if got := Tools(tools, 60); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNamesStayOnOneLine(t *testing.T) {
	got := Tools([]*mcp.Tool{{Name: "a\nb\x1b[2J" + strings.Repeat("x", 300), InputSchema: json.RawMessage(`{"properties":{"p\nq":{"type":"string"}}}`)}}, 80)
	if lines := strings.Split(strings.TrimSpace(got), "\n"); len(lines) != 2 || strings.Contains(got, "\x1b") || len([]rune(lines[0])) > maxName {
		t.Errorf("got %q", got)
	}
}

func TestViewsAndSkills(t *testing.T) {
	got := Tools([]*mcp.Tool{
		{Name: "show", Meta: json.RawMessage(`{"ui":{"resourceUri":"ui://clock/app.html"}}`)},
		{Name: "poll", Meta: json.RawMessage(`{"ui":{"visibility":["app"]}}`)},
	}, 60) + Skills([]*skills.Skill{
		{URI: "skill://a/SKILL.md", Frontmatter: json.RawMessage(`{"name":"a","description":"For\u001b[2J it."}`), Files: make([]skills.File, 2)},
		{URI: "skill://b/SKILL.md", Frontmatter: json.RawMessage(`{"name":"b","description":"d"}`), Dynamic: true},
	}, 60)
	const want = `show  (view ui://clock/app.html)

poll  (for views only)
a  (skill://a/SKILL.md, 2 files, 0 bytes)
    For\x1b[2J it.

b  (skill://b/SKILL.md, made at each read)
    d
`
	if got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestResourcesTemplatesAndPrompts(t *testing.T) {
	got := Resources([]*mcp.Resource{
		{URI: "file:///a.txt", Name: "a.txt", MIMEType: "text/plain", Size: new(int64(2048)), Description: "A file."},
		{URI: "x://y", Name: "x://y"},
	}, 60) + Templates([]*mcp.ResourceTemplate{{URITemplate: "planet://{name}", Name: "planet", Title: "Planet"}}, 60) +
		Prompts([]*mcp.Prompt{{Name: "greet", Description: "Say hello.", Arguments: []mcp.PromptArgument{{Name: "who", Required: true, Description: "Whom."}, {Name: "how"}}}}, 60)
	const want = `file:///a.txt  (a.txt, text/plain, 2.0 KiB)
    A file.

x://y
planet://{name}  (Planet)
greet
    Say hello.
    who  string  required  Whom.
    how  string  optional
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestCallResult(t *testing.T) {
	blob := mcp.BlobContents("x://b.bin", "", []byte{1})
	text := mcp.TextContents("x://t", "text/plain", "in it")
	for _, test := range []struct {
		name   string
		result mcp.CallToolResult
		want   string
	}{
		{"nothing is nothing", mcp.CallToolResult{}, ""},
		{"text is as it is", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("a  b\n\n"), mcp.Text("c")}}, "a  b\n\nc\n"},
		{"structured content is shown where there is no text", mcp.CallToolResult{StructuredContent: json.RawMessage(`{"a":[1]}`)}, "{\n  \"a\": [\n    1\n  ]\n}\n"},
		{"structured content is not shown in addition to text", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("a is 1")}, StructuredContent: json.RawMessage(`{"a":1}`)}, "a is 1\n"},
		{"pictures and sounds are announced", mcp.CallToolResult{Content: []mcp.Content{mcp.Image(make([]byte, 1), "image/png"), mcp.Audio(make([]byte, 3<<20), "audio/wav")}},
			"[image, image/png, 1 byte]\n[audio, audio/wav, 3.0 MiB]\n"},
		{"embedded resources are announced, and shown if they are text", mcp.CallToolResult{Content: []mcp.Content{mcp.Embed(text), mcp.Embed(blob)}},
			"[resource x://t, text/plain, 5 bytes]\nin it\n[resource x://b.bin, 1 byte]\n"},
		{"links are announced", mcp.CallToolResult{Content: []mcp.Content{mcp.Link(mcp.Resource{URI: "x://t", Name: "t", Description: "A text."})}}, "[link x://t, t]\n    A text.\n"},
		{"what is not known is shown raw", mcp.CallToolResult{Content: []mcp.Content{{Type: "video", Raw: json.RawMessage(`{"type":"video"}`)}}}, "[video]\n{\n  \"type\": \"video\"\n}\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := CallResult(&test.result, 60, nil)
			if got != test.want || err != nil {
				t.Errorf("got\n%s%v\nwant\n%s", got, err, test.want)
			}
		})
	}
}

func TestContentsOfOneTextAreTheTextAlone(t *testing.T) {
	text := mcp.TextContents("x://t", "text/plain", "in it")
	one, _ := Contents(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{text}}, 60, nil)
	two, _ := Contents(&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{text, text}}, 60, nil)
	if one != "in it\n" || two != strings.Repeat("[resource x://t, text/plain, 5 bytes]\nin it\n", 2) {
		t.Errorf("got %q and %q", one, two)
	}
}

func TestPromptResult(t *testing.T) {
	got, err := PromptResult(&mcp.GetPromptResult{Description: "A journey", Messages: []mcp.PromptMessage{
		{Role: mcp.RoleUser, Content: mcp.Text("Where to?")}, {Role: mcp.RoleAssistant, Content: mcp.Image([]byte{1}, "image/png")},
	}}, 60, nil)
	if want := "A journey\n\nuser:\nWhere to?\n\nassistant:\n[image, image/png, 1 byte]\n"; got != want || err != nil {
		t.Errorf("got\n%s%v", got, err)
	}
}

func TestSaveToAFolderOverwritesNothing(t *testing.T) {
	dir := t.TempDir() + string(filepath.Separator)
	save := SaveTo(dir)
	for _, data := range []struct{ name, mimeType string }{
		{"", "image/png"}, {"", "image/png"}, {"x://a/../../etc/passwd?q", ""}, {"x://a/p.jpg", "image/jpeg"},
		{"..", "audio/mpeg"}, {"x://a/\x1b..hid den", "text/plain"}, {"", ""},
	} {
		path, err := save(data.name, data.mimeType, []byte(data.name))
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(path)+string(filepath.Separator) != dir {
			t.Errorf("%q was saved as %s", data.name, path)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"audio.mp3", "data.bin", "image-2.png", "image.png", "p.jpg", "passwd.bin", "text.hidden"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

func TestSaveToAFileHoldsOneOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.png")
	save := SaveTo(path)
	if got, err := save("x://b", "image/png", []byte("1")); got != path || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := save("x://c", "image/png", []byte("2")); err == nil || !strings.Contains(err.Error(), "name a folder") {
		t.Errorf("got %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "1" {
		t.Errorf("the file holds %q", data)
	}
}
