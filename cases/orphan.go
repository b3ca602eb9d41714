package cases

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/revision"
)

// removeOrphans removes the snapshots of cases and steps that no longer exist, after a run with
// Update that ran all cases. It keeps all other files in the folder. It removes nothing if another
// file of cases uses the same folder, or if the folder is a link.
func (r *fileRun) removeOrphans() error {
	dir, base := filepath.Split(r.file.Path)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	root, err := os.OpenRoot(filepath.Dir(r.file.Path))
	if err != nil {
		return err
	}
	defer root.Close()
	same := 0
	for _, end := range []string{".yaml", ".yml", ".txtar"} {
		if _, err := root.Lstat(base + end); err == nil {
			same++
		}
	}
	if same != 1 {
		return nil
	}
	folder, err := root.Lstat(base + snapshotFolder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !folder.IsDir() { // the target of a link may belong to others
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(root.FS(), base+snapshotFolder)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, c := range r.file.cases {
		for _, s := range c.steps {
			if s.expect.snapshot {
				wanted[strings.TrimSuffix(filepath.Base(r.file.snapshotName(c, s)), ".yaml")] = true
			}
		}
	}
	revisions := append(revision.Modern(), revision.Legacy()...)
	for _, e := range entries {
		name, isYAML := strings.CutSuffix(e.Name(), ".yaml")
		if !isYAML || !e.Type().IsRegular() {
			continue
		}
		if i := strings.LastIndexByte(name, '.'); i >= 0 && slices.Contains(revisions, name[i+1:]) {
			name = name[:i]
		}
		if wanted[name] {
			continue
		}
		path := filepath.Join(base+snapshotFolder, e.Name())
		if err := root.Remove(path); err != nil {
			return err
		}
		r.report.Removed = append(r.report.Removed, filepath.Join(dir, path))
	}
	return nil
}
