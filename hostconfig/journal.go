package hostconfig

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
)

// lockTime is the longest wait for another process that changes or restores a file.
const lockTime = 10 * time.Second

// The files of one record in a Journal.
const (
	recordFile = "record.json"
	beforeFile = "before"
	afterFile  = "after"
	ownerFile  = "owner" // locked while the process lives that is to restore the file
)

// A Journal is a folder with a record of each changed file and its old content. Only its owner can
// read it.
type Journal struct {
	Folder string

	step func() // called between any two writes; for tests
}

func (j Journal) stepped() {
	if j.step != nil {
		j.step()
	}
}

// A Record describes one changed file.
type Record struct {
	Host  string `json:"host"`            // ID of the host; empty if the user named the file
	Path  string `json:"path"`            // path of the file, with symbolic links resolved
	Named string `json:"named,omitempty"` // path as the user named it, if it leads to Path through links
	Kept  bool   `json:"kept,omitempty"`  // the change stays until the user restores the file
	// Connected is set if Junction replaces servers of the host. Otherwise it runs between the host
	// and its servers.
	Connected bool      `json:"connected,omitempty"`
	Created   bool      `json:"created,omitempty"` // whether the file did not exist before
	Began     time.Time `json:"began"`
	Process   int       `json:"process"`
	Changes   []Change  `json:"changes"`

	Alive  bool `json:"-"` // whether the process that is to restore the file lives
	folder string
}

// Servers returns the names of the changed entries.
func (r *Record) Servers() (names []string) {
	for _, c := range r.Changes {
		names = append(names, c.Name)
	}
	return names
}

// ErrInUse reports that Junction has already changed a file.
var ErrInUse = errors.New("was changed by junction already")

// lock locks the Journal against other processes.
func (j Journal) lock() (unlock func(), err error) {
	if err := os.MkdirAll(j.Folder, 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	return filelock.Wait(ctx, filepath.Join(j.Folder, "lock"))
}

// Apply writes after to the file of d and records the change. Unless r.Kept is set, this process
// holds the file until it calls release, and other processes do not restore it until then. Call
// release before Restore. path is the path of the Record.
func (j Journal) Apply(d *Document, after []byte, r Record) (path string, release func(), err error) {
	if r.Created = d.missing; r.Created {
		err = os.MkdirAll(filepath.Dir(d.Path), 0o700)
	}
	if err == nil {
		r.Path, err = realPath(d.Path)
	}
	if err == nil {
		r.Named, err = filepath.Abs(d.Path)
	}
	if err != nil {
		return "", nil, err
	}
	if r.Named == r.Path {
		r.Named = ""
	}
	unlock, err := j.lock()
	if err != nil {
		return "", nil, err
	}
	defer unlock()
	release, err = j.apply(d, after, r)
	return r.Path, release, err
}

func (j Journal) apply(d *Document, after []byte, r Record) (release func(), err error) {
	sum := sha256.Sum256([]byte(r.Path))
	folder := filepath.Join(j.Folder, hex.EncodeToString(sum[:16]))
	if _, err := os.Stat(filepath.Join(folder, recordFile)); err == nil {
		return nil, fmt.Errorf("%s %w", d.Path, ErrInUse)
	}
	records, _ := j.Records() // Restore reports errors of other records
	if slices.ContainsFunc(records, func(o *Record) bool { return slices.Contains(o.paths(), r.Path) }) {
		return nil, fmt.Errorf("%s %w", d.Path, ErrInUse) // this file replaced a link to the recorded file
	}
	if err := errors.Join(os.RemoveAll(folder), os.Mkdir(folder, 0o700)); err != nil {
		return nil, err
	}
	j.stepped()
	owner, err := filelock.Try(filepath.Join(folder, ownerFile))
	if err != nil {
		return nil, err
	}
	j.stepped()
	release = func() { owner.Close() }
	r.Began, r.Process = time.Now().UTC(), os.Getpid()
	line, err := json.MarshalIndent(r, "", "  ")
	for _, file := range []struct {
		name string
		data []byte
	}{{beforeFile, d.Data}, {afterFile, after}, {recordFile, line}} {
		if err == nil {
			err = filelock.Replace(filepath.Join(folder, file.name), file.data, 0o600)
			j.stepped()
		}
	}
	if err == nil {
		err = j.replaceFile(r.Path, d.Data, after, r.Created)
	}
	if err != nil {
		release()
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	if r.Kept {
		release()
	}
	return release, nil
}

// Records lists the records of changed files, sorted by path.
func (j Journal) Records() (list []*Record, err error) {
	found, err := filepath.Glob(filepath.Join(j.Folder, "*", recordFile))
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, path := range found {
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process restored the file in the meantime
		}
		r := &Record{folder: filepath.Dir(path)}
		if err == nil {
			err = json.Unmarshal(data, r)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", path, err))
			continue
		}
		owner, err := filelock.Try(filepath.Join(r.folder, ownerFile))
		if err == nil {
			owner.Close()
		}
		r.Alive = errors.Is(err, filelock.ErrLocked)
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *Record) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return list, errors.Join(faults...)
}

// Recover restores the files that killed processes have left changed.
func (j Journal) Recover() (done []*Restored, err error) {
	records, err := j.Records()
	faults := []error{err}
	for _, r := range records {
		if r.Alive || r.Kept && !r.isUndone() {
			continue
		}
		restored, err := j.Restore(r)
		if errors.Is(err, ErrInUse) {
			continue // another process restored the file and changed it again
		}
		if faults = append(faults, err); err == nil {
			done = append(done, restored)
		}
	}
	return done, errors.Join(append(faults, j.clean())...)
}

// isUndone reports whether the file has its old content. This is the case if the process was killed
// before the change, or if someone else restored the file.
func (r *Record) isUndone() bool {
	before, err := os.ReadFile(filepath.Join(r.folder, beforeFile))
	for _, path := range r.paths() {
		now, nowErr := os.ReadFile(path)
		if r.Created && errors.Is(nowErr, fs.ErrNotExist) {
			continue
		}
		if err = errors.Join(err, nowErr); err != nil || !bytes.Equal(before, now) {
			return false
		}
	}
	return true
}

// clean removes incomplete records of processes that were killed before they changed a file or
// after they restored it.
func (j Journal) clean() error {
	unlock, err := j.lock()
	if err != nil {
		return err
	}
	defer unlock()
	folders, err := os.ReadDir(j.Folder)
	for _, folder := range folders {
		path := filepath.Join(j.Folder, folder.Name())
		if _, missing := os.Stat(filepath.Join(path, recordFile)); folder.IsDir() && errors.Is(missing, fs.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	return err
}

// realPath returns the absolute path of a file with symbolic links resolved.
func realPath(path string) (string, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(full)
	if _, missing := os.Lstat(full); errors.Is(missing, fs.ErrNotExist) {
		real, err = filepath.EvalSymlinks(filepath.Dir(full))
		real = filepath.Join(real, filepath.Base(full))
	}
	return real, err
}

// errChanged reports that another program changed the file at the same time.
var errChanged = errors.New("another program changed the file at the same time; try again")

// Replace replaces the content of a user's file, and keeps its mode and owner. The file must still
// have the content of d. The change cannot be undone.
func Replace(d *Document, after []byte) error {
	if d.missing {
		if err := os.MkdirAll(filepath.Dir(d.Path), 0o700); err != nil {
			return err
		}
	}
	path, err := realPath(d.Path)
	if err != nil {
		return err
	}
	return Journal{}.replaceFile(path, d.Data, after, d.missing)
}

// replaceFile replaces the content of a file and keeps its mode and owner. The file must still have
// the expected content or, with isNew, must not exist.
func (j Journal) replaceFile(path string, expected, data []byte, isNew bool) error {
	info, err := os.Stat(path)
	if isNew && errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else if isNew && err == nil {
		err = errChanged
	}
	if err != nil {
		return err
	}
	temporary := temporaryName(path)
	if err := os.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(temporary) // fails without effect after the rename
	j.stepped()
	_, err = f.Write(data)
	j.stepped()
	if !isNew {
		err = errors.Join(err, f.Chmod(info.Mode().Perm()), ownAs(f, info))
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	j.stepped()
	now, err := os.ReadFile(path)
	switch {
	case isNew && errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case isNew || !bytes.Equal(now, expected):
		return errChanged
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	j.stepped()
	return nil
}

// temporaryName returns the same name for each change of a file. Thus a file left by a killed
// process is found and removed.
func temporaryName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".junction-new")
}
