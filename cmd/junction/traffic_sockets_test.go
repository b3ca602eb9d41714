package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestAFolderOfSocketsIsListedWhenItMayHaveOthers(t *testing.T) {
	dir := t.TempDir()
	add := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	changed := func(ago time.Duration) {
		if err := os.Chtimes(dir, time.Time{}, time.Now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	f := socketFolder{path: dir}
	seen := map[string]bool{}
	found := func(what string, pids []string, want ...string) {
		t.Helper()
		var names []string
		for _, path := range f.unwatched(pids, seen) {
			names = append(names, filepath.Base(path))
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: found %v, want %v", what, names, want)
		}
	}
	add("7" + trafficEnd)
	add("8" + trafficEnd)
	add("other")
	found("just made", nil, "7"+trafficEnd, "8"+trafficEnd)
	found("just made, so that another one may have come at the same time", []string{"8"}, "8"+trafficEnd)
	seen[filepath.Join(dir, "7"+trafficEnd)] = true
	changed(time.Minute)
	found("changed a minute ago", nil, "8"+trafficEnd)
	found("not changed since", nil)
	f.listed = f.listed.Add(-listPause)
	found("listed long ago", nil, "8"+trafficEnd)
	f.listed = time.Time{}
	found("to be listed", nil, "8"+trafficEnd)
	found("not changed since", nil)
	changed(time.Hour) // the clock was set
	found("changed at another time", nil, "8"+trafficEnd)
	f.path = filepath.Join(dir, "gone")
	found("gone", nil)
}
