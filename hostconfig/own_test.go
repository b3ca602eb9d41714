package hostconfig_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/hostconfig"
)

func TestAnEntryIsAddedInTheWayOfTheFile(t *testing.T) {
	const one = `"echo": {"command": "npx", "args": ["-y", "echo@1.0.0"]}`
	const lines = "\"echo\": {\n      \"command\": \"npx\",\n      \"args\": [\"-y\", \"echo@1.0.0\"]\n    }"
	for name, c := range map[string]struct{ before, after string }{
		"nothing":            {"", "{\n  \"mcpServers\": {\n    " + lines + "\n  }\n}\n"},
		"a mark only":        {"\xef\xbb\xbf", "\xef\xbb\xbf{\n  \"mcpServers\": {\n    " + lines + "\n  }\n}\n"},
		"empty object":       {"{}", "{\n  \"mcpServers\": {\n    " + lines + "\n  }\n}"},
		"empty servers":      {"{\n  \"mcpServers\": {}\n}\n", "{\n  \"mcpServers\": {\n    " + lines + "\n  }\n}\n"},
		"one line":           {`{"mcpServers": {"a": {"command": "x"}}}`, `{"mcpServers": {"a": {"command": "x"}, ` + one + `}}`},
		"one line, blanks":   {`{ "servers": { "a": {"url": "https://x"} } }`, `{ "servers": { "a": {"url": "https://x"}, ` + one + ` } }`},
		"lines":              {"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"},\n    " + lines + "\n  }\n}\n"},
		"a comma at the end": {"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // why\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // why\n    " + lines + ",\n  }\n}\n"},
		"a comment behind":   {"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"} // why, or not\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // why, or not\n    " + lines + "\n  }\n}\n"},
		"a comment inside":   {"{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n", "{\n  \"mcpServers\": {\n    // none yet\n    " + lines + "\n  }\n}\n"},
		"mark, CRLF, tabs": {"\xef\xbb\xbf{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"x\"}\r\n\t},\r\n\t\"other\": 1\r\n}",
			"\xef\xbb\xbf{\r\n\t\"mcpServers\": {\r\n\t\t\"a\": {\"command\": \"x\"},\r\n\t\t\"echo\": {\r\n\t\t\t\"command\": \"npx\",\r\n\t\t\t\"args\": [\"-y\", \"echo@1.0.0\"]\r\n\t\t}\r\n\t},\r\n\t\"other\": 1\r\n}"},
		"settings only": {"{\n  \"junction\": {}\n}\n", "{\n  \"junction\": {},\n  \"mcpServers\": {\n    " + lines + "\n  }\n}\n"},
		"in VS Code's settings": {"{\n  \"mcp\": {\n    \"servers\": {}\n  }\n}\n", "{\n  \"mcp\": {\n    \"servers\": {\n      " +
			strings.ReplaceAll(lines, "\n", "\n  ") + "\n    }\n  }\n}\n"},
	} {
		got, err := hostconfig.AddServer([]byte(c.before), "echo", hostconfig.NewServer{Command: "npx", Args: []string{"-y", "echo@1.0.0"}})
		if err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%q, want\n%q", name, err, got, c.after)
			continue
		}
		if _, err := hostconfig.AddServer(got, "echo", hostconfig.NewServer{Command: "x"}); !errors.Is(err, hostconfig.ErrDuplicate) {
			t.Errorf("%s: added twice: %v", name, err)
		}
		back, err := hostconfig.RemoveServer(got, "echo")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(string(back), "echo") || strings.Contains(c.before, `"a"`) && string(back) != c.before {
			t.Errorf("%s: without it again it is %q, and was %q", name, back, c.before)
		}
	}
}

func TestAnAddedEntryIsReadAsItWasMeant(t *testing.T) {
	for _, s := range []hostconfig.NewServer{
		{Command: "uvx", Args: []string{"time==1", `a "b" <c> ü`}, Env: map[string]string{"B": "${secret:x}", "A": "1"}},
		{URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer ${secret:x}"}},
		{URL: "https://example.com/sse", SSE: true},
	} {
		data, err := hostconfig.AddServer([]byte("{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n"), "new", s)
		if err != nil {
			t.Fatal(err)
		}
		file, err := config.Parse("junction/mcp.json", data, config.Options{Secret: func(_ context.Context, name string) (string, error) { return "kept " + name, nil }})
		if err != nil || len(file.Problems)+len(file.Warnings) > 0 {
			t.Fatalf("%v, %v, %v", err, file.Problems, file.Warnings)
		}
		d, _ := file.Server("new")
		got, err := d.Resolve(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.URL != s.URL || got.Command != s.Command || strings.Join(got.Args, "|") != strings.Join(s.Args, "|") || len(got.Env) != len(s.Env) || len(got.Headers) != len(s.Headers) {
			t.Errorf("got %+v", got)
		}
		if s.Env != nil && got.Env["B"] != "kept x" || s.SSE != (got.Kind == config.SSE) {
			t.Errorf("got %v, %v", got.Env, got.Kind)
		}
	}
}

func TestRemovingAnEntryLeavesTheOthersAndAllComments(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"the only one":    {`{"mcpServers": {"x": {"command": "x"}}}`, `{"mcpServers": {}}`},
		"first of a line": {`{"mcpServers": {"x": {"command": "x"}, "a": 1}}`, `{"mcpServers": {"a": 1}}`},
		"middle":          {"{\"mcpServers\": {\n  \"a\": {}, // one\n  \"x\": {\"command\": \"x\"}, // two\n  \"b\": {}\n}}", "{\"mcpServers\": {\n  \"a\": {}, // one\n  // two\n  \"b\": {}\n}}"},
		"last":            {"{\"mcpServers\": {\n  \"a\": {}, // one, or so\n  \"x\": {\"command\": \"x\"} // two\n}}", "{\"mcpServers\": {\n  \"a\": {} // one, or so\n  // two\n}}"},
		"comma first":     {"{\"mcpServers\": {\n  \"a\": {}\n, \"x\": {\"command\": \"x\"}\n, \"b\": {}\n}}", "{\"mcpServers\": {\n  \"a\": {}\n, \n \"b\": {}\n}}"},
	} {
		got, err := hostconfig.RemoveServer([]byte(c.before), "x")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "comma first" { // blanks do not matter there
			got, c.after = bytes.Join(bytes.Fields(got), []byte(" ")), strings.Join(strings.Fields(c.after), " ")
		}
		if string(got) != c.after {
			t.Errorf("%s:\n%q, want\n%q", name, got, c.after)
		}
	}
	if _, err := hostconfig.RemoveServer([]byte(`{"mcpServers": {}}`), "x"); !errors.Is(err, hostconfig.ErrNoEntry) {
		t.Errorf("the error is %v", err)
	}
}

func TestOnlyTheWordsThatChangedAreWritten(t *testing.T) {
	const before = "{\"mcpServers\": {\"x\": {\n  \"command\" : \"npx\", /* why */ \"args\": [ \"-y\", // yes\n  \"x@1\" , \"${HOME}\"] }}}"
	got, err := hostconfig.ReplaceWords([]byte(before), "x", []string{"npx", "-y", "x@1"}, []string{"npx", "-y", "x@2"})
	if want := strings.Replace(before, "x@1", "x@2", 1); err != nil || string(got) != want {
		t.Errorf("%v\n%q, want\n%q", err, got, want)
	}
	got, err = hostconfig.ReplaceWords([]byte(before), "x", []string{"npx", "-y", "x@1"}, []string{"uvx", "x==2"})
	if want := "{\"mcpServers\": {\"x\": {\n  \"command\" : \"uvx\", /* why */ \"args\": [\"x==2\", \"${HOME}\"] }}}"; err != nil || string(got) != want {
		t.Errorf("%v\n%q, want\n%q", err, got, want)
	}
	for _, old := range [][]string{{"npx", "-y", "x@0"}, {"npx", "-y", "x@1", "${HOME}", "more"}, nil} {
		if _, err := hostconfig.ReplaceWords([]byte(before), "x", old, []string{"y"}); !errors.Is(err, hostconfig.ErrNoEntry) {
			t.Errorf("%q: the error is %v", old, err)
		}
	}
}
