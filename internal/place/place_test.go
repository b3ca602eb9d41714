package place

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

func TestAPlaceHasItsOwnVariablesAndFolder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	p := Place{Vars: []string{"HOME=/first", "HOME=" + home, "USERPROFILE=" + home, "EMPTY="}, Dir: filepath.Join(home, "lab")}
	state, err := p.State("x.db")
	if err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	for name, got := range map[string]string{
		home:                                   p.Getenv("HOME"),
		filepath.Join(home, "lab", "a"):        p.Path("a"),
		filepath.Join(home, "b"):               p.Absolute("../b"),
		"~" + string(filepath.Separator) + "c": p.Short(filepath.Join(home, "c")),
		"~/lab/d":                              p.Tilde("d"),
		"":                                     p.Path(""),
	} {
		if got != name {
			t.Errorf("got %q, want %q", got, name)
		}
	}
	if value, set := p.LookupEnv("EMPTY"); value != "" || !set {
		t.Errorf("EMPTY is %q, %v", value, set)
	}
	if _, set := p.LookupEnv("PATH"); set {
		t.Error("a variable of the process is one of the place")
	}
	if rest, err := filepath.Rel(home, state); runtime.GOOS != "windows" && (err != nil || !filepath.IsLocal(rest)) {
		t.Errorf("the state is in %s", state)
	}
}

func TestAProgramIsFoundInThePathOfItsPlace(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skip: programs have other names there")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, name, found string
		err               error
	}{
		{dir, "tool", filepath.Join(dir, "tool"), nil},
		{"/nowhere", "tool", "", exec.ErrNotFound},
		{".", "tool", filepath.Join(dir, "tool"), exec.ErrDot},
		{"/nowhere", "./tool", filepath.Join(dir, "tool"), nil},
	} {
		found, err := Place{Vars: []string{"PATH=" + test.path}, Dir: dir}.LookPath(test.name)
		if filepath.Clean(found) != filepath.Clean(test.found) || !errors.Is(err, test.err) {
			t.Errorf("%s in %s: %q, %v", test.name, test.path, found, err)
		}
	}
}
