package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func TestMain(m *testing.M) {
	Main()
	if mark := os.Getenv(asParent); mark != "" {
		playParent(mark)
		return
	}
	if len(os.Args) == 1 && os.Args[0] == seatbeltLauncher {
		fmt.Fprintln(os.Stderr, launchSeatbelt())
		os.Exit(125)
	}
	if path := os.Getenv(asSandboxExec); path != "" {
		playSandboxExec(path)
		return
	}
	if os.Getenv(hostile) != "" {
		play()
		return
	}
	os.Exit(m.Run())
}

// run runs a command confined, and returns what it wrote, how it ended, and what it was refused.
//
//lint:ignore ST1008 what is looked at first comes first
func run(t *testing.T, p Profile, o Options, name string, args ...string) (output string, status error, refused []string) {
	t.Helper()
	var mu sync.Mutex
	o.Refused = func(r Refusal) {
		mu.Lock()
		defer mu.Unlock()
		refused = append(refused, r.String())
	}
	s, err := New(p, o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	ended, err := s.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	status = cmd.Wait()
	ended()
	mu.Lock()
	defer mu.Unlock()
	return out.String(), status, refused
}

func TestProfilesBoundVisibleFiles(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"secret", "read/a", "write/a"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, status, _ := run(t, Profile{Read: []string{"~/read"}, Write: []string{filepath.Join(home, "write")}}, Options{}, "sh", "-c",
		`cd ~; ls; cat read/a write/a; echo b >read/b || echo no; echo b >write/b; echo c >c; ls`)
	want := "read\nwrite\nread/a\nwrite/a\nno\nc\nread\nwrite\n"
	got = strings.Replace(got, "sh: 1: cannot create read/b: Read-only file system\n", "", 1)
	if got != want || status != nil {
		t.Errorf("%v, got\n%swant\n%s", status, got, want)
	}
	if b, err := os.ReadFile(filepath.Join(home, "write/b")); string(b) != "b\n" {
		t.Errorf("write/b: %q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(home, "c")); err == nil {
		t.Error("c is outside, too")
	}
}

func TestExitCodesAreKept(t *testing.T) {
	for script, want := range map[string]string{"exit 3": "exit status 3", "kill -9 $$": "exit status 137", "true": "<nil>", "(sleep 1000 &) ; exit 4": "exit status 4"} {
		_, status, _ := run(t, Profile{}, Options{}, "sh", "-c", script)
		if got := "<nil>"; status != nil {
			got = status.Error()
			if got != want {
				t.Errorf("%s: %s, want %s", script, got, want)
			}
		} else if want != got {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
}

func TestInvalidUTF8ReachesTheProgram(t *testing.T) {
	dir := t.TempDir()
	odd := filepath.Join(dir, "a\xffb")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Skip("skip: names of files are UTF-8 here: ", err)
	}
	if err := os.WriteFile(odd+"/x", []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ODD", "c\xfed")
	output, status, _ := run(t, Profile{Read: []string{odd}}, Options{}, "sh", "-c", `printf '%s %s ' "$1" "$ODD"; cat "$2"/x`, "sh", "e\xfdf", odd)
	if want := "e\xfdf c\xfed hello"; output != want || status != nil {
		t.Errorf("got %q, %v, want %q", output, status, want)
	}
}

func TestAnOrderOfAnySizeIsUnderstood(t *testing.T) {
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	from, err := newChannel(ours)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := newChannel(theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	for size := chunk - 600; size < chunk+100; size++ { // with the rest of the order, the last packet gets every size
		want := order{Path: "/x", Argv: []string{strings.Repeat("\n", size)}}
		sent := make(chan error, 1)
		go func() { sent <- from.sendOrder(want) }()
		got, err := to.receiveOrder()
		if err = errors.Join(err, <-sent); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
}
