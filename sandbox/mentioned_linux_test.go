package sandbox

import (
	"fmt"
	"io"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestReadsOfUnwatchedProgramsAreNotReported(t *testing.T) {
	root := machine(t)
	for _, c := range []struct {
		name, script string
		want         []string // $ is the root of the test
	}{
		{"what it reads and runs", `cat $/data/two/x; $/data/two/x; exec 3<$/data/two`, nil},
		{"what it changes and removes", `rm ~/todo.txt; chmod 0 ~/todo.txt; python3 -c 'open("$/home/todo.txt", "r+")'`, nil},
		{"a file that may only be read", `echo >>~/todo.txt`, nil},
		{"what is lost when it ends", `mkdir -p ~/.config/app`, []string{"keep what it writes to $/home/.config/app; --write $/home/.config/app"}},
		{"a file that is made where it may not", `echo >$/data/one/new`, nil},
		{"what is lost of folders that all share", `mkdir -p ~/.local/share/app ~/.cache/app; mkdir ~/.config`,
			[]string{"keep what it writes to $/home/.local/share/app; --write $/home/.local/share/app", "keep what it writes to $/home/.cache/app; --write $/home/.cache/app"}},
		{"what is lost under another name", `echo >~/x; mv ~/x ~/y; mkdir ~/__pycache__`, []string{"keep what it writes to $/home/x; --write $/home/x", "keep what it writes to $/home/y; --write $/home/y"}},
		{"what is lost next to what is shown", `echo >~/notes/new; mkdir ~/notes/deep/other; echo >~/new`,
			[]string{"keep what it writes to $/home/notes/new; --write $/home/notes", "keep what it writes to $/home/new; --write $/home/new"}},
		{"what belongs to a file that it writes", `echo >~/todo.db; echo >~/todo.db-journal; echo >~/todo.dbx`, []string{"keep what it writes to $/home/todo.db-journal; ", "keep what it writes to $/home/todo.dbx; --write $/home/todo.dbx"}},
		{"what is kept", `echo >~/notes/deep/new`, nil},
		{"a host", `getent hosts blocked.example.com`, []string{"look up blocked.example.com; --host blocked.example.com"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, refused := refusalsOf(t, Profile{Read: []string{"~/todo.txt", root + "/data/one"}, Write: []string{"~/notes/deep", "~/todo.db"}}, Options{Unwatched: true}, strings.ReplaceAll(c.script, "$/", root+"/"))
			for i := range c.want {
				c.want[i] = strings.ReplaceAll(c.want[i], "$/", root+"/")
			}
			if !slices.Equal(refused, c.want) {
				t.Errorf("refused are %q, want %q; it says %s", refused, c.want, out)
			}
		})
	}
}

// Many programs replace a file by another, and need the folder for that. Permission for the random
// name of the second file does not help, and over a single permitted file no other can be moved.
func TestReplacingAFileReportsThatItsFolderIsNeeded(t *testing.T) {
	root := machine(t)
	const replace = `echo >"$1.4711.tmp"; mv "$1.4711.tmp" "$1"`
	for _, c := range []struct {
		name, file string // $ is the root of the test
		p          Profile
		want       string
	}{
		{"that is not allowed", "$/home/memory.jsonl", Profile{}, "keep what it writes to $/home/memory.jsonl.4711.tmp; "},
		{"that is allowed alone", "$/home/todo.txt", Profile{Write: []string{"~/todo.txt"}}, "keep what it writes to $/home/todo.txt.4711.tmp; "},
		{"in a folder of its own", "$/home/notes/a.md", Profile{Read: []string{"~/notes/b.md"}}, "keep what it writes to $/home/notes/a.md.4711.tmp; --write $/home/notes"},
		{"in a folder that is allowed", "$/home/notes/a.md", Profile{Write: []string{"~/notes"}}, ""},
	} {
		for _, unwatched := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, unwatched), func(t *testing.T) {
				out, refused := refusalsOf(t, c.p, Options{Unwatched: unwatched}, replace, "sh", strings.ReplaceAll(c.file, "$/", root+"/"))
				refused = slices.DeleteFunc(refused, func(r string) bool { return strings.HasPrefix(r, "read ") }) // paths in its command line
				if got := strings.Join(refused, "\n"); got != strings.ReplaceAll(c.want, "$/", root+"/") {
					t.Errorf("refused are %q, want %q; it says %s", got, c.want, out)
				}
			})
		}
	}
}

func TestHiddenPathsOfAFailedRequestAreReported(t *testing.T) {
	root := machine(t)
	var mu sync.Mutex
	var refused []string
	s, err := New(Profile{Read: []string{"~/notes"}}, Options{Unwatched: true, Refused: func(r Refusal) {
		mu.Lock()
		defer mu.Unlock()
		refused = append(refused, r.What+"; "+strings.Join(r.Allow, " "))
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Failed(root + "/data/one/x") // no program runs
	in, out := io.Pipe()
	cmd := exec.Command("cat")
	cmd.Stdin, cmd.Dir = in, "/"
	ended, err := s.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	s.Failed(root+"/data/one/x", "ENOENT: no such file or directory, stat '"+root+"/data/two/x'")
	s.Failed(root+"/data/one/x", "~/notes/a.md", "~/notes/nothing", root+"/nothing/at/all", "/etc/hosts", "/usr/bin/env", "todo.txt")
	s.Failed("/usr", "~/new.txt", root+"/data/one/new")
	s.Failed("~/notes/b.md", "EACCES: permission denied") // unrelated to a path
	s.Failed("~/notes/a.md", "EROFS: read-only file system, open '"+root+"/home/notes/a.md'")
	out.Close()
	cmd.Wait()
	ended()
	s.Failed(root + "/home/todo.txt") // the program has ended
	want := []string{"see " + root + "/data/one/x; --read " + root + "/data/one/x", "see " + root + "/data/two/x; --read " + root + "/data/two/x",
		"see " + root + "/data/one/new; --write " + root + "/data/one",
		"write " + root + "/home/notes/a.md; --write " + root + "/home/notes/a.md"}
	if !reflect.DeepEqual(refused, want) {
		t.Errorf("refused are\n%q\nwant\n%q", refused, want)
	}
}

func TestPathsAreFoundInTexts(t *testing.T) {
	t.Setenv("HOME", "/home/ann")
	for text, want := range map[string][]string{
		"/srv/my notes/a.md":    {"/srv/my notes/a.md", "/srv/my"},
		"~/notes/../b":          {"/home/ann/b"},
		"file:///srv/a%20b":     {"/srv/a b"},
		"file:///srv/%zz":       nil,
		"file://host/x":         nil,
		"notes/a.md, ../a, a/b": nil,
		"https://example.com/a": nil,
		"/":                     nil,
		"ENOENT: no such file or directory, open '/srv/my notes/a.md'": {"/srv/my notes/a.md", "/srv/my"},
		"cannot open /srv/a: Permission denied (/srv/b).":              {"/srv/a", "/srv/b"},
		"--root=/srv/a\n\x1b[31m/srv/c":                                {"/srv/a"},
		`fatal: “/srv/a” and /srv/a`:                                   {"/srv/a"},
	} {
		if got := pathsIn([]string{text}); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	var many []string
	for i := range 2 * maxMentioned {
		many = append(many, "/srv/"+strings.Repeat("a", i+1))
	}
	if got := pathsIn(many); len(got) != maxMentioned {
		t.Errorf("%d paths are found", len(got))
	}
	if got := pathsIn([]string{strings.Repeat(" ", maxMentionedText) + "/srv/a", "/" + strings.Repeat("a", maxMentionedPath)}); got != nil {
		t.Errorf("found %.100q", got)
	}
}
