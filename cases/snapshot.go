package cases

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// snapshotFolder is the ending of the name of the folder with a file's snapshots.
const snapshotFolder = ".snapshots"

// maxSnapshot is the largest size in bytes of a snapshot that is read.
const maxSnapshot = 32 << 20

var unsafeRunes = regexp.MustCompile(`[^\p{L}\p{N}]+`)

// maxSlug is the largest number of characters of a slug.
const maxSlug = 80

// slug converts the name of a case to a part of a file name.
func slug(name string) string {
	runes := []rune(strings.ToLower(unsafeRunes.ReplaceAllString(name, "-")))
	return strings.Trim(string(runes[:min(len(runes), maxSlug)]), "-")
}

// snapshotName returns the path of a step's snapshot, relative to the folder of the file.
func (f *File) snapshotName(c *testCase, s *step) string {
	base := filepath.Base(f.Path)
	name := slug(c.name)
	for i := range c.steps {
		if c.steps[i] == s && len(c.steps) > 1 {
			name += fmt.Sprintf(".%d", i+1)
		}
	}
	return filepath.Join(strings.TrimSuffix(base, filepath.Ext(base))+snapshotFolder, name+".yaml")
}

// snapshot compares a result with its snapshot and returns the failure, or "". With Update, it may
// write the snapshot instead. A revision has its own snapshot if its result differs from the result
// of others.
func (r *fileRun) snapshot(c *testCase, s *step, revision string, got any) (fault string) {
	root, err := os.OpenRoot(filepath.Dir(r.file.Path))
	if err != nil {
		return "snapshot: " + err.Error()
	}
	defer root.Close()
	name := r.file.snapshotName(c, s)
	own := strings.TrimSuffix(name, ".yaml") + "." + revision + ".yaml"
	if _, err := root.Stat(own); err == nil {
		name = own
	}
	want, err := readSnapshot(root, name)
	switch {
	case err == nil && equal(want, got):
		r.settle(name, revision)
		return ""
	case r.o.Update && r.settled[name] != "" && r.settled[name] != revision && name != own: // another revision uses it
		name = own
		fallthrough
	case r.o.Update && r.settled[name] == "":
		if fault := writeSnapshot(root, name, got); fault != "" {
			return fault
		}
		r.settle(name, revision)
		r.report.Wrote = append(r.report.Wrote, filepath.Join(filepath.Dir(r.file.Path), name))
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("snapshot: there is no %s; --update writes it", name)
	case err != nil:
		return fmt.Sprintf("snapshot: %s: %v; --update writes it again", name, err)
	}
	return fmt.Sprintf("snapshot %s: %s", name, difference(got, want))
}

// settle records that a snapshot was equal or was written. If a later result at the same revision
// differs, that is a failure even with Update.
func (r *fileRun) settle(name, revision string) {
	if r.o.Update && r.settled[name] == "" { // without Update settled is not used, and runs may be concurrent
		r.settled[name] = revision
	}
}

func writeSnapshot(root *os.Root, name string, v any) (fault string) {
	err := root.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = root.WriteFile(name, []byte(toYAML(v)), 0o644)
	}
	if err != nil {
		return "snapshot: " + err.Error()
	}
	return ""
}

func readSnapshot(root *os.Root, name string) (any, error) {
	in, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxSnapshot+1))
	if err == nil && len(text) > maxSnapshot {
		err = fmt.Errorf("it is larger than %d MiB", maxSnapshot>>20)
	}
	if err != nil {
		return nil, err
	}
	p := &parser{}
	n, err := p.document(text)
	if err != nil {
		return nil, err
	}
	return p.value(n)
}
