package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/process/processtest"
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

// outputOf runs a command confined by the zero profile, with a folder from its entry and variables
// of its own.
func outputOf(t *testing.T, dir string, env []string, words ...string) (string, error) {
	t.Helper()
	s, err := New(Profile{}, Options{Folder: true})
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

func TestLearningReachesNoOtherProgram(t *testing.T) {
	home := homeWithSecret(t)
	elsewhere, err := os.MkdirTemp("/var/lib", "junction-test-")
	if err != nil {
		t.Skip(err) // only root may do that
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
	processtest.WriteProgram(t, program, []byte("#!/bin/sh\ncat \"$@\"\nls -A /run /var/run/\n"), 0o700)
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

func TestAFirstLineNamesAProgramOrNothing(t *testing.T) {
	dir := t.TempDir()
	program, file := filepath.Join(dir, "sh"), filepath.Join(dir, "file")
	for path, mode := range map[string]os.FileMode{program: 0o700, file: 0o600} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"/usr/bin/env sh":                    program,
		"/usr/bin/env " + program:            program,
		program + " -e":                      program,
		"/usr/bin/env -S -u " + file + " sh": "",
		"/usr/bin/env -S sh":                 "",
		"/usr/bin/env -u " + program + " sh": "",
		"/usr/bin/env A=" + program + " sh":  "",
		"/usr/bin/env sh " + program:         "",
		"/usr/bin/env " + file:               "",
		"/usr/bin/env ../sh":                 "",
		"/usr/bin/env none":                  "",
		"/usr/bin/env":                       "",
		file:                                 "",
		dir:                                  "",
		filepath.Join(dir, "none"):           "",
		"sh":                                 "",
		"":                                   "",
	} {
		script := filepath.Join(t.TempDir(), "script")
		if err := os.WriteFile(script, []byte("#!"+line+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := interpreterOf(script, dir); got != want {
			t.Errorf("#!%s: got %q, want %q", line, got, want)
		}
	}
}

func TestNoFolderOfSecretsIsWhereAProgramStarts(t *testing.T) {
	home := homeWithSecret(t)
	links := t.TempDir()
	for name, target := range map[string]string{"home": home, "ssh": filepath.Join(home, ".ssh")} {
		if err := os.Symlink(target, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(home, ".config/gh"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".config/gh/s"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := "cat " + home + "/s " + home + "/.ssh/s " + home + "/.config/gh/s"
	for dir, refused := range map[string]bool{home: false, home + "/.ssh/..": false, home + "/.config": false, links + "/home": false, home + "/.ssh": true, links + "/ssh": true, home + "/.config/gh": true} {
		got, err := outputOf(t, dir, nil, "/bin/sh", "-c", script)
		if strings.Contains(got, "secret") || (err != nil) != refused {
			t.Errorf("in %s: read %q, %v", dir, got, err)
		}
	}
}
