package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// homeWithSecret makes a home folder that has a file s and one in .ssh.
func homeWithSecret(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	if err := os.MkdirAll(filepath.Join(home, ".ssh"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s", ".ssh/s"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// outputOf runs a command confined by the zero profile, with a folder and variables of its own.
func outputOf(t *testing.T, dir string, env []string, words ...string) (string, error) {
	t.Helper()
	s, err := New(Profile{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = &out, &out, dir, env
	ended, err := s.Start(cmd)
	if err != nil {
		return "", err
	}
	cmd.Wait()
	ended()
	return out.String(), nil
}

func TestAVariableOfAProgramShowsItNoFolder(t *testing.T) {
	home := homeWithSecret(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range certificates {
		t.Setenv(name, "")
		for _, value := range []string{home, link, filepath.Join(home, "s"), filepath.Join(home, ".ssh"), filepath.Dir(home)} {
			got, err := outputOf(t, "", []string{"PATH=/usr/bin:/bin", name + "=" + value}, "/bin/sh", "-c", "cat "+home+"/s "+home+"/.ssh/s")
			if err != nil || strings.Contains(got, "secret") {
				t.Errorf("%s=%s: read %q, %v", name, value, got, err)
			}
		}
	}
}

func TestAVariableOfJunctionShowsCertificatesOnly(t *testing.T) {
	home := homeWithSecret(t)
	certs := filepath.Join(t.TempDir(), "certs")
	if err := os.Mkdir(certs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(certs, "c"), []byte("certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{certs: true, home: false, filepath.Join(home, ".ssh"): false, filepath.Dir(home): false} {
		t.Setenv("SSL_CERT_DIR", value)
		got, err := outputOf(t, "", []string{"PATH=/usr/bin:/bin", "SSL_CERT_DIR=" + value}, "/bin/sh", "-c", "cat "+home+"/s "+home+"/.ssh/s "+certs+"/c")
		if err != nil || strings.Contains(got, "secret") || want != strings.Contains(got, "certificate") {
			t.Errorf("SSL_CERT_DIR=%s: read %q, %v", value, got, err)
		}
	}
}

func TestWhoIsLearnedFromReachesNoOtherProgramAndNotJunction(t *testing.T) {
	home := homeWithSecret(t)
	elsewhere, err := os.MkdirTemp("/var/lib", "junction-test-")
	if err != nil {
		t.Skip(err) // only root may
	}
	defer os.RemoveAll(elsewhere)
	t.Setenv("XDG_CONFIG_HOME", elsewhere+"/config")
	t.Setenv("XDG_CACHE_HOME", elsewhere+"/cache")
	t.Setenv("JUNCTION_STATE", elsewhere+"/state")
	socket := filepath.Join(elsewhere, "agent")
	t.Setenv("SSH_AUTH_SOCK", socket)
	other, err := os.MkdirTemp("/tmp", "other")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(other)
	files := []string{"/run/junction-test-secret", other + "/secret", socket, elsewhere + "/config/junction/secret", elsewhere + "/cache/junction/secret", elsewhere + "/state/secret"}
	for _, path := range append([]string{elsewhere + "/open", elsewhere + "/cache/junction/pkg/bin/own"}, files...) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
			t.Skip(err)
		}
		defer os.Remove(path)
	}
	program := elsewhere + "/cache/junction/pkg/bin/own"
	os.Remove(program)
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncat \"$@\"\nls -A /run /var/run/\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := New(Profile{}, Options{Record: new(Record)})
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{append([]string{program}, files...), {program, elsewhere + "/open"}, {program, home + "/s"}} {
		var out bytes.Buffer
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Stdout = &out
		ended, err := s.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		ended()
		if got, want := strings.Contains(out.String(), "secret"), len(words) == 2; got != want || strings.Contains(out.String(), "sock") {
			t.Errorf("%q reads %q", words, out.String())
		}
	}
}
