package sandbox

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

func TestMountingFoldersAreNotSearched(t *testing.T) {
	root := machine(t)
	folders := automountsIn(strings.NewReader(`22 1 252:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
35 22 0:31 / /proc/sys/fs/binfmt_misc rw,relatime shared:14 - autofs systemd-1 rw,fd=29
48 22 0:44 / ` + root + `/data rw,relatime shared:27 - autofs -hosts rw,fd=7
49 22 0:45 / /my\040net rw master:1 - autofs auto.net rw
50 22 0:46 / /home rw - nfs4 autofs:/home rw
`))
	if want := []string{"/proc/sys/fs/binfmt_misc", root + "/data", "/my net"}; !slices.Equal(folders, want) {
		t.Fatalf("got %q, want %q", folders, want)
	}
	var refused []string
	r := &refusing{root: -1, isBare: true, remote: folders, refuse: func(r Refusal) { refused = append(refused, r.What) }, home: root + "/data/two", folders: map[string]int{}, named: map[string]bool{}}
	for _, path := range []string{root + "/data/one/x", root + "/data/two/x", root + "/project/a.go"} {
		if a := (watch.Access{Kind: watch.Read, Path: path}); !r.skip(a) {
			r.see(a)
		}
		r.mentioned(path, true)
	}
	if want := []string{"read " + root + "/data/two/x", "read " + root + "/project/a.go"}; !slices.Equal(refused, want) {
		t.Errorf("refused are %q, want %q", refused, want)
	}
}

// A program that may write a folder can make a link in it.
func TestLinksAreNotFollowedIntoAutomounts(t *testing.T) {
	root := machine(t)
	for path, target := range map[string]string{"/project/away": root + "/data", "/project/twice": "away/one", "/project/here": "../shared"} {
		if err := os.Symlink(target, root+path); err != nil {
			t.Fatal(err)
		}
	}
	var refused []string
	r := &refusing{root: -1, isBare: true, remote: []string{root + "/data"}, refuse: func(r Refusal) { refused = append(refused, r.What) }, home: root + "/home", folders: map[string]int{}, named: map[string]bool{}}
	for _, path := range []string{"/project/away/one/x", "/project/twice/x", "/project/here/there.jsonl"} {
		for _, kind := range []watch.Kind{watch.Read, watch.Write, watch.Change} {
			if a := (watch.Access{Kind: kind, Path: root + path}); !r.skip(a) {
				r.see(a)
			}
		}
		r.mentioned(root+path, true)
	}
	if want := []string{"read " + root + "/project/here/there.jsonl", "write " + root + "/project/here/there.jsonl"}; !slices.Equal(refused, want) {
		t.Errorf("refused are %q, want %q", refused, want)
	}
}
