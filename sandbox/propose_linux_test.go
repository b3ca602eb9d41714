package sandbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

// machine makes a home folder with files, and other folders next to it.
func machine(t *testing.T) (root string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	for _, name := range []string{
		"home/.config/app/settings.json", "home/.config/other/x", "home/.cache/app/1", "home/.apprc", "home/.app/db/data", "home/notes/a.md", "home/notes/b.md", "home/notes/c.md", "home/notes/d.md",
		"home/notes/deep/e.md", "home/.ssh/id", "home/.npmrc", "home/todo.txt", "home/new.json",
		"pkg/index.js", "pkg/data/memory.json", "data/one/x", "data/two/x", "project/.git/HEAD", "project/a.go", "shared/project/a.txt", "shared/other/x", "shared/there.jsonl",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "data/two"), filepath.Join(root, "home/.app/link")); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestTheSmallestProfileIsProposed(t *testing.T) {
	root := machine(t)
	socket, err := net.Listen("unix", root+"/home/notes/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, c := range []struct {
		name string
		l    Learned
		seen string // lines with a kind and a path; ~ is the home folder, $ the root of the test
		want Profile
		omit []string
	}{
		{"what every program has is left out", Learned{}, "read /usr/lib/libc.so\nread /etc/ssl/certs/x\nread /proc/self/maps\nread /dev/urandom\nwrite /tmp/of-its-own/x\nread $/pkg/index.js", Profile{}, nil},
		{"a folder of settings, and not all of them", Learned{}, "read ~/.config/app/settings.json", Profile{Read: []string{"~/.config/app"}}, nil},
		{"a cache that is written", Learned{}, "read ~/.cache/app/1\nchange ~/.cache/app/gone\nwrite ~/.cache/app/1", Profile{Write: []string{"~/.cache/app"}}, nil},
		{"a file of settings", Learned{}, "read ~/.apprc", Profile{Read: []string{"~/.apprc"}}, nil},
		{"a folder with a dot", Learned{}, "read ~/.app/db/data", Profile{Read: []string{"~/.app"}}, nil},
		{"a link out of a folder", Learned{}, "read ~/.app/link/x", Profile{Read: []string{"$/data/two/x", "~/.app"}}, nil},
		{"what is looked for in vain, or only looked at", Learned{}, "read ~/.nothing\nlook ~/todo.txt\nlook ~/notes", Profile{}, nil},
		{"few files are allowed one by one", Learned{}, "read ~/notes/a.md\nread ~/notes/b.md", Profile{Read: []string{"~/notes/a.md", "~/notes/b.md"}}, nil},
		{"many files are their folder", Learned{}, "read ~/notes/a.md\nread ~/notes/b.md\nread ~/notes/c.md\nread ~/notes/d.md\nread ~/notes/deep/e.md", Profile{Read: []string{"~/notes"}}, nil},
		{"a file that is written and was there", Learned{}, "write ~/todo.txt", Profile{Write: []string{"~/todo.txt"}}, nil},
		{"a file that is made in a folder", Learned{}, "change ~/notes/f.md", Profile{Write: []string{"~/notes"}}, nil},
		{"a file that takes another one's place at home", Learned{}, "write ~/new.json.tmp\nchange ~/new.json.tmp\nchange ~/new.json", Profile{Write: []string{"~/new.json"}}, nil},
		{"what the command line names is meant", Learned{Words: []string{"server", "~/notes", "--db=$/data/one/x"}}, "look ~/notes\nread ~/notes/a.md\nwrite $/data/one/x",
			Profile{Read: []string{"~/notes"}, Write: []string{"$/data/one/x"}}, nil},
		{"a file of the command line that is made again and again", Learned{Words: []string{"--db", "$/data/one/x"}}, "write $/data/one/x\nchange $/data/one/x", Profile{Write: []string{"$/data/one"}}, nil},
		{"a written folder is read, too", Learned{Words: []string{"~/notes"}}, "read ~/notes/a.md\nwrite ~/notes/b.md", Profile{Write: []string{"~/notes"}}, nil},
		{"all files of the machine are not", Learned{Words: []string{"/"}}, "read /\nread $/data/one/x", Profile{Read: []string{"$/data/one/x"}}, []string{"/: it contains files of all programs"}},
		{"the project that it works in", Learned{Dir: "$/project"}, "read $/project/.git/HEAD\nlook $/project", Profile{Read: []string{"$/project"}}, nil},
		{"a program does not change itself but for a file of data", Learned{}, "write $/pkg/data/memory.json", Profile{Write: []string{"$/pkg/data/memory.json"}}, nil},
		{"a file of data that is made again and again in its package", Learned{}, "write $/pkg/data/memory.json\nchange $/pkg/data/memory.json", Profile{},
			[]string{"$/pkg/data/memory.json: it keeps data in its own package, where an upgrade loses it and where it could change itself; name another place in its arguments or variables"}},
		{"keys are for the person to decide", Learned{}, "read ~/.ssh/id\nread ~/.npmrc", Profile{}, []string{"~/.npmrc: it is where keys, logins or histories are kept", "~/.ssh/id: it is where keys, logins or histories are kept"}},
		{"what belongs to all programs is, too", Learned{}, "read ~\nread ~/.config", Profile{}, []string{"~: it contains files of all programs", "~/.config: it contains files of all programs"}},
		{"a socket is another program", Learned{}, "connect ~/todo.txt", Profile{}, []string{"~/todo.txt: it is a socket of another program"}},
		{"and so is one that is opened", Learned{}, "look ~/notes/socket\nread ~/notes/socket\nchange ~/notes/socket", Profile{}, []string{"~/notes/socket: it is a socket of another program"}},
		{"but one that is only looked at is not", Learned{}, "look ~/notes/socket", Profile{}, nil},
		{"of temporary folders nothing", Learned{Dir: "$/shared"}, "read $/shared/project/a.txt\nread $/shared\nchange $/shared/x", Profile{}, nil},
		{"but what the command line names", Learned{Words: []string{"$/shared/project"}}, "look $/shared/project\nread $/shared/project/a.txt\nread $/shared/other/x\nchange $/shared/x", Profile{Read: []string{"$/shared/project"}}, nil},
		{"or a call", Learned{Named: []string{"path", "$/shared/project/a.txt"}}, "read $/shared/project/a.txt\nread $/shared/other/x", Profile{Read: []string{"$/shared/project/a.txt"}}, nil},
		{"or a path of the folder that it is started in", Learned{Words: []string{"./project"}, Dir: "$/shared"}, "read $/shared/project/a.txt\nread $/shared/other/x", Profile{Read: []string{"$/shared/project"}}, nil},
		{"a file that is made there", Learned{Words: []string{"FILE=$/shared/project/new.jsonl"}}, "read $/shared/project/new.jsonl\nchange $/shared/project/new.jsonl\nwrite $/shared/project/new.jsonl", Profile{Write: []string{"$/shared/project"}}, nil},
		{"a database there, which has a second file for moments", Learned{Words: []string{"sqlite://$/shared/project/a.txt"}}, "write $/shared/project/a.txt\nchange $/shared/project/a.txt-journal", Profile{Write: []string{"$/shared/project"}}, nil},
		{"a file there that is only written", Learned{Words: []string{"$/shared/project/a.txt"}}, "write $/shared/project/a.txt", Profile{Write: []string{"$/shared/project"}}, nil},
		{"one of a list", Learned{Words: []string{"$/shared/project:$/shared/nothing"}}, "read $/shared/project/a.txt\nread $/shared/other/x\nread $/shared/nothing/x", Profile{Read: []string{"$/shared/project/a.txt"}}, nil},
		{"a folder that is made there", Learned{Words: []string{"--out", "$/shared/out"}}, "look $/shared/out\nchange $/shared/out\nchange $/shared/out/a.png\nwrite $/shared/out/a.png", Profile{Write: []string{"$/shared/out"}}, nil},
		{"a file in a folder that is made there", Learned{Words: []string{"--out", "$/shared/out/a.png"}}, "change $/shared/out\nchange $/shared/out/a.png", Profile{Write: []string{"$/shared/out"}}, nil},
		{"a file in the folder of all programs that is there", Learned{Words: []string{"$/shared/there.jsonl"}}, "change $/shared/there.jsonl\nchange $/shared/.moment", Profile{Write: []string{"$/shared/there.jsonl"}}, nil},
		{"one that is not there yet", Learned{Words: []string{"$/shared/new.jsonl"}}, "change $/shared/new.jsonl\nchange $/shared/.moment", Profile{},
			[]string{"$/shared/new.jsonl: the file does not exist yet, and files that are created in this folder are deleted when the program ends; create the file, or name one in a folder of its own, and learn again"}},
		{"the folder of all programs is meant", Learned{Words: []string{"$/shared"}}, "read $/shared/project/a.txt", Profile{Read: []string{"$/shared"}}, nil},
		{"or is none that a call allows", Learned{Named: []string{"$/shared"}}, "read $/shared\nread $/shared/project/a.txt", Profile{Read: []string{"$/shared/project/a.txt"}}, []string{"$/shared: it contains files of all programs"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			filled := func(text string) string {
				return strings.ReplaceAll(strings.ReplaceAll(text, "~", root+"/home"), "$", root)
			}
			kinds := map[string]watch.Kind{}
			for k := watch.Look; k <= watch.Listen; k++ {
				kinds[k.String()] = k
			}
			r := new(Record)
			for line := range strings.Lines(c.seen) {
				kind, path, _ := strings.Cut(strings.TrimSpace(line), " ")
				r.see(watch.Access{Kind: kinds[kind], Path: filled(path)})
			}
			for _, list := range [][]string{c.l.Words, c.l.Named} {
				for i, word := range list {
					list[i] = strings.ReplaceAll(word, "$", root)
				}
			}
			c.l.Dir = strings.ReplaceAll(c.l.Dir, "$", root)
			r.belongs([]string{root + "/pkg"})
			got := r.propose(c.l, []string{"/tmp/of-its-own", root + "/shared"})
			for _, list := range [][]string{c.want.Read, c.want.Write} {
				for i := range list {
					list[i] = strings.ReplaceAll(list[i], "$", root)
				}
			}
			var omitted []string
			for _, o := range got.Omitted {
				omitted = append(omitted, o.Path+": "+o.Reason)
			}
			for i := range c.omit {
				c.omit[i] = strings.ReplaceAll(c.omit[i], "$", root)
			}
			if !reflect.DeepEqual(got.Profile, c.want) || !reflect.DeepEqual(omitted, c.omit) {
				t.Errorf("got %+v, omitted %q\nwant %+v, %q", got.Profile, omitted, c.want, c.omit)
			}
			if err := got.Profile.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestARecordIsBounded(t *testing.T) {
	r := new(Record)
	for i := range maxRecorded + 10 {
		r.see(watch.Access{Kind: watch.Read, Path: fmt.Sprintf("/%d", i)})
	}
	if len(r.files) != maxRecorded || r.Complete() {
		t.Errorf("%d paths; complete: %v", len(r.files), r.Complete())
	}
	r = new(Record)
	r.see(watch.Access{Kind: watch.Read, Path: "/" + strings.Repeat("x", maxRecordedBytes)})
	r.see(watch.Access{Kind: watch.Read, Path: "/x"})
	if len(r.files) != 1 || r.Complete() {
		t.Errorf("%d paths; complete: %v", len(r.files), r.Complete())
	}
}
