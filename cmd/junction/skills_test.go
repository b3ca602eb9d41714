package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestSkillsAreListedAndPrinted(t *testing.T) {
	clitest.Alone(t)
	const text = "---\nname: refunds\ndescription: How refunds are made.\n---\n\nSee more.md.\n"
	s := mcp.NewServer("shop", "1")
	if _, err := skills.Add(s, fstest.MapFS{
		"refunds/SKILL.md":       {Data: []byte(text)},
		"refunds/more.md":        {Data: []byte("More.\n")},
		"support/reply/SKILL.md": {Data: []byte("---\nname: reply\ndescription: d\n---\n")},
		"sales/reply/SKILL.md":   {Data: []byte("---\nname: reply\ndescription: d\n---\n")},
	}); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(streamable.Handler(s))
	defer web.Close()
	lying := mcp.NewServer("lying", "1")
	lying.Declare(skills.Extension, nil)
	lying.HandleMethod(skills.MethodList, func(context.Context, *mcp.Request) (mcp.Result, error) {
		return mcp.Result{JSON: json.RawMessage(`{"skills":[{"uri":"skill://a/SKILL.md","frontmatter":{"name":"a","description":"d"},"resources":"dynamic"},{"uri":"skill://b/SKILL.md","frontmatter":{"name":"c","description":"d"},"resources":"dynamic"}]}`)}, nil
	})
	lying.AddText(mcp.Resource{URI: "skill://a/SKILL.md", Name: "a"}, "---\nname: a\ndescription: of something else\n---\n")
	liar := httptest.NewServer(streamable.Handler(lying))
	defer liar.Close()
	for _, test := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"a list", []string{web.URL}, cli.ExitOK, "refunds  (skill://refunds/SKILL.md, 2 files, 77 bytes)\n    How refunds are made.\n", ""},
		{"one", []string{web.URL, "refunds"}, cli.ExitOK, text, ""},
		{"one by its URI", []string{web.URL, "skill://support/reply/SKILL.md"}, cli.ExitOK, "name: reply", ""},
		{"a file of it", []string{web.URL, "refunds", "more.md"}, cli.ExitOK, "More.\n", ""},
		{"as JSON", []string{web.URL, "refunds", "more.md", "--json"}, cli.ExitOK, `"contents":{"uri":"skill://refunds/more.md","mimeType":"text/markdown","text":"More.\n"}`, ""},
		{"a file that is not its", []string{web.URL, "refunds", "../x"}, cli.ExitConnection, "", "it is not among the skill's 2 files"},
		{"a name of two", []string{web.URL, "reply"}, cli.ExitUsage, "", "name one of skill://sales/reply/SKILL.md, skill://support/reply/SKILL.md"},
		{"a name that is nearly right", []string{web.URL, "refund"}, cli.ExitUsage, "", `did you mean "refunds"?`},
		{"too much", []string{web.URL, "refunds", "more.md", "x"}, cli.ExitUsage, "", `unexpected "x"`},
		{"a server without skills", []string{"everything"}, cli.ExitOK, "", "The server has no skills."},
		{"one of a server without skills", []string{"everything", "a"}, cli.ExitUsage, "", "the server has no skills"},
		{"of a server that lies", []string{liar.URL, "a"}, cli.ExitConnection, "", "its frontmatter is another"},
		{"an entry that is not valid", []string{liar.URL}, cli.ExitOK, "a  (skill://a/SKILL.md, made at each read)", `the name "c" is not that of its folder`},
		{"it, by its name", []string{liar.URL, "b"}, cli.ExitConnection, "", `the name "c" is not that of its folder`},
	} {
		t.Run(test.name, func(t *testing.T) {
			runs(t, "", append([]string{"skills"}, test.args...)...).expect(t, test.code, test.stdout, test.stderr)
		})
	}
}
