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

// MaxOnDisk is the largest size in bytes of a file whose content an approval card compares.
const MaxOnDisk = 1 << 20

// Folders returns the folders whose files a card may show: the folders of --root, the current
// folder, and folders in the command lines of servers.
func (t *Setup) Folders() []string {
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
	return slices.DeleteFunc(folders, func(folder string) bool { // never allow the whole disk
		whole, err := t.App.Abs(folder)
		return err != nil || filepath.Dir(whole) == whole
	})
}

// FileReader returns a function that reads text files below the folders. It does not follow links
// that lead out of them. FileReader returns nil if there are no folders.
func FileReader(p place.Place, folders []string) func(path string) (text string, ok bool) {
	if len(folders) == 0 {
		return nil
	}
	return func(path string) (string, bool) {
		if filepath.Clean(path) != path { // a/../b can differ from b if a is a link
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
			for _, dir := range []string{given, real} { // servers use both forms
				if within, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(within) {
					return textBelow(dir, within)
				}
			}
		}
		return "", false
	}
}

// textBelow returns the text of a regular file in a folder. ok is false if the file is not UTF-8 or
// is longer than [MaxOnDisk].
func textBelow(folder, name string) (text string, ok bool) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", false
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > MaxOnDisk {
		return "", false
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK, because a pipe without a writer may have replaced the file
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
