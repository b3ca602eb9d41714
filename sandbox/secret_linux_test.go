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
