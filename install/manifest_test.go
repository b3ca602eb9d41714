package install

import (
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/process/processtest"
)

const goodManifest = `{
	"manifest_version": "0.3", "name": "files", "version": "1.2.0", "description": "d", "author": {"name": "a"},
	"server": {"type": "node", "entry_point": "server/index.js", "mcp_config": {
		"command": "node",
		"args": ["${__dirname}/server/index.js", "--limit=${user_config.limit}", "${user_config.folders}", "server/index.js", "server/none.js", "${HOME}/x"],
		"env": {"KEY": "${user_config.key}", "PLACE": "${__dirname}${/}data", "OPTION": "${user_config.option}"},
		"platform_overrides": {"win32": {"command": "node.exe"}, "plan9": {"args": []}}}},
	"user_config": {
		"limit": {"type": "number", "min": 1, "max": 9, "default": 3},
		"folders": {"type": "directory", "multiple": true, "required": true},
		"key": {"type": "string", "sensitive": true},
		"option": {"type": "boolean"}}}`

// bundleDir returns an unpacked bundle with goodManifest.
func bundleDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "server"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "server", "index.js"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fakePrograms makes a PATH with programs of these names only.
func fakePrograms(t *testing.T, names ...string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("programs are scripts")
	}
	dir := t.TempDir()
	for _, name := range names {
		processtest.WriteProgram(t, filepath.Join(dir, name), []byte("#!/bin/sh\nexit 0\n"), 0o700)
	}
	t.Setenv("PATH", dir)
	return dir
}

func TestABundleIsStartedAsItsManifestSays(t *testing.T) {
	path, dir := fakePrograms(t, "node"), bundleDir(t)
	t.Setenv("HOME", "/home/somebody")
	m, err := readManifest([]byte(goodManifest))
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.program(dir)
	if err != nil {
		t.Fatal(err)
	}
	index := filepath.Join(dir, "server", "index.js")
	want := []string{filepath.Join(path, "node"), index, "--limit=${user_config.limit}", "${user_config.folders}", index, "server/none.js", "/home/somebody/x"}
	if !slices.Equal(p.Argv, want) {
		t.Errorf("it is started by %q, want %q", p.Argv, want)
	}
	for _, test := range []struct {
		values map[string][]string
		words  []string
		env    map[string]string
		fails  string
	}{
		{map[string][]string{"folders": {"/a", "/b"}, "key": {"${HOME}"}}, []string{"--limit=3", "/a", "/b"}, map[string]string{"KEY": "${HOME}", "PLACE": dir + "/data"}, ""},
		{map[string][]string{"folders": {"/a"}, "limit": {"9"}, "option": {"true"}}, []string{"--limit=9", "/a"}, map[string]string{"OPTION": "true", "PLACE": dir + "/data"}, ""},
		{nil, nil, nil, `setting "folders" is required and has no value`},
		{map[string][]string{"folders": {""}}, nil, nil, `setting "folders" is required and has no value`},
		{map[string][]string{"folders": {"/a"}, "limit": {"10"}}, nil, nil, `setting "limit" has the value "10", which is not a number from 1 to 9`},
		{map[string][]string{"folders": {"/a"}, "limit": {"many"}}, nil, nil, `setting "limit" has the value "many", which is not a number from 1 to 9`},
		{map[string][]string{"folders": {"/a"}, "limit": {"1", "2"}}, nil, nil, `setting "limit" has 2 values and takes one`},
		{map[string][]string{"folders": {"/a"}, "option": {"yes"}}, nil, nil, `setting "option" has the value "yes", which is not true or false`},
	} {
		got := &Program{Argv: slices.Clone(p.Argv), Env: maps.Clone(p.Env), Config: p.Config}
		err := got.Fill(test.values)
		if test.fails != "" {
			if err == nil || err.Error() != test.fails {
				t.Errorf("%v: error %v, want %s", test.values, err, test.fails)
			}
			continue
		}
		want := slices.Concat([]string{filepath.Join(path, "node"), index}, test.words, []string{index, "server/none.js", "/home/somebody/x"})
		if err != nil || !slices.Equal(got.Argv, want) || !maps.Equal(got.Env, test.env) {
			t.Errorf("%v: %q with %q, %v, want %q with %q", test.values, got.Argv, got.Env, err, want, test.env)
		}
	}
}

func TestAManifestThatCannotBeStartedIsRefused(t *testing.T) {
	change := func(old, new string) string {
		if !strings.Contains(goodManifest, old) {
			t.Fatalf("%q is not in the manifest", old)
		}
		return strings.Replace(goodManifest, old, new, 1)
	}
	other := "win32"
	if runtime.GOOS == "windows" {
		other = "linux"
	}
	for _, test := range []struct{ text, want string }{
		{"{", "manifest.json: unexpected end of JSON input"},
		{"{}", "manifest.json has no manifest_version, so it may not belong to an mcpb bundle"},
		{change(`"0.3"`, `"1.0"`), `manifest.json has the version "1.0", but this Junction supports 0.1 to 0.4: update Junction`},
		{change(`"version": "1.2.0"`, `"version": ""`), "manifest.json must have a name, and a version of at most 100 characters"},
		{change(`"type": "node"`, `"type": "uv"`), "manifest.json has a server of type uv, which installs its dependencies at the start, so they cannot be locked: use the server's PyPI package"},
		{change(`"type": "node"`, `"type": "perl"`), `manifest.json has a server of type "perl", which is not node, python or binary`},
		{change(`"entry_point": "server/index.js"`, `"entry_point": "../x.js"`), `manifest.json has the entry_point "../x.js", which is not a file of the bundle`},
		{change(`"entry_point": "server/index.js"`, `"entry_point": "/bin/sh"`), `manifest.json has the entry_point "/bin/sh", which is not a file of the bundle`},
		{change(`"command": "node"`, `"command": ""`), "manifest.json lacks server.mcp_config.command, the command that starts the server"},
		{change(`"user_config"`, `"compatibility": {"platforms": ["`+other+`"]}, "user_config"`), "the bundle is for " + other + ", and this is " + platform()},
		{change(`"limit": {"type": "number"`, `"limit": {"type": "date"`), `manifest.json has the setting "limit" of type "date", but expected string, number, boolean, directory or file`},
		{`{"pad": "` + strings.Repeat(" ", maxManifest) + `"}`, "manifest.json has more than 1048576 bytes"},
	} {
		if _, err := readManifest([]byte(test.text)); err == nil || err.Error() != test.want {
			t.Errorf("%.60q: error %v, want %s", test.text, err, test.want)
		}
	}
}

func TestTheManifestsOfAllVersionsAreRead(t *testing.T) {
	for _, version := range []string{`"dxt_version": "0.1"`, `"manifest_version": "0.1"`, `"manifest_version": "0.2"`, `"manifest_version": "0.4"`} {
		if _, err := readManifest([]byte(strings.Replace(goodManifest, `"manifest_version": "0.3"`, version, 1))); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
}
