package install

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// folderOf makes a folder with files. Those that end in .sh or are in a folder bin are executable.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path, mode := filepath.Join(dir, filepath.FromSlash(name)), os.FileMode(0o600)
		if strings.HasSuffix(name, ".sh") || strings.Contains(name, "bin/") {
			mode = 0o700
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAFolderIsStartedAsItsProjectSays(t *testing.T) {
	path := fakePrograms(t, "node", "uv", "python3", "bun")
	s := newStore(t)
	for name, test := range map[string]struct {
		files   map[string]string
		bin     string
		want    []string // with DIR and PATH
		version string
	}{
		"a bundle": {map[string]string{"manifest.json": goodManifest, "server/index.js": "", "package.json": "{}"}, "",
			[]string{"PATH/node", "DIR/server/index.js", "--limit=${user_config.limit}", "${user_config.folders}", "DIR/server/index.js", "server/none.js", "HOME/x"}, "1.2.0"},
		"a package of npm with one program": {map[string]string{"package.json": `{"name":"@a/b","version":"2.0.0","bin":"./cli.js"}`, "cli.js": "#!/usr/bin/env bun\n"}, "", []string{"PATH/bun", "DIR/cli.js"}, "2.0.0"},
		"one with several":                  {map[string]string{"package.json": `{"name":"x","bin":{"a":"a.js","b":"b.js"}}`, "a.js": "", "b.js": ""}, "b", []string{"PATH/node", "DIR/b.js"}, ""},
		"one with a main file":              {map[string]string{"package.json": `{"main":"build/main.js"}`, "build/main.js": ""}, "", []string{"PATH/node", "DIR/build/main.js"}, ""},
		"one with nothing but index.js":     {map[string]string{"package.json": `{}`, "index.js": ""}, "", []string{"PATH/node", "DIR/index.js"}, ""},
		"a project of Python":               {map[string]string{"pyproject.toml": "[project]\nname = \"x\"\nversion = \"3.0\"\n[project.scripts]\nserve = \"x:main\"\n"}, "", []string{"PATH/uv", "run", "--directory", "DIR", "serve"}, "3.0"},
		"one with its environment":          {map[string]string{"pyproject.toml": "[project]\nname = \"x\"\n[project.scripts]\nx = \"x:main\"\ny = \"x:main\"\n", ".venv/bin/x": "#!"}, "", []string{"DIR/.venv/bin/x"}, ""},
		"a module of Go":                    {map[string]string{"go.mod": "// comment\nmodule example.com/a/server\n", "bin/server": "ELF"}, "", []string{"DIR/bin/server"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", "/home/somebody")
			dir := folderOf(t, test.files)
			l, err := s.Resolve(t.Context(), Package{Type: Folder, Name: dir, Bin: test.bin})
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Install(t.Context(), l) // it only opens the package
			if err != nil {
				t.Fatal(err)
			}
			got := slices.Clone(p.Argv)
			for i := range got {
				got[i] = strings.NewReplacer(dir, "DIR", path, "PATH", "/home/somebody", "HOME").Replace(got[i])
			}
			if !slices.Equal(got, test.want) || l.Version != test.version || l.Integrity != "" {
				t.Errorf("%q of version %q, want %q of %q", got, l.Version, test.want, test.version)
			}
		})
	}
}

func TestAFolderThatCannotBeStartedSaysWhy(t *testing.T) {
	s := newStore(t)
	for _, test := range []struct {
		files map[string]string
		want  string
	}{
		{nil, "has no manifest.json, package.json, pyproject.toml, or go.mod with its program"},
		{map[string]string{"package.json": "{"}, "package.json: unexpected end of JSON input"},
		{map[string]string{"package.json": `{"bin":7}`}, "package.json: bin: json: cannot unmarshal number into Go value of type map[string]string"},
		{map[string]string{"package.json": `{"main":"dist/x.js"}`}, "package.json starts dist/x.js, which does not exist: you may have to build it first (npm install, npm run build)"},
		{map[string]string{"pyproject.toml": "[project"}, "pyproject.toml: toml: expected ']' to close table name"},
		{map[string]string{"pyproject.toml": "[project]\nname = \"x\""}, `pyproject.toml has no script "x" under project.scripts, but []: choose the one that starts the server`},
		{map[string]string{"go.mod": "module example.com/x"}, "is a Go module without its program: build it first with go build -C DIR -o x"},
		{map[string]string{"server.json": `{"packages":[{"registryType":"npm","identifier":"@a/b"}]}`}, "has no manifest.json, package.json, pyproject.toml, or go.mod with its program"},
		{map[string]string{"manifest.json": "{}"}, "manifest.json has no manifest_version, so it may not belong to an mcpb bundle"},
	} {
		dir := folderOf(t, test.files)
		_, err := s.Resolve(t.Context(), Package{Type: Folder, Name: dir})
		if err == nil || strings.ReplaceAll(err.Error(), dir, "DIR") != "folder:DIR: "+test.want {
			t.Errorf("%v: error %v, want %s", test.files, err, test.want)
		}
	}
	if _, err := s.Resolve(t.Context(), Package{Type: Folder, Name: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

func TestAProgramIsLockedByItsHash(t *testing.T) {
	path := fakePrograms(t, "node", "python3")
	dir := folderOf(t, map[string]string{"run.sh": "#!/bin/sh\n", "a.mjs": "", "b.py": "", "data": ""})
	s := newStore(t)
	for name, want := range map[string][]string{"run.sh": {"DIR/run.sh"}, "a.mjs": {"PATH/node", "DIR/a.mjs"}, "b.py": {"PATH/python3", "DIR/b.py"}} {
		file := filepath.Join(dir, name)
		l, err := s.Resolve(t.Context(), Package{Type: Folder, Name: file})
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Open(l)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Argv {
			p.Argv[i] = strings.NewReplacer(dir, "DIR", path, "PATH").Replace(p.Argv[i])
		}
		if !slices.Equal(p.Argv, want) {
			t.Errorf("%s: %q, want %q", name, p.Argv, want)
		}
		if err := os.WriteFile(file, []byte("changed"), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open(l); !errors.Is(err, ErrIntegrity) {
			t.Errorf("%s, once it changed: %v", name, err)
		}
	}
	if _, err := s.Resolve(t.Context(), Package{Type: Folder, Name: filepath.Join(dir, "data")}); err == nil || !strings.Contains(err.Error(), "may not be executed: chmod +x") {
		t.Errorf("error %v", err)
	}
}

func TestShownLocksAreStarted(t *testing.T) {
	fakePrograms(t, "node", "python3")
	s := newStore(t)
	refused := func(l Locked, want string) {
		t.Helper()
		if p, err := s.Open(&l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %q: %+v, %v, want an error with %s", l.Name, l.Program, p, err, want)
		}
	}
	bundle := folderOf(t, map[string]string{"manifest.json": goodManifest, "server/index.js": ""})
	l, err := s.Resolve(t.Context(), Package{Type: Folder, Name: bundle})
	if err != nil {
		t.Fatal(err)
	}
	other := *l
	other.Program = []string{"node", "./harmless.js"}
	refused(other, "but its manifest.json starts")
	other.Program = nil
	refused(other, "but its manifest.json starts")
	if _, err := (mcpb{}).program(&other, bundle); err == nil || !strings.Contains(err.Error(), "but its manifest.json starts") {
		t.Errorf("of a bundle: error %v", err)
	}

	script := filepath.Join(folderOf(t, map[string]string{"run.sh": "#!/bin/sh\n"}), "run.sh")
	if l, err = s.Resolve(t.Context(), Package{Type: Folder, Name: script}); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"python3", "-c", "evil"}, {script, "more"}, {"/bin/sh", script}, nil} {
		other = *l
		other.Program = words
		refused(other, "but this file starts with")
	}

	project := folderOf(t, map[string]string{"package.json": `{"main":"index.js"}`, "index.js": "", "evil.js": ""})
	if l, err = s.Resolve(t.Context(), Package{Type: Folder, Name: project}); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"/bin/sh", "-c", "evil"}, {"node", "./evil.js"}, {"node", "./index.js", "--import=./evil.js"}, nil} {
		other = *l
		other.Program = words
		refused(other, "but this folder now starts with")
	}

	t.Chdir(bundle)
	l, err = s.Resolve(t.Context(), Package{Type: Folder, Name: "."})
	if err != nil {
		t.Fatal(err)
	}
	other = *l
	other.Name = "."
	refused(other, "is not an absolute path in the lock")
}
