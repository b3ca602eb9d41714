package sandbox

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A folder of a profile in /tmp may be missing, and any user can make a link in its place. The
// kernel does not follow that (fs.protected_symlinks).
func TestALinkOfAnotherUserInAFolderOfAllLeadsNowhere(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root makes links of others")
	}
	home := homeWithSecret(t)
	all := filepath.Join(t.TempDir(), "all")
	if err := os.Mkdir(all, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(all, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	for name, owner := range map[string]int{"mine": 0, "theirs": 65534} {
		link := filepath.Join(all, name)
		if err := os.Symlink(home+"/.ssh", link); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(link, owner, owner); err != nil {
			t.Fatal(err)
		}
		for _, p := range []Profile{{Read: []string{link}}, {Write: []string{link}}, {Write: []string{link + "/new"}}} {
			s, err := New(p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd := exec.Command("sh", "-c", "cat "+link+"/s "+home+"/.ssh/s; touch "+link+"/new/x")
			cmd.Stdout = &out
			ended, err := s.Start(cmd)
			if isRefused := owner != 0 && p.Write != nil; isRefused || err != nil {
				if !isRefused || !errors.Is(err, errPlanted) {
					t.Errorf("%s, %+v: %v", name, p, err)
				}
				continue
			}
			cmd.Wait()
			ended()
			if is := strings.Contains(out.String(), "secret"); is != (owner == 0 && (p.Write == nil || p.Write[0] == link)) {
				t.Errorf("%s, %+v: it sees %q", name, p, out.String())
			}
		}
		if owner != 0 && exists(home+"/.ssh/new") {
			t.Error("a folder was made where another user's link leads")
		}
		os.RemoveAll(home + "/.ssh/new")
	}
}
