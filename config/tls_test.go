package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnEntryNamesFilesForTLS(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "project")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(home, "ann.pem"), filepath.Join(project, "ann.pem")} {
		if err := os.WriteFile(path, []byte("a certificate"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CERT_NAME", "ann")
	for _, test := range []struct {
		name, file, entry string
		want              string // the certificate, or the error
	}{
		{"a file next to the configuration", "mine.json", `"url":"https://a.example/mcp","tls":{"cert":"ann.pem"}`, filepath.Join(home, "ann.pem")},
		{"a variable in its name", "mine.json", `"url":"https://a.example/mcp","tls":{"cert":"${CERT_NAME}.pem","key":"ann.key"}`, filepath.Join(home, "ann.pem")},
		{"a file of the project", "project/.mcp.json", `"url":"https://a.example/mcp","tls":{"cert":"ann.pem"}`, filepath.Join(project, "ann.pem")},
		{"a project that names another file", "project/.mcp.json", `"url":"https://a.example/mcp","tls":{"ca":"../ann.pem"}`, `tls.ca: file "../ann.pem" is outside of the project's folder`},
		{"a key alone", "mine.json", `"url":"https://a.example/mcp","tls":{"key":"ann.key"}`, "tls: cert is missing"},
		{"a program", "mine.json", `"command":"x","tls":{"ca":"ca.pem"}`, `tls: is only for a server with "url"`},
		{"an address that is not encrypted", "mine.json", `"url":"http://a.example/mcp","tls":{"ca":"ca.pem"}`, "tls: needs an address that begins with https"},
		{"no object", "mine.json", `"url":"https://a.example/mcp","tls":"ca.pem"`, "tls: expected an object"},
		{"no text", "mine.json", `"url":"https://a.example/mcp","tls":{"ca":3}`, "tls: ca: expected a string"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(home, filepath.FromSlash(test.file))
			if err := os.WriteFile(path, []byte(`{"mcpServers":{"a":{`+test.entry+`}}}`), 0o600); err != nil {
				t.Fatal(err)
			}
			set, err := LoadAll([]string{path}, Options{HomeDir: home, WorkDir: project})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if problems := set.Problems(); len(problems) > 0 {
				got = problems[0].Error()
			} else if s, err := set.Servers[0].Resolve(t.Context()); err != nil {
				got = err.Error()
			} else {
				got = s.TLS.CertFile
				if text, err := s.TLS.ReadFile(got); err != nil || string(text) != "a certificate" {
					t.Errorf("read %q, %v", text, err)
				}
				if set.Servers[0].Hash() == "" || !strings.Contains(strings.Join(set.Servers[0].Around(), " "), "(tls.cert ") {
					t.Errorf("it is not shown: %q %v", set.Servers[0].Hash(), set.Servers[0].Around())
				}
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
