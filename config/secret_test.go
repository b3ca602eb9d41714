package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretsAndFilesAreLookedUp(t *testing.T) {
	home, elsewhere := t.TempDir(), t.TempDir()
	write := func(path, text string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token := write(filepath.Join(elsewhere, "token"), "from-the-file\n")
	link := filepath.Join(elsewhere, "link")
	if err := os.Symlink(token, link); err != nil {
		t.Skip(err)
	}
	windows := write(filepath.Join(elsewhere, "windows"), "two\nlines\r\n")
	large := write(filepath.Join(elsewhere, "large"), strings.Repeat("x", maxSecretFile+1))
	empty := write(filepath.Join(elsewhere, "empty"), "\n")
	write(filepath.Join(home, "keys", "mine"), "at-home")
	write(filepath.Join(home, "project", "keys", "inside"), "of-the-project")
	if err := os.Symlink(token, filepath.Join(home, "project", "keys", "out")); err != nil {
		t.Fatal(err)
	}
	options := Options{HomeDir: home, WorkDir: filepath.Join(home, "project"), Secret: func(_ context.Context, name string) (string, error) {
		if name == "none" {
			return "", errors.New("it is not kept; junction secret set none keeps it")
		}
		return "kept-" + name, nil
	}}
	mine, project := filepath.Join(home, ".config", "junction", "mcp.json"), filepath.Join(home, "project", "junction.json")
	for _, test := range []struct{ name, file, value, want, fault string }{
		{"a secret", mine, "Bearer ${secret:api}", "Bearer kept-api", ""},
		{"a secret of a project, which its consent names", project, "${secret:api}", "kept-api", ""},
		{"a secret that is not kept", mine, "${secret:none}", "", `env.TOKEN: secret "none": it is not kept; junction secret set none keeps it`},
		{"a file", mine, "${file:" + token + "}", "from-the-file", ""},
		{"a link", mine, "${file:" + link + "}", "from-the-file", ""},
		{"a file with lines", mine, "<${file:" + windows + "}>", "<two\nlines>", ""},
		{"a file at home", mine, "${file:~/keys/mine}", "at-home", ""},
		{"a file next to the configuration", mine, "${file:../../keys/mine}", "at-home", ""},
		{"a file that is not there", mine, "${file:gone}", "", `env.TOKEN: file "gone" cannot be read: no such file or directory; put the secret there, or change the path`},
		{"a folder", mine, "${file:" + elsewhere + "}", "", "is not a regular file"},
		{"a file that is too large", mine, "${file:" + large + "}", "", "is larger than 64 KiB"},
		{"an empty file", mine, "${file:" + empty + "}", "", "is empty; put the secret there"},
		{"a file of a project", project, "${file:keys/inside}", "of-the-project", ""},
		{"a file outside of a project", project, "${file:" + token + "}", "", "is outside of the project's folder"},
		{"a file above a project", project, "${file:../keys/mine}", "", "is outside of the project's folder"},
		{"a link out of a project", project, "${file:keys/out}", "", "cannot be read"},
	} {
		t.Run(test.name, func(t *testing.T) {
			write(test.file, fmt.Sprintf(`{"mcpServers": {"s": {"command": "x", "env": {"TOKEN": %q}}}}`, test.value))
			set, err := LoadAll([]string{test.file}, options)
			if err != nil || len(set.Servers) != 1 {
				t.Fatal(err, set)
			}
			s, err := set.Servers[0].Resolve(context.Background())
			switch {
			case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault) || !strings.Contains(err.Error(), `server "s"`) || !errors.Is(err, ErrSecret)):
				t.Errorf("got %v", err)
			case test.fault == "" && (err != nil || s.Env["TOKEN"] != test.want):
				t.Errorf("got %v, %v", s, err)
			}
			d := set.Servers[0]
			if all := fmt.Sprint(d.Variables()); !strings.Contains(all, "secret:") && !strings.Contains(all, "file:") {
				t.Errorf("the variables are %s", all)
			}
			if all := fmt.Sprint(d, d.Hash(), err); strings.Contains(all, "kept-") || strings.Contains(all, "from-the-file") {
				t.Errorf("a secret is shown: %s", all)
			}
		})
	}
}

func TestAHeaderFromAFileHoldsNoLineBreak(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("se\ncret"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "servers.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers": {"s": {"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${file:token}"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	set, err := LoadAll([]string{path}, Options{HomeDir: dir, WorkDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set.Servers[0].Resolve(context.Background()); err == nil || !strings.Contains(err.Error(), "headers.Authorization: holds a line break") || strings.Contains(err.Error(), "cret") {
		t.Errorf("got %v", err)
	}
}
