package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A profile may contain /etc, in which Junction makes files for the program.
func TestMissingFilesAreCreatedOnlyInFoldersOfTheProgram(t *testing.T) {
	root := machine(t)
	for _, name := range []string{"one/hosts", "two/hosts"} {
		if err := os.WriteFile(filepath.Join(root, "data", name), []byte("of the machine\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("one/hosts", root+"/data/link"); err != nil {
		t.Fatal(err)
	}
	s, err := New(Profile{Read: []string{root + "/data"}, Write: []string{root + "/data/one"}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command("sh", "-c", "cd "+root+"/data; cat one/hosts two/hosts link; ls one two /made; echo more >>one/x; echo no >>two/x; echo no >>one/hosts")
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &out, &out
	o, err := s.orderFor(cmd)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one/hosts", "two/hosts", "link", "one/missing", "two/missing"} {
		o.Places = append(o.Places, place{Path: root + "/data/" + name, Kind: file, Text: "made\n"})
	}
	ended, err := s.launch(cmd, o, s.namespaces())
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	ended()
	if got := out.String(); !strings.HasPrefix(got, "made\nmade\nmade\n") || !strings.Contains(got, "one:\nhosts\nx\n\ntwo:\nhosts\nx\n") || !strings.Contains(got, "'/made'") || strings.Count(got, "cannot create") != 2 {
		t.Errorf("it sees %q", got)
	}
	for name, want := range map[string]string{"one/hosts": "of the machine\n", "two/hosts": "of the machine\n", "one/x": "more\n", "two/x": ""} {
		if text, err := os.ReadFile(filepath.Join(root, "data", name)); string(text) != want {
			t.Errorf("%s is %q, %v", name, text, err)
		}
	}
	if target, err := os.Readlink(root + "/data/link"); target != "one/hosts" || exists(root+"/data/one/missing") {
		t.Errorf("the link leads to %q, %v", target, err)
	}
}

func TestNotAllOfTheMachineIsShown(t *testing.T) {
	machine(t)
	if _, err := New(Profile{Read: []string{"/"}}, Options{}); err == nil {
		t.Error("it is in a profile")
	}
	all := filepath.Join(t.TempDir(), "all")
	if err := os.Symlink("/", all); err != nil {
		t.Fatal(err)
	}
	s, err := New(Profile{Read: []string{all}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("true")
	if _, err := s.Start(cmd); err == nil || !strings.Contains(err.Error(), "/: all files of the machine cannot be shown; name folders in it") {
		t.Error(err)
	}
}

func TestSettingsOfTheSystemAreReadBelowThoseOfTheProgram(t *testing.T) {
	machine(t)
	if got, status, _ := run(t, Profile{Read: []string{"/etc"}}, Options{}, "sh", "-c", "cat /etc/hosts /etc/resolv.conf; test -d /etc/ssl -o -d /etc/apt -o -d /etc/init.d && echo more"); got != hostsFile+"nameserver 127.0.0.1\noptions timeout:10 attempts:1\nmore\n" || status != nil {
		t.Errorf("it reads %q, %v", got, status)
	}
}

// TestHiddenPlaceThatIsGoneIsLeftOut checks that nothing is made for a hidden place whose folder
// was removed meanwhile.
func TestHiddenPlaceThatIsGoneIsLeftOut(t *testing.T) {
	tree, err := unix.Open("/dev/null", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := (place{Path: "/gone/with/its/folder", Kind: hidden}).put(tree); err != nil {
		t.Error(err)
	}
}
