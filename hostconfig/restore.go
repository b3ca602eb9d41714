package hostconfig

import (
	"bytes"
	"context"
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

// ownerTime is how long Restore waits for the lock of a process that lives, which others take for a moment to see that.
const ownerTime = time.Second

// A Restored says what became of a file that was taken back.
type Restored struct {
	Path string
	// Whole says that it holds byte for byte what it did before. Else somebody had changed it, and only entries were put back.
	Whole   bool
	Removed bool     // there was no such file before, and there is none now
	Gone    bool     // there is no such file any more; Original is what it held
	Left    []string // entries that somebody changed, renamed or removed; they stay as they are
	// Original is a copy of what the file held before, where something was left, or the file is gone.
	Original  string
	Connected bool // as in the Record
	// Also is what became of a file that now stands where a link led to this one; nil if the link is as it was.
	Also *Restored
}

// Restore takes a change back. A file that nobody changed since holds then what it held before, byte for byte; in another
// one the entries are put back, but for those that somebody changed. What is done already does no harm.
func (j Journal) Restore(r *Record) (*Restored, error) {
	unlock, err := j.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	isThere, err := r.isThere()
	if err != nil {
		return nil, err
	}
	if !isThere {
		return &Restored{Path: r.Path, Whole: true, Connected: r.Connected}, nil // somebody took it back meanwhile
	}
	paths := r.paths()
	done, err := j.restoreAt(r, paths[0])
	for _, path := range paths[1:] {
		also, alsoErr := j.restoreAt(r, path)
		if err = errors.Join(err, alsoErr); err == nil {
			done.Also = also
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not as it was: %w; once that is mended run: %s", r.Path, err, r.Remedy())
	}
	for _, path := range paths {
		_ = os.Remove(temporaryName(path)) // of a process that was killed
	}
	j.stepped()
	if err := os.Remove(filepath.Join(r.folder, recordFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	j.stepped()
	_ = os.RemoveAll(r.folder) // what cannot be removed now is the next time
	return done, nil
}

// isThere reports whether the change is still to be taken back. It fails where it is another one's now: who read the record
// before somebody else took that change back must not undo the next.
func (r *Record) isThere() (bool, error) {
	data, err := os.ReadFile(filepath.Join(r.folder, recordFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	var now Record
	if err == nil {
		err = json.Unmarshal(data, &now)
	}
	if err != nil {
		return false, err
	}
	if now.Process != r.Process || !now.Began.Equal(r.Began) {
		return false, fmt.Errorf("%s %w", r.Path, ErrInUse)
	}
	ctx, cancel := context.WithTimeout(context.Background(), ownerTime)
	defer cancel()
	free, err := filelock.Wait(ctx, filepath.Join(r.folder, ownerFile))
	if errors.Is(err, filelock.ErrLocked) {
		return false, fmt.Errorf("%s %w", r.Path, ErrInUse)
	}
	if err == nil {
		free()
	}
	return err == nil, err
}

// paths are the files to take back: a host that saves by renaming puts a file, with the change in it, in the place of a link.
func (r *Record) paths() []string {
	if now, err := realPath(r.Named); r.Named != "" && err == nil && now != r.Path {
		return []string{r.Path, now}
	}
	return []string{r.Path}
}

// Remedy is the command that takes the change back.
func (r *Record) Remedy() string {
	name := r.Host
	if name == "" {
		name = "--file " + r.Path
	}
	if r.Connected {
		return "junction host disconnect " + name
	}
	return "junction host tap --undo"
}

// restoreAt takes a change back in one file.
func (j Journal) restoreAt(r *Record, path string) (*Restored, error) {
	done := &Restored{Path: path, Connected: r.Connected}
	before, err := os.ReadFile(filepath.Join(r.folder, beforeFile))
	if err != nil {
		return nil, err
	}
	after, err := os.ReadFile(filepath.Join(r.folder, afterFile))
	if err != nil {
		return nil, err
	}
	now, err := os.ReadFile(path)
	switch {
	case r.Created && errors.Is(err, fs.ErrNotExist):
		done.Whole = true
		return done, nil
	case r.Created && err == nil && bytes.Equal(now, after):
		done.Whole, done.Removed = true, true
		return done, os.Remove(path)
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); err != nil { // such as of a drive that is not mounted
			return nil, fmt.Errorf("its folder cannot be found: %w; if it is gone for good, remove %s", err, r.folder)
		}
		done.Gone = true // perhaps for a moment only, so that it comes back with the change in it
		done.Original, err = r.keepOriginal(before)
		return done, err
	case err != nil:
		return nil, err
	case bytes.Equal(now, before):
		done.Whole = true
		return done, nil
	case bytes.Equal(now, after):
		done.Whole = true
		return done, j.replaceFile(path, now, before, false)
	}
	h, _, _ := LookupHost(r.Host)
	var documents [3]*Document
	for i, data := range [][]byte{before, after, now} {
		if documents[i], err = Parse(h, path, data); err != nil {
			return nil, err
		}
	}
	data, left, err := restored(documents[0], documents[1], documents[2], r.Changes)
	if err == nil && len(left) == 0 {
		data = cut(documents[0], documents[1], documents[2], data)
	}
	if err == nil && !bytes.Equal(data, now) {
		err = j.replaceFile(path, now, data, false)
	}
	if err != nil {
		return nil, err
	}
	if done.Left = left; len(left) > 0 {
		done.Original, err = r.keepOriginal(before)
	}
	return done, err
}

// cut returns now with the bytes before in the place of those that the change to after wrote, where these are there as they were
// written and what else somebody changed is then as in otherwise, the file as restored makes it, which is returned else.
func cut(before, after, now *Document, otherwise []byte) []byte {
	from, to := before.Data, after.Data
	start, end := 0, 0
	for start < min(len(from), len(to)) && from[start] == to[start] {
		start++
	}
	for end < min(len(from), len(to))-start && from[len(from)-1-end] == to[len(to)-1-end] {
		end++
	}
	written, at := to[start:len(to)-end], start
	switch {
	case bytes.HasPrefix(now.Data, to[:len(to)-end]):
	case bytes.HasSuffix(now.Data, to[start:]):
		at = len(now.Data) - len(to) + start
	case len(written) > 0 && bytes.Count(now.Data, written) == 1:
		at = bytes.Index(now.Data, written)
	default:
		return otherwise
	}
	data := slices.Concat(now.Data[:at], from[start:len(from)-end], now.Data[at+len(written):])
	root, err := parse(data, now.syntax)
	want, fault := parse(otherwise, now.syntax)
	if err != nil || fault != nil {
		return otherwise
	}
	for _, m := range slices.Concat(root.members, want.members) {
		isTheirs := !sameMember(now.root, after.root, m.name) || !sameMember(root, before.root, m.name)
		if isTheirs && !sameMember(root, want, m.name) {
			return otherwise
		}
	}
	return data
}

// keepOriginal writes a copy of what the file held before, next to those of earlier changes.
func (r *Record) keepOriginal(before []byte) (path string, err error) {
	path = r.folder + time.Now().UTC().Format(".20060102T150405.000000000") + ".original" + filepath.Ext(r.Path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(before)
	return path, errors.Join(err, f.Sync(), f.Close())
}

// Look reads a file that is connected, as it is now. ours is the entry of junction in it; nil if somebody removed it.
func (r *Record) Look() (d *Document, ours *Entry, isChanged bool, err error) {
	h, _, _ := LookupHost(r.Host)
	if d, err = Read(h, r.Path); err != nil {
		return nil, nil, false, err
	}
	data, err := os.ReadFile(filepath.Join(r.folder, afterFile))
	if err != nil {
		return nil, nil, false, err
	}
	after, err := Parse(h, r.Path, data)
	if err != nil {
		return nil, nil, false, err
	}
	for _, c := range r.Changes {
		if c.Added {
			was := after.changed(c)
			ours = d.changed(c)
			return d, ours, ours == nil || was == nil || !same(was.full, ours.full), nil
		}
	}
	return d, nil, false, nil // others were only taken out
}
