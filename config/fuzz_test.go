package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParse checks that no file causes a panic, that lists and texts are limited, and that no text
// has the value of a variable.
func FuzzParse(f *testing.F) {
	paths := []string{"/p/.mcp.json", "/p/.cursor/mcp.json", "/p/.vscode/mcp.json", "/h/.claude.json", "/p/mcp_config.json", "/p/servers.json", "/p/claude_desktop_config.json"}
	err := filepath.WalkDir("testdata", func(path string, entry os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" || strings.Contains(path, "fuzz") {
			return err
		}
		data, err := os.ReadFile(path)
		for i := range paths {
			f.Add(i, data)
		}
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0, []byte(`{"mcpServers":{"0":{"command":"${A} 0"}}}`))
	const secret = "v4lue-of-a-variable"
	o := Options{
		WorkDir: "/p", HomeDir: "/h",
		Getenv: func(string) (string, bool) { return secret, true },
		Input:  func(context.Context, Input) (string, error) { return secret, nil },
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		if strings.Contains(string(data), "v4lue") || strings.Contains(string(data), `\u`) {
			t.Skip()
		}
		report := func(err error) {
			if text := err.Error(); len(text) > 2_000 || strings.Contains(text, secret) || strings.ContainsAny(text, "\n\x00") {
				t.Errorf("text %q", text)
			}
		}
		file, err := Parse(paths[uint(which)%uint(len(paths))], data, o)
		if err != nil {
			report(err)
			return
		}
		if len(file.Servers) > maxServers || len(file.Problems) > maxProblems+1 || len(file.Warnings) > maxWarnings+1 || len(file.Inputs) > maxInputs {
			t.Fatalf("%d servers, %d problems, %d warnings", len(file.Servers), len(file.Problems), len(file.Warnings))
		}
		for _, p := range append(file.Problems, file.Warnings...) {
			report(p)
		}
		for _, d := range file.Servers {
			if checkName(d.Name) != nil || d.Kind == 0 || d.String() == "" {
				t.Errorf("definition %v", d)
			}
			s, err := d.Resolve(t.Context())
			if err != nil {
				report(err)
				continue
			}
			if strings.Contains(s.String(), secret) || s.Kind == Stdio && s.Command == "" || s.Kind != Stdio && checkURL(s.Kind, s.URL) != nil {
				t.Errorf("server %v", s)
			}
		}
	})
}

// FuzzEnvFile checks that no environment file causes a panic, and that names are valid.
func FuzzEnvFile(f *testing.F) {
	f.Add([]byte("export A=\"b\\n\nc\" # d\nE='f'\r\n=g"))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := parseEnv(data)
		if err != nil && len(err.Error()) > 100 {
			t.Error(err)
		}
		for name, value := range values {
			if checkEnvName(name) != nil || strings.ContainsRune(value, 0) || !utf8.ValidString(value) {
				t.Errorf("%q = %q", name, value)
			}
		}
	})
}
