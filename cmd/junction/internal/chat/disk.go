package chat

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/place"
)

// MaxOnDisk is how many bytes a file may have that an approval card compares with.
const MaxOnDisk = 1 << 20

// Folders are those whose files a card may show to the person: that --root gave to this chat, in which
// it runs, and that the command lines of its servers name.
func (t *ChatSetup) Folders() []string {
	folders := slices.Clone(t.App.Desk.Roots)
	if here, err := t.App.Getwd(); err == nil {
		folders = append(folders, here)
	}
	for _, s := range t.Options.Servers {
		for _, word := range s.Origin {
			if info, err := os.Stat(t.App.Path(word)); err == nil && info.IsDir() {
				folders = append(folders, word)
			}
		}
	}
	return slices.DeleteFunc(folders, func(folder string) bool { // all of the disk is no folder to speak of
		whole, err := t.App.Abs(folder)
		return err != nil || filepath.Dir(whole) == whole
	})
}

// OnDisk reads files below these folders, and no others: no path and no
// link leads out of them. It is nil where there are none.
func OnDisk(p place.Place, folders []string) func(path string) (text string, ok bool) {
	if len(folders) == 0 {
		return nil
	}
	return func(path string) (string, bool) {
		if filepath.Clean(path) != path { // behind a link, a/../b is not b
			return "", false
		}
		for _, folder := range folders {
			given, err := p.Abs(folder)
			if err != nil {
				continue
			}
			real, err := filepath.EvalSymlinks(given)
			if err != nil {
				continue
			}
			for _, dir := range []string{given, real} { // servers say either
				if within, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(within) {
					return textBelow(dir, within)
				}
			}
		}
		return "", false
	}
}

// textBelow is a regular file of the folder, if it is a text and not large.
func textBelow(folder, name string) (text string, ok bool) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", false
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > MaxOnDisk {
		return "", false
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be another one by now, which nobody writes to
	if err != nil {
		return "", false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	all, err := io.ReadAll(io.LimitReader(f, MaxOnDisk+1))
	return string(all), err == nil && len(all) <= MaxOnDisk && utf8.Valid(all)
}
