//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestEnvironmentFilesAreRead(t *testing.T) {
	for _, c := range []struct {
		data string
		want map[string]string
	}{
		{"", map[string]string{}},
		{"\ufeffA=b\r\nC=d", map[string]string{"A": "b", "C": "d"}},
		{"# c\n\n  export A = b c  # note\nB=x#y\n", map[string]string{"A": "b c", "B": "x#y"}},
		{`A='$x\n' # note` + "\n" + `B="a\n\"\$\\\é"`, map[string]string{"A": `$x\n`, "B": "a\n\"$\\\\é"}},
		{"A=\"one\ntwo\"\nB='#'\nA=last=1", map[string]string{"A": "last=1", "B": "#"}},
		{"A=\nB=''", map[string]string{"A": "", "B": ""}},
	} {
		got, err := parseEnv([]byte(c.data))
		if err != nil {
			t.Errorf("%q: %v", c.data, err)
		}
		same(t, c.data, got, c.want)
	}
}

func TestFaultsOfEnvironmentFilesNameTheLineOnly(t *testing.T) {
	for data, want := range map[string]string{
		"A=b\ns3cret":         "line 2: expected NAME=value",
		"A=\"x\ny\"\n=s3cret": "line 3: expected NAME=value",
		"s3 cret=x":           "line 1: expected NAME=value",
		"A=\x00":              "line 1: expected NAME=value",
		"A='s3cret\nB=c":      "line 1: the closing quote is missing",
		"A='s3cret' s3cret":   "line 1: text after the closing quote",
		"A=\xff":              "is not UTF-8; save it in that encoding",
		"A=\"s3cret\\":        "line 1: the closing quote is missing",
	} {
		_, err := parseEnv([]byte(data))
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", data, err, want)
		}
	}
}

func TestEnvironmentFilesStayInTheirFolder(t *testing.T) {
	folder := t.TempDir()
	project := filepath.Join(folder, "project")
	write(t, filepath.Join(folder, "outside.env"), "A=s3cret")
	write(t, filepath.Join(project, "big.env"), strings.Repeat("#", 1<<20+1))
	write(t, filepath.Join(project, "bad.env"), "A=b\nc")
	write(t, filepath.Join(project, "a.env"), "A=file\nB=file")
	if err := os.Symlink("../outside.env", filepath.Join(project, "link.env")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(project, "pipe.env"), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(path, file string) *File {
		return parse(t, path, `{"mcpServers":{"a":{"command":"x","envFile":"`+file+`","env":{"A":"own"}}}}`, Options{HomeDir: folder, WorkDir: project})
	}
	path := filepath.Join(project, ".mcp.json")
	same(t, "env hides envFile", resolve(t, load(path, "a.env"), "a").Env, map[string]string{"A": "own", "B": "file"})
	same(t, "absolute", resolve(t, load(path, project+"/a.env"), "a").Env["B"], "file")
	same(t, "of the person", resolve(t, load(folder+"/.cursor/mcp.json", "outside.env"), "a").Env, map[string]string{"A": "own"})
	for file, want := range map[string]string{
		"../outside.env":        `is outside of the project's folder; move the file there`,
		folder + "/outside.env": `is outside of the project's folder; move the file there`,
		"link.env":              `cannot be read: path escapes from parent`,
		"none.env":              `cannot be read: no such file or directory`,
		"pipe.env":              `is not a regular file`,
		"big.env":               `is larger than 1 MiB`,
		"bad.env":               `line 2: expected NAME=value`,
	} {
		same(t, file, unresolved(t, load(path, file), "a").Error(), path+`: server "a": envFile: `+want)
	}
}

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
}
