package sandbox

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// refusalsOf runs a shell command confined, and returns its output and each refusal with the flags
// that allow it.
func refusalsOf(t *testing.T, p Profile, o Options, script string, more ...string) (output string, refused []string) {
	t.Helper()
	var mu sync.Mutex
	o.Refused = func(r Refusal) {
		mu.Lock()
		defer mu.Unlock()
		refused = append(refused, r.What+"; "+strings.Join(r.Allow, " "))
	}
	s, err := New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.Command("sh", append([]string{"-c", script}, more...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &out, &out
	ended, err := s.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	ended()
	return out.String(), refused
}

func TestRefusalsNameTheRemedy(t *testing.T) {
	root := machine(t)
	home := root + "/home"
	for _, c := range []struct {
		name, script string
		p            Profile
		want         []string // $ is the root of the test
	}{
		{"a file that is read", `cat $/data/one/x`, Profile{}, []string{"read $/data/one/x; --read $/data/one/x"}},
		{"only once", `for i in 1 2 3; do cat $/data/one/x; done`, Profile{}, []string{"read $/data/one/x; --read $/data/one/x"}},
		{"one that is not there", `cat $/data/one/nothing; cat ~/nothing`, Profile{}, nil},
		{"what is allowed", `cat ~/notes/a.md; echo >~/notes/new; ls ~/notes; mv ~/notes/new ~/notes/newer; rm ~/notes/newer`, Profile{Write: []string{"~/notes"}}, nil},
		{"a file that is only looked at", `test -f ~/todo.txt`, Profile{}, nil},
		{"a file that may only be read", `cat ~/todo.txt; echo >>~/todo.txt`, Profile{Read: []string{"~/todo.txt"}}, []string{"write $/home/todo.txt; --write $/home/todo.txt"}},
		{"a folder in which a file is made", `mkdir $/data/one/new`, Profile{Read: []string{"$/data"}}, []string{"write $/data/one/new; --write $/data/one"}},
		{"what is lost when it ends", `mkdir -p ~/.config/app; echo >~/.config/app/settings.json`, Profile{},
			[]string{"keep what it writes to $/home/.config/app; --write $/home/.config/app"}},
		{"many files of one folder are their folder", `cd ~; for i in a b c d deep/e; do cat notes/%i.md; done`, Profile{},
			[]string{"read $/home/notes/a.md; --read $/home/notes/a.md", "read $/home/notes/b.md; --read $/home/notes/b.md", "read $/home/notes/c.md; --read $/home/notes/c.md",
				"read $/home/notes; --read $/home/notes"}},
		{"a host", `getent hosts blocked.example.com`, Profile{}, []string{"look up blocked.example.com; --host blocked.example.com"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			filled := func(list []string) (all []string) {
				for _, text := range list {
					all = append(all, strings.ReplaceAll(text, "$", root))
				}
				return all
			}
			c.p.Read = filled(c.p.Read)
			_, got := refusalsOf(t, c.p, Options{}, "HOME="+home+"\n"+strings.NewReplacer("$", root, "%", "$").Replace(c.script))
			if want := filled(c.want); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func TestHiddenPathsOfACommandLineAreReported(t *testing.T) {
	root := machine(t)
	var refused []string
	s, err := New(Profile{Read: []string{"~/todo.txt"}}, Options{Refused: func(r Refusal) { refused = append(refused, r.What+"; "+strings.Join(r.Allow, " ")) }})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("true", "--dir="+root+"/home/notes", "./data/one", root+"/home/todo.txt", root+"/nothing", "/usr/bin")
	cmd.Dir, cmd.Env = root, []string{"DATA=" + root + "/data/two/x", "HOME=" + root + "/home"}
	ended, err := s.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	ended()
	var want []string
	for _, path := range []string{"/home/notes", "/data/one", "/data/two/x"} {
		want = append(want, "read "+root+path+"; --read "+root+path)
	}
	if !slices.Equal(refused, want) {
		t.Errorf("got %q, want %q", refused, want)
	}
}

func TestLearnedProfilesAreMinimal(t *testing.T) {
	root := machine(t)
	script := "HOME=" + root + "/home\n" + `cat ~/.config/app/settings.json && echo x >~/.cache/app/2 && cat ~/notes/a.md && rm ~/.cache/app/2 && (cat ` + root + `/data/one/x || test $LEARN) && echo done`
	t.Setenv("LEARN", "yes") // then the script does not need files below /tmp
	r := new(Record)
	if out, refused := refusalsOf(t, Profile{}, Options{Record: r}, script); !strings.HasSuffix(out, "done\n") || refused != nil {
		t.Fatalf("while it is learned from: %q, refused %q", out, refused)
	}
	got := r.Propose(Learned{Dir: "/"})
	want := Profile{Read: []string{"~/.config/app", "~/notes/a.md"}, Write: []string{"~/.cache/app"}}
	if !reflect.DeepEqual(got.Profile, want) || got.Omitted != nil || !r.Complete() {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// Files below /tmp belong to all and are not proposed: access is refused and reported.
	t.Setenv("LEARN", "")
	out, refused := refusalsOf(t, got.Profile, Options{}, script)
	if want := []string{"read " + root + "/data/one/x; --read " + root + "/data/one/x"}; !slices.Equal(refused, want) || strings.HasSuffix(out, "done\n") {
		t.Errorf("got %q, refused %q", out, refused)
	}
	got.Profile.Read = append(got.Profile.Read, root+"/data/one/x")
	if out, refused := refusalsOf(t, got.Profile, Options{}, script); !strings.HasSuffix(out, "done\n") || refused != nil {
		t.Errorf("with what was learned: %q, refused %q", out, refused)
	}
}

func TestSandboxFilesAreNotProposed(t *testing.T) {
	machine(t)
	for _, p := range madeSettings("") {
		t.Run(p.Path, func(t *testing.T) {
			r := new(Record)
			refusalsOf(t, Profile{}, Options{Record: r}, "cat "+p.Path)
			if got := r.Propose(Learned{Dir: "/"}); !reflect.DeepEqual(got, Proposal{}) {
				t.Errorf("got %+v, want nothing: a program has its own", got)
			}
			if out, refused := refusalsOf(t, Profile{Read: []string{p.Path}}, Options{}, "head -c 1 "+p.Path+" | wc -c"); out != "1\n" || refused != nil {
				t.Errorf("allowed all the same: %q, refused %q", out, refused)
			}
		})
	}
}

func TestLearningHidesKeysAndPrivateAddresses(t *testing.T) {
	root := machine(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	reached := make(chan struct{}, 1)
	go func() {
		if conn, err := l.Accept(); err == nil {
			conn.Close()
			reached <- struct{}{}
		}
	}()
	if err := os.WriteFile(filepath.Join(root, "home/.ssh/id"), []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "home/.npmrc"), []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	r := new(Record)
	out, _ := refusalsOf(t, Profile{}, Options{Record: r}, "cd "+root+"/home; ls .ssh; cat .ssh/id .npmrc; echo x >.ssh/new; "+
		`bash -c 'exec 3<>/dev/tcp/127.0.0.1/`+port+`'; bash -c 'exec 3<>/dev/tcp/169.254.169.254/80'; cat todo.txt && echo still`)
	if strings.Contains(out, "sesame") || strings.Contains(out, "id\n") || !strings.HasSuffix(out, "still\n") {
		t.Errorf("it sees %q", out)
	}
	select {
	case <-reached:
		t.Error("a service of this machine was reached")
	default:
	}
	if text, err := os.ReadFile(filepath.Join(root, "home/.ssh/id")); string(text) != "sesame\n" {
		t.Errorf("the key is %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(root, "home/.ssh/new")); err == nil {
		t.Error("a key was added")
	}
	var omitted []string
	for _, o := range r.Propose(Learned{}).Omitted {
		omitted = append(omitted, o.Host+o.Path)
	}
	if want := []string{"~/.npmrc", "~/.ssh", "127.0.0.1:" + port, "169.254.169.254"}; !slices.Equal(omitted, want) {
		t.Errorf("for the person to decide: %q, want %q", omitted, want)
	}
}

func TestLearningReachesNoSocketOfAnotherProgram(t *testing.T) {
	root := machine(t)
	socket, named := root+"/home/notes/db server.sock", root+"/home/named.sock"
	answering(t, socket)
	answering(t, named)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := new(Record)
	connect := func(path string) string {
		out, _ := refusalsOf(t, Profile{Write: []string{named}}, Options{Record: r, Package: []string{self}},
			`cd `+root+`/home/notes; `+hostile+`="connect to an agent's socket" WORLD='{"Socket":"`+path+`"}' `+self+`; cat a.md`)
		return out
	}
	for path, want := range map[string]string{socket: "connect: connection refused\nstopped\n", named: "ESCAPED: reached\n"} {
		if got := connect(path); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if got := r.Propose(Learned{}); !reflect.DeepEqual(got.Profile, Profile{Read: []string{"~/notes/a.md"}}) || len(got.Omitted) != 2 {
		t.Errorf("proposed is %+v", got)
	}
	if info, err := os.Lstat(socket); err != nil || info.Mode()&os.ModeSocket == 0 {
		t.Errorf("the socket is %v, %v", info, err)
	}
}

// answering listens at a Unix socket and sends "reached" to each client.
func answering(t *testing.T, path string) {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 100))
			conn.Write([]byte("reached"))
			conn.Close()
		}
	}()
}

func TestLearningUsesTemporaryFolders(t *testing.T) {
	root := machine(t)
	other, err := os.MkdirTemp("/var/tmp", "junction-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(other)
	made := "/tmp/made-" + filepath.Base(other)
	defer os.RemoveAll(made)
	for path, text := range map[string]string{root + "/shared/project/a.txt": "a", root + "/shared/other/x": "x", other + "/b": "b"} {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The folder of a file to create, a file that a call names, and a folder to create.
	l := Learned{Words: []string{"FILE=" + root + "/shared/project/new.jsonl", made, root + "/absent/nothing"}, Named: []string{other + "/b"}}
	script := strings.ReplaceAll(`cd $; cat shared/project/a.txt `+other+`/b; echo new >>shared/project/new.jsonl; echo other >>`+other+`/c; mkdir -p `+made+`; echo made >`+made+`/x; cat shared/other/x pkg/index.js`, "$", root)
	r := new(Record)
	out, _ := refusalsOf(t, Profile{}, Options{Record: r, Learned: l}, script)
	if !strings.HasPrefix(out, "a\nb\n") || strings.Contains(out, "x\n") || strings.Count(out, "No such file") != 2 {
		t.Errorf("it sees %q", out)
	}
	if text, err := os.ReadFile(root + "/shared/project/new.jsonl"); string(text) != "new\n" {
		t.Errorf("what it kept is %q, %v", text, err)
	}
	if exists(made) {
		t.Error("what it made in a folder of its own is outside, too")
	}
	got := r.Propose(l)
	want := Profile{Write: []string{root + "/shared/project", made, other}}
	slices.Sort(want.Write)
	if !reflect.DeepEqual(got.Profile, want) || got.Omitted != nil {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	if out, refused := refusalsOf(t, got.Profile, Options{}, script); !strings.HasPrefix(out, "a\nb\n") || len(refused) != 2 { // files that do not exist
		t.Errorf("with what was learned: %q, refused %q", out, refused)
	}
	for path, want := range map[string]string{root + "/shared/project/new.jsonl": "new\nnew\n", made + "/x": "made\n", other + "/c": "other\nother\n"} {
		if text, err := os.ReadFile(path); string(text) != want {
			t.Errorf("%s is %q, %v", path, text, err)
		}
	}
}

func TestTemporaryFoldersShowNeitherSocketsNorSecrets(t *testing.T) {
	root := machine(t)
	t.Setenv("JUNCTION_STATE", root+"/state")
	socket := root + "/shared/project/agent"
	answering(t, socket)
	if err := os.Mkdir(root+"/state", 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"/home/.ssh/id": "sesame", "/state/approvals": "sesame", "/shared/project/a.txt": "hello"} {
		if err := os.WriteFile(root+path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(root+"/home/.ssh", root+"/shared/link"); err != nil {
		t.Fatal(err)
	}
	for path, target := range map[string]string{"/shared/run": "/run", "/shared/etc": "/etc"} {
		if err := os.Symlink(target, root+path); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := []string{root + "/home/.ssh/id", root + "/state/approvals", root + "/shared/link", root + "/shared/run", root + "/shared/etc", root + "/shared/project"}
	for name, l := range map[string]Learned{"by the command line": {Words: all}, "by a call": {Named: all}, "and the socket itself": {Words: append(slices.Clone(all), socket)},
		"and the folder of all programs": {Words: append(slices.Clone(all), "/tmp", os.TempDir())}} {
		t.Run(name, func(t *testing.T) {
			out, _ := refusalsOf(t, Profile{}, Options{Record: new(Record), Learned: l, Package: []string{self}},
				`cd `+root+`; cat home/.ssh/id state/approvals shared/link/id shared/project/a.txt; ls -A shared/run /run; touch shared/etc/junction-test && echo ESCAPED: settings; `+
					hostile+`="connect to an agent's socket" WORLD='{"Socket":"`+socket+`"}' `+self)
			if strings.Contains(out, "sesame") || strings.Contains(out, "ESCAPED") || !strings.Contains(out, "hello\n") || !strings.HasSuffix(out, "connect: connection refused\nstopped\n") {
				t.Errorf("it sees %q", out)
			}
		})
	}
}

func TestFoldersBelowVarTmp(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "junction-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	out, refused := refusalsOf(t, Profile{Write: []string{dir}}, Options{}, "echo hello >"+dir+"/x; cat "+dir+"/x; echo of its own >/var/tmp/y; cat /var/tmp/y")
	if text, err := os.ReadFile(dir + "/x"); string(text) != "hello\n" || out != "hello\nof its own\n" || refused != nil {
		t.Errorf("it keeps %q (%v), says %q, is refused %q", text, err, out, refused)
	}
	if exists("/tmp/" + filepath.Base(dir)) {
		t.Error("a folder was made in /tmp")
	}
}

func TestWhenAllOfASandboxHasEndedNothingIsNamed(t *testing.T) {
	gone, err := os.Open(t.TempDir()) // the program's root after its end: an empty folder
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	r := &refusing{root: int(gone.Fd())}
	if r.isHidden("/usr/bin/env") {
		t.Error("a file that was allowed is named")
	}
}
