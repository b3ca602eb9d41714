package install

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// staleTime is how long a temporary folder of a process that was killed may lie, where no later installation came upon it.
const staleTime = 24 * time.Hour

// Prune removes packages that are not among keep and were not opened for the time unused, and returns how many bytes that freed. Several files
// lock packages of one store, and who prunes need not know all of them: hence the time.
func (s *Store) Prune(ctx context.Context, keep []*Locked, unused time.Duration) (freed int64, err error) {
	kept := map[string]bool{}
	for _, l := range keep {
		kept[s.folder(l)] = true
	}
	folders, err := filepath.Glob(filepath.Join(escapeGlob(s.dir), "*", "*", "*-*"))
	if err != nil {
		return 0, err
	}
	before := time.Now().Add(-unused)
	for _, dir := range folders {
		if rel, err := filepath.Rel(s.dir, dir); err != nil || s.kinds[strings.Split(rel, string(filepath.Separator))[0]] == nil || kept[dir] {
			continue
		}
		n, err := s.remove(ctx, dir, before)
		freed += n
		if err != nil {
			return freed, err
		}
	}
	for _, sub := range []string{tempDir, blobsDir} {
		entries, err := os.ReadDir(filepath.Join(s.dir, sub))
		if err != nil {
			return freed, err
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleTime {
				path := filepath.Join(s.dir, sub, e.Name())
				n := size(path)
				if os.RemoveAll(path) == nil {
					freed += n
				}
			}
		}
	}
	return freed, nil
}

// remove removes one package that was last opened before a time.
func (s *Store) remove(ctx context.Context, dir string, before time.Time) (freed int64, err error) {
	key := dir[strings.LastIndexByte(dir, '-')+1:]
	if !strings.Contains(lockSlots, key[:min(1, len(key))]) || key == "" {
		return 0, nil // nothing of ours
	}
	unlock, err := s.lock(ctx, key)
	if err != nil {
		return 0, err
	}
	defer unlock()
	if info, err := os.Stat(filepath.Join(dir, markFile)); err == nil && info.ModTime().After(before) {
		return 0, nil
	}
	freed = size(dir)
	if err := s.discard(dir, key); err != nil {
		return 0, err
	}
	_ = os.Remove(filepath.Dir(dir)) // where that was the last version
	return freed, nil
}

// discard removes a folder of a package, under the lock of its key: first from its place as a whole, so that nobody finds half of it.
func (s *Store) discard(dir, key string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	old, err := s.temporary(key)
	if err != nil {
		return err
	}
	defer os.RemoveAll(old)
	return os.Rename(dir, filepath.Join(old, "old"))
}

// sweep removes what killed processes left in the temporary folder, under the lock whose holder alone makes folders with these keys.
func (s *Store) sweep(slot string) {
	left, _ := filepath.Glob(filepath.Join(escapeGlob(s.dir), tempDir, slot+strings.Repeat("[0-9a-f]", 31)+"-*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir) // what is still written there is swept next time
	}
}

// escapeGlob makes a path match itself only.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' {
		return path // patterns have no escapes there, and names of folders rarely a bracket
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// size is the sum of the files below a path, as far as they can be seen.
func size(path string) (sum int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
