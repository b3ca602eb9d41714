package sandbox

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// asSandboxExec makes the test binary sandbox-exec, which records its start in the file that the
// variable names.
const asSandboxExec = "SANDBOX_TEST_SANDBOX_EXEC"

// A started records how sandbox-exec was started.
type started struct {
	Argv, Env   []string
	Dir         string
	Files, Size uint64
	Session     bool
	Inherited   []string
}

func playSandboxExec(path string) {
	var files, size syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	syscall.Getrlimit(syscall.RLIMIT_FSIZE, &size)
	dir, _ := os.Getwd()
	session, _, _ := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	s := started{Argv: os.Args, Env: os.Environ(), Dir: dir, Files: files.Max, Size: size.Max, Session: int(session) == os.Getpid()}
	for fd := 3; fd < 20; fd++ {
		if target, err := os.Readlink(fmt.Sprint("/proc/self/fd/", fd)); err == nil && strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "/sys/") {
			s.Inherited = append(s.Inherited, target)
		}
	}
	data, _ := json.Marshal(s)
	os.WriteFile(path, data, 0o600)
	argv := os.Args[slices.Index(os.Args, "--")+1:]
	os.Unsetenv(asSandboxExec)
	syscall.Exec(argv[0], argv, os.Environ())
}

func TestMacOSStartsAProgramBySandboxExec(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(root, "home"))
	t.Setenv("TMPDIR", filepath.Join(root, "tmp"))
	for _, dir := range []string{"home/notes", "home/out", "home/.ssh", "home/hidden", "tmp", "work"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"home/link": "notes", "home/chain": "middle/second", "home/middle": "hidden", "home/hidden/second": "../notes", "home/out/planted": "../.ssh"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	leaked, err := syscall.Open(root, syscall.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leaked)
	s, err := New(Profile{Read: []string{"~/link", "~/chain", "~/out/planted"}, Write: []string{"~/out", "~/new"}, Hosts: []string{"api.example.com"}, Files: 100}, Options{Folder: true})
	if err != nil {
		t.Fatal(err)
	}
	report := filepath.Join(root, "report")
	argv := []string{"/bin/sh", "-c", `read line; echo "$line $TMPDIR $https_proxy"; echo x >$TMPDIR/file; exit 3`}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin = filepath.Join(root, "work"), strings.NewReader("hello\n")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "A=b", "https_proxy=http://elsewhere.example", asSandboxExec + "=" + report}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	ended, err := s.startSeatbelt(cmd, self)
	if err != nil {
		t.Fatal(err)
	}
	status := cmd.Wait()
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err, status)
	}
	var got started
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	got.Argv[0] = "/usr/bin/sandbox-exec"
	rules, program := rulesOf(t, got.Argv)
	words := strings.Fields(out.String())
	if len(words) != 3 || words[0] != "hello" || !strings.HasPrefix(words[1], root+"/tmp/"+temporaryName) || !strings.HasPrefix(words[2], "http://127.0.0.1:") || fmt.Sprint(status) != "exit status 3" {
		t.Fatalf("it says %q, and ends with %v", out.String(), status)
	}
	for _, want := range []string{
		"(allow file-read* (subpath " + root + "/home/notes))", "(allow file-read* (subpath " + root + "/home/link))", "(allow file-read* (subpath " + root + "/work))",
		// Links on the way are readable, but not their surroundings.
		"(allow file-read* (subpath " + root + "/home/chain))", "(allow file-read-metadata (literal " + root + "/home/middle))", "(allow file-read-metadata (literal " + root + "/home/hidden/second))",
		"(allow file-read* file-write* (subpath " + root + "/home/out))", "(allow file-read* file-write* (subpath " + root + "/home/new))", "(allow file-read* file-write* (subpath " + words[1] + "))",
		`(allow network-outbound (remote tcp "localhost:` + words[2][len("http://127.0.0.1:"):] + `"))`,
	} {
		if !slices.Contains(rules, want) {
			t.Errorf("%s is missing of\n%s", want, strings.Join(rules, "\n"))
		}
	}
	if text := strings.Join(rules, "\n"); strings.Contains(text, ".ssh") || strings.Contains(text, "planted") || strings.Contains(text, "(subpath "+root+"/home))") {
		t.Errorf("a link that the program could have made is followed:\n%s", text)
	}
	if !slices.Equal(program, argv) {
		t.Errorf("started is %q", program)
	}
	if got.Dir != root+"/work" || got.Files != 100 || got.Size != maxFile || !got.Session || got.Inherited != nil {
		t.Errorf("started in %s with %d files of %d bytes, a session: %v, with %q", got.Dir, got.Files, got.Size, got.Session, got.Inherited)
	}
	if slices.Contains(got.Env, "https_proxy=http://elsewhere.example") || !slices.Contains(got.Env, "A=b") || !slices.Contains(got.Env, "NO_PROXY=") {
		t.Errorf("the environment is %q", got.Env)
	}
	proxy, err := url.Parse(words[2])
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
	if _, err := client.Get("https://evil.example/"); err == nil || !strings.Contains(err.Error(), "Bad Gateway") {
		t.Errorf("the proxy says %v", err)
	}
	ended()
	if _, err := client.Get("https://evil.example/"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("at the end the proxy says %v", err)
	}
	if exists(words[1]) {
		t.Error("its folder is left")
	}
}

func TestLimitsOfMacOSAreReported(t *testing.T) {
	var unconfined []string
	for _, c := range []struct {
		p    Profile
		o    Options
		tool string
		want string
	}{
		{Profile{}, Options{}, "/nonexistent", "cannot be confined as its profile says: /nonexistent is missing"},
		{Profile{Memory: 1, CPU: 1, Processes: 1}, Options{}, os.Args[0], "cannot be confined as its profile says: macOS does not limit memory, number of processes, processor time"},
		{Profile{}, Options{Record: new(Record), Weaker: true}, os.Args[0], "cannot be confined as its profile says: nothing can be learned from a program on macOS"},
		{Profile{Memory: 1}, Options{Weaker: true, Unconfined: func(missing []string) { unconfined = missing }}, os.Args[0], "stat /nonexistent/program: no such file or directory"},
	} {
		s, err := New(c.p, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.startSeatbelt(exec.Command("/nonexistent/program"), c.tool); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if !slices.Equal(unconfined, []string{"memory"}) {
		t.Errorf("said to be missing is %q", unconfined)
	}
}

func TestNothingIsLeftOfAStartOnMacOSThatFails(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Profile{Write: []string{"/proc/none"}, Hosts: []string{"api.example.com"}}, Options{Refused: func(Refusal) {}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.startSeatbelt(exec.Command("/bin/sh"), self); err == nil || !strings.HasPrefix(err.Error(), "write: mkdir /proc/none: ") {
		t.Errorf("got %v", err)
	}
	s.profile.Write = nil
	cmd := exec.Command("/bin/sh")
	cmd.Stdin = os.NewFile(999, "none")
	if _, err := s.startSeatbelt(cmd, self); err == nil {
		t.Error("it was started without an input")
	}
	if left, err := os.ReadDir(os.TempDir()); len(left) > 0 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestALauncherOfMacOSFollowsNoBadOrder(t *testing.T) {
	encoded := func(o seatbeltOrder) string {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for order, want := range map[string]string{"": "EOF\n", "{}": "unexpected EOF\n", encoded(seatbeltOrder{}): "there is no program\n",
		encoded(seatbeltOrder{Argv: []string{"/nonexistent"}, Dir: "/", Files: 64}): "/nonexistent: no such file or directory\n"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0])
		cmd.Args, cmd.ExtraFiles, cmd.Env = []string{seatbeltLauncher}, []*os.File{r}, []string{launcherEnv}
		io.WriteString(w, order)
		w.Close()
		out, err := cmd.CombinedOutput()
		r.Close()
		if string(out) != want || fmt.Sprint(err) != "exit status 125" {
			t.Errorf("%s: %q, %v", order, out, err)
		}
	}
}
