package hostconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// savedByRenaming replaces a link by a file, as VS Code, Cursor and Claude Code do when they save.
func savedByRenaming(t *testing.T, link, data string) {
	t.Helper()
	write(t, link+".tmp", data)
	if err := os.Rename(link+".tmp", link); err != nil {
		t.Fatal(err)
	}
}

// linked is a file and a link to it.
func linked(t *testing.T) (target, link string) {
	t.Helper()
	target = write(t, filepath.Join(t.TempDir(), "dotfiles", "mcp.json"), cursorFile)
	link = filepath.Join(t.TempDir(), "mcp.json")
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	return target, link
}

func TestAFileThatTheHostPutInThePlaceOfALinkIsPutBackToo(t *testing.T) {
	target, link := linked(t)
	j, release := applied(t, link, Record{})
	savedByRenaming(t, link, content(t, link))
	release()
	if _, err := apply(j, link, Record{}); !errors.Is(err, ErrInUse) {
		t.Errorf("it is tapped a second time: %v", err)
	}
	done := restoreOne(t, j)
	if !done.Whole || done.Also == nil || !done.Also.Whole || filepath.Base(done.Also.Path) != "mcp.json" {
		t.Errorf("%+v", done)
	}
	if content(t, target) != cursorFile || content(t, link) != cursorFile {
		t.Errorf("behind the link: %s\nin its place: %s", content(t, target), content(t, link))
	}
	if records, err := j.Records(); err != nil || len(records) != 0 {
		t.Errorf("%v, %v", records, err)
	}
}

func TestAKeptChangeBehindALinkIsNotTakenBackUnaskedInItsPlace(t *testing.T) {
	target, link := linked(t)
	j, _ := applied(t, link, Record{Kept: true})
	changed := content(t, link)
	savedByRenaming(t, link, changed)
	write(t, target, cursorFile) // by hand
	if done, err := j.Recover(); err != nil || len(done) != 0 || content(t, link) != changed {
		t.Errorf("%v, %v: %s", done, err, content(t, link))
	}
}

// A host that deletes its file and writes it again, or a drive that is not mounted, must not cost the original.
func TestTheOriginalOfAFileThatIsAwayIsKept(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "project", "mcp.json"), cursorFile)
	j, release := applied(t, path, Record{})
	release()
	folder := filepath.Dir(path)
	if err := os.Rename(folder, folder+".away"); err != nil {
		t.Fatal(err)
	}
	if done, err := j.Recover(); err == nil || len(done) != 0 || !strings.Contains(err.Error(), "its folder cannot be found: ") || !strings.Contains(err.Error(), "if it is gone for good, remove "+j.Folder) {
		t.Errorf("%v, %v", done, err)
	}
	if err := os.Rename(folder+".away", folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	if done := restoreOne(t, j); !done.Gone || content(t, done.Original) != cursorFile {
		t.Errorf("%+v", done)
	}
	if records, err := j.Records(); err != nil || len(records) != 0 {
		t.Errorf("%v, %v", records, err)
	}
}

func TestTheCopyOfAnOriginalIsNotReplacedByALaterOne(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "mcp.json"), cursorFile)
	j := Journal{Folder: filepath.Join(t.TempDir(), "taps")}
	var originals []string
	for _, word := range []string{`"one"`, `"two"`} {
		release, err := apply(j, path, Record{})
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, strings.Replace(content(t, path), `"proxy"`, word, 1))
		release()
		originals = append(originals, restoreOne(t, j).Original)
	}
	if originals[0] == originals[1] || content(t, originals[0]) != cursorFile || content(t, originals[1]) == cursorFile {
		t.Errorf("%q: %s, %s", originals, content(t, originals[0]), content(t, originals[1]))
	}
}

// Of two that begin after a third was killed, the one that is later has read a record that does not count any more.
func TestARecordThatWasReadBeforeTheNextChangeTakesNothingBack(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "mcp.json"), cursorFile)
	j, release := applied(t, path, Record{})
	release()
	stale, err := j.Records()
	if err != nil || len(stale) != 1 || stale[0].Alive {
		t.Fatal(stale, err)
	}
	if _, err := j.Recover(); err != nil {
		t.Fatal(err)
	}
	if done, err := j.Restore(stale[0]); err != nil || !done.Whole {
		t.Errorf("what is done already does harm: %v, %v", done, err)
	}
	hold, err := apply(j, path, Record{})
	if err != nil {
		t.Fatal(err)
	}
	defer hold()
	changed := content(t, path)
	living, err := j.Records()
	if err != nil || len(living) != 1 || !living[0].Alive {
		t.Fatal(living, err)
	}
	for name, r := range map[string]*Record{"an earlier change": stale[0], "a change whose owner lives": living[0]} {
		if done, err := j.Restore(r); !errors.Is(err, ErrInUse) || done != nil || content(t, path) != changed {
			t.Errorf("%s: %v, %v: %s", name, done, err, content(t, path))
		}
	}
	if records, err := j.Records(); err != nil || len(records) != 1 {
		t.Errorf("%v, %v", records, err)
	}
}

func TestAFileWithTwoNamesIsFoundOnce(t *testing.T) {
	home, link := t.TempDir(), filepath.Join(t.TempDir(), "home")
	if err := os.Symlink(home, link); err != nil {
		t.Skip(err)
	}
	path := write(t, filepath.Join(home, ".cursor", "mcp.json"), cursorFile)
	h, _, _ := LookupHost("cursor")
	found := Find(h, Options{Getenv: func(string) string { return "" }, WorkDir: home, HomeDir: link})
	if len(found) != 1 || found[0] != path {
		t.Errorf("found %q", found)
	}
}
