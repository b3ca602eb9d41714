package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSettingsStandInAFileOrNextToIt(t *testing.T) {
	tests := []struct {
		name, file, nextTo string
		want, wrong        string // the mode of tools, or words of the error
	}{
		{"in the file, with comments", "{\"mcpServers\":{},\n // mine\n\"junction\":{\"tools\":\"all\",}}", ``, "all", ""},
		{"next to it", `{"mcpServers":{}}`, `{"junction":{"tools":"search"}}`, "search", ""},
		{"those in the file count", `{"mcpServers":{},"junction":{"tools":"all"}}`, `{"junction":{"tools":"search"}}`, "all", ""},
		{"a file next to it that has servers only", `{"mcpServers":{}}`, `{"mcpServers":{"x":{"command":"y"}}}`, "", ""},
		{"none", `{"mcpServers":{}}`, ``, "", ""},
		{"an unknown member", "{\"mcpServers\":{},\n\"junction\":{\"tool\":\"all\"}}", ``, "", "tool"},
		{"a setting next to it that is not under junction", `{"mcpServers":{}}`, "{\n\"policy\":\"rules.json\"}", "", `junction.json: policy: expected under "junction"`},
		{"no object", `{"mcpServers":{},"junction":3}`, ``, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "mcp.json")
			write := func(path, text string) {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(path, test.file)
			if test.nextTo != "" {
				write(filepath.Join(dir, "junction.json"), test.nextTo)
			}
			set, err := LoadAll([]string{path}, Options{WorkDir: dir, HomeDir: dir})
			if err != nil || len(set.Files) != 1 || len(set.Servers) != 0 {
				t.Fatalf("%d files, %d servers, %v", len(set.Files), len(set.Servers), err)
			}
			s, from, err := set.Files[0].Settings()
			switch problem := new(Problem); {
			case test.wrong != "":
				if !errors.As(err, &problem) || problem.Line != 2 || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("the error is %v", err)
				}
			case err != nil:
				t.Error(err)
			case s == nil:
				if test.want != "" || from != nil {
					t.Error("there are none")
				}
			case s.Tools != test.want:
				t.Errorf("tools are %q, want %q", s.Tools, test.want)
			}
			if test.name == "no object" && len(set.Problems()) != 1 {
				t.Errorf("problems are %v", set.Problems())
			}
		})
	}
}

func TestAFileNextToItThatCannotBeReadIsReported(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"mcp.json": `{"mcpServers":{}}`, "junction.json": `{"junction":`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadAll([]string{filepath.Join(dir, "mcp.json")}, Options{WorkDir: dir, HomeDir: dir}); err == nil || !strings.Contains(err.Error(), "junction.json") {
		t.Errorf("the error is %v", err)
	}
}
