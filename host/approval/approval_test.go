package approval_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/approval"
	"github.com/junction-mcp/junction/mcp"
)

func TestClaimsOfAServer(t *testing.T) {
	yes, no := true, false
	for _, test := range []struct {
		name    string
		claims  mcp.ToolAnnotations
		trusted bool
		want    string
	}{
		{"nothing", mcp.ToolAnnotations{}, true, "The server does not declare what this does: it may write, delete and reach other systems"},
		{"a tool that reads", mcp.ToolAnnotations{ReadOnlyHint: &yes, DestructiveHint: &yes, OpenWorldHint: &no}, true, "The server says (you trust it): only reads; no outside access"},
		{"one that reads, who knows where", mcp.ToolAnnotations{ReadOnlyHint: &yes}, false,
			"The server says (not checked): only reads; does not say whether it reaches other systems"},
		{"what is harmless only", mcp.ToolAnnotations{IdempotentHint: &yes, OpenWorldHint: &no}, false,
			"The server says (not checked): safe to repeat; no outside access; does not say whether it writes or deletes"},
		{"one that writes, who knows what", mcp.ToolAnnotations{ReadOnlyHint: &no, OpenWorldHint: &no}, false,
			"The server says (not checked): writes; no outside access; does not say whether it deletes"},
		{"one that writes", mcp.ToolAnnotations{ReadOnlyHint: &no, DestructiveHint: &yes, IdempotentHint: &yes, OpenWorldHint: &no}, false,
			"The server says (not checked): writes; may overwrite or delete; safe to repeat; no outside access"},
		{"the opposite of it all", mcp.ToolAnnotations{DestructiveHint: &no, IdempotentHint: &no, OpenWorldHint: &yes}, false,
			"The server says (not checked): never overwrites or deletes; not safe to repeat; reaches other systems"},
	} {
		if got := approval.Claims(&test.claims, test.trusted); got != test.want {
			t.Errorf("%s: %s", test.name, got)
		}
	}
}

func TestUserSettingsDescribeCallsWithoutAnnotations(t *testing.T) {
	card := host.ApprovalCard{Reads: true}
	if got := approval.Does(&card); got != "You confirmed in a review that it only reads; the server does not declare it" {
		t.Errorf("said: %s", got)
	}
	card.Reads = false
	if got := approval.Does(&card); got != approval.Claims(&card.Annotations, false) {
		t.Errorf("not said: %s", got)
	}
}

// tool is a new tool as the host shows it.
func tool(name, annotations string, findings ...guard.Finding) host.ReviewItem {
	text := "kind: tool\nname: " + name + "\ndescription:\n  Does it.\n  annotations:\n    {\"readOnlyHint\": true}"
	if annotations != "" {
		text += "\nannotations:\n  {\n    " + annotations + "\n  }"
	}
	return host.ReviewItem{Kind: "tool", Name: name, Text: text, Reads: annotations == `"readOnlyHint": true`, Findings: findings}
}

func TestAnOverview(t *testing.T) {
	orders := guard.Finding{Severity: guard.Warn, Where: "description", Excerpt: "you must", Why: "It gives orders."}
	hidden := guard.Finding{Severity: guard.Block, Where: "name", Excerpt: "a⟨U+200B⟩b", Why: "It has hidden characters."}
	version := host.ReviewItem{Kind: "version", Text: "title: Files\ntext: files 0.6.2", Value: "files 0.6.2"}
	for _, test := range []struct {
		name     string
		review   host.Review
		line     string
		command  string
		warnings []string
	}{
		{"a new server", host.Review{Server: "files", First: true, Items: []host.ReviewItem{{Kind: "command", Text: "text:\n  npx\n  -y files", Value: "npx\n-y files"}, version,
			{Kind: "instructions", Text: "text: Be brief."}, tool("read", `"readOnlyHint": true`), tool("write", `"readOnlyHint": false`, orders, hidden), tool("other", "", orders), {Kind: "prompt", Name: "p"}}},
			"instructions; 3 tools: 1 read, 2 write; 1 prompt; files 0.6.2; 3 warnings", "npx\n-y files",
			[]string{"tool write: It has hidden characters: “a⟨U+200B⟩b”", "tool write: It gives orders, in its description: “you must” (and 1 more like this)"}},
		{"tools that do not say what they do", host.Review{Server: "db", First: true, Items: []host.ReviewItem{tool("read", `"readOnlyHint": true`), {Kind: "tool", Name: "query", Silent: true}, {Kind: "tool", Name: "tables", Silent: true}}},
			"3 tools: 1 read, 0 write, 2 not declared", "", nil},
		{"a change", host.Review{Server: "files", Items: []host.ReviewItem{{Kind: "tool", Name: "a", Changed: true, Text: "-annotations: {}"}, tool("b", ""), {Kind: "command", Changed: true, Text: "-npx"}}},
			"2 tools (1 changed); 1 command changed", "", nil},
		{"nothing but a version", host.Review{Server: "files", Items: []host.ReviewItem{version}}, "nothing yet; files 0.6.2", "", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := approval.Of(test.review)
			if o.Line() != test.line || o.Command != test.command || !slices.Equal(o.Warnings, test.warnings) {
				t.Errorf("got %q, command %q, warnings %q", o.Line(), o.Command, o.Warnings)
			}
		})
	}
}

func TestNamesThatServersShareAreNoWarningsOfTheirs(t *testing.T) {
	var c guard.Catalogue
	names := []string{"read_file", "write_file", "move_file", "list_directory"}
	c.Set("files", append(names, "files__read_file")...)
	c.Set("bank", "transfer_money")
	review := func(server string, names ...string) host.Review {
		r := host.Review{Server: server, First: true}
		for _, name := range names {
			r.Items = append(r.Items, tool(name, "", c.LookAlikes(server, name)...))
		}
		return r
	}
	for _, test := range []struct {
		name  string
		of    []string
		found int
		same  string
	}{
		{"the same names", names, 0, "list_directory, move_file, read_file and 1 more"},
		{"one with more to it", []string{"list_directory_with_sizes", "other"}, 0, "list_directory_with_sizes"},
		{"the name that the model sees of another server's", []string{"files__read_file"}, 2, ""},
		{"nearly that", []string{"files_read_file", "files__read_file_now"}, 2, "files_read_file"},
		{"a slip of the pen", []string{"transfer_mony", "transfеr_money"}, 2, ""},
	} {
		reviews := []host.Review{review("other", test.of...), review("another", test.of...)}
		found, same := approval.Of(reviews[0]).Found, approval.SameNames(reviews)
		if found != test.found || !strings.Contains(same, ": "+test.same+". ") && same+test.same != "" {
			t.Errorf("%s: %d warnings, and %q", test.name, found, same)
		}
	}
}

func TestHashesCoverTheShownText(t *testing.T) {
	review := host.Review{Server: "files", Items: []host.ReviewItem{tool("a", ""), tool("b", "")}}
	hash := approval.Hash(review)
	if len(hash) != 32 || strings.Trim(hash, "0123456789abcdef") != "" {
		t.Errorf("the hash is %q", hash)
	}
	turned := host.Review{Server: "files", Items: []host.ReviewItem{tool("b", ""), tool("a", "")}}
	if approval.Hash(turned) != hash {
		t.Error("the order of the tools counts")
	}
	for name, other := range map[string]host.Review{
		"another server":      {Server: "web", Items: review.Items},
		"one definition less": {Server: "files", Items: review.Items[:1]},
		"another text":        {Server: "files", Items: []host.ReviewItem{tool("a", ""), tool("b", `"readOnlyHint": true`)}},
		"another name":        {Server: "files", Items: []host.ReviewItem{tool("a", ""), tool("c", "")}},
	} {
		if approval.Hash(other) == hash {
			t.Errorf("%s has the same hash", name)
		}
	}
}
