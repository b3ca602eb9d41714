package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/hostconfig"
)

// behindLink moves a file, and puts a link in its place.
func behindLink(t *testing.T, path string) (target string) {
	t.Helper()
	target = filepath.Join(filepath.Dir(path), "dotfiles.json")
	if err := os.Rename(path, target); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Skip(err)
	}
	return target
}

// A host that saves by renaming puts a file, with the tap in it, where the link was.
func TestATapPutsBackAFileThatTheHostPutInThePlaceOfALink(t *testing.T) {
	path, before := tapHome(t)
	target := behindLink(t, path)
	_, stderr, stop := tapping(t, "cursor")
	writeTap(t, path+".tmp", readTap(t, path))
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
	if code := stop(); code != cli.ExitOK || !strings.Contains(stderr.String(), "dotfiles.json is as it was.\nIts link was replaced or changed, and is restored, too.\n") || !strings.Contains(stderr.String(), "mcp.json is as it was.\n") {
		t.Errorf("it ends with %d: %s", code, stderr)
	}
	if readTap(t, target) != before || readTap(t, path) != before {
		t.Errorf("behind the link: %s\nin its place: %s", readTap(t, target), readTap(t, path))
	}
}

func TestATapSaysThatItsRecordIsGone(t *testing.T) {
	path, _ := tapHome(t)
	_, stderr, stop := tapping(t, "cursor")
	folder, err := clitest.PlaceOf(t).State("taps")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Skip(err) // Windows: the lock is open
	}
	if code := stop(); code == cli.ExitOK || !strings.Contains(stderr.String(), filepath.Base(path)+": the record of the tap is missing; check its servers, which may still be changed") {
		t.Errorf("it ends with %d: %s", code, stderr)
	}
}

func TestAFileThatIsNamedTwiceIsTappedOnce(t *testing.T) {
	path, before := tapHome(t)
	target := behindLink(t, path)
	runs(t, "", "tap", "cursor", "--keep", "--config", path, "--config", target).expect(t, cli.ExitOK, "", "Tapped in ~/.cursor/mcp.json: calc\n")
	runs(t, "", "tap", "--list").expect(t, cli.ExitOK, "tapped until --undo: calc", "")
	runs(t, "", "tap", "--undo").expect(t, cli.ExitOK, "", "dotfiles.json is as it was.\n")
	if readTap(t, path) != before {
		t.Errorf("the file is %s", readTap(t, path))
	}
}

func TestAFileThatCannotBeTakenBackHindersNoOtherOne(t *testing.T) {
	path, before := tapHome(t)
	other := filepath.Join(t.TempDir(), "other.json")
	writeTap(t, other, `{"mcpServers":{"a":{"command":"x"}}}`)
	folder, err := clitest.PlaceOf(t).State("taps")
	if err != nil {
		t.Fatal(err)
	}
	h, _, _ := hostconfig.LookupHost("windsurf")
	d, err := hostconfig.Read(h, other)
	if err != nil {
		t.Fatal(err)
	}
	after, changes, err := d.Replace(map[*hostconfig.Entry]hostconfig.Program{d.Entries[0]: {Command: "J"}})
	if err != nil {
		t.Fatal(err)
	}
	_, release, err := hostconfig.Journal{Folder: folder}.Apply(d, after, hostconfig.Record{Host: h.ID, Changes: changes})
	if err != nil {
		t.Fatal(err)
	}
	release() // as its end does
	writeTap(t, other, "{ half a file")
	runs(t, "", "tap", "cursor", "--keep").expect(t, cli.ExitOK, "", "other.json could not be restored: ")
	if readTap(t, path) == before {
		t.Error("nothing is tapped")
	}
	got := runs(t, "", "tap", "--undo")
	got.expect(t, cli.ExitConnection, "", "mcp.json is as it was.\n")
	if n := strings.Count(got.stderr, "other.json could not be restored: "); n != 1 {
		t.Errorf("it says so %d times: %s", n, got.stderr)
	}
	if now := readTap(t, path); now != before {
		t.Errorf("the file is %s", now)
	}
	writeTap(t, other, string(after))
	runs(t, "", "tap", "--undo").expect(t, cli.ExitOK, "", "other.json is as it was.\n")
}
