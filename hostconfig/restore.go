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
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
)

// ownerTime is how long Restore waits for the lock of a live process. Other processes take that
// lock for a moment to check whether the process lives.
const ownerTime = time.Second

// A Restored describes the result of restoring a file.
type Restored struct {
	Path string
	// Whole is set if the file has its old content, byte for byte. Otherwise other programs had
	// changed the file, and only its entries were restored.
	Whole   bool
	Removed bool     // the file did not exist before the change and was removed
	Gone    bool     // the file no longer exists; Original is a copy of its old content
	Left    []string // names of entries that other programs changed, renamed or removed; they stay
	// Original is the path of a copy of the old content. It is set if Left or Gone is.
	Original  string
	Connected bool // as in the Record
	// Also is the result for the file that replaced a link to this one. It is nil if the link still
	// exists.
	Also *Restored
}

// Restore undoes a change. A file that is unchanged since then gets its old content, byte for byte.
// In any other file only the entries are restored, except those that other programs changed.
// Restore may be repeated.
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
		return &Restored{Path: r.Path, Whole: true, Connected: r.Connected}, nil // another process restored the file in the meantime
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
		return nil, fmt.Errorf("%s could not be restored: %w; correct that, then run: %s", r.Path, err, r.Remedy())
	}
	for _, path := range paths {
		_ = os.Remove(temporaryName(path)) // left by a killed process
	}
	j.stepped()
	if err := os.Remove(filepath.Join(r.folder, recordFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	j.stepped()
	_ = os.RemoveAll(r.folder) // after an error, the next attempt removes the folder
	return done, nil
}

// isThere reports whether the change must still be undone. It returns an error if the record now
// belongs to a later change, which a process with an old Record must not undo.
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

// paths returns the files to restore. There are two if the path was a link, and the host has since
// replaced the link by a changed file.
func (r *Record) paths() []string {
	if now, err := realPath(r.Named); r.Named != "" && err == nil && now != r.Path {
		return []string{r.Path, now}
	}
	return []string{r.Path}
}

// Remedy returns the command that undoes the change.
func (r *Record) Remedy() string {
	name := r.Host
	if name == "" {
		name = "--file " + shellWord(r.Path)
	}
	if r.Connected {
		return "junction host disconnect " + name
	}
	return "junction host tap --undo"
}

// shellWord quotes a path for a shell, if necessary.
func shellWord(path string) string {
	switch {
	case !strings.ContainsAny(path, " \t\n\"'$&|;<>()*?[]{}#!`%^") && (filepath.Separator == '\\' || !strings.Contains(path, `\`)):
		return path
	case filepath.Separator == '\\': // such paths contain no quotes
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// restoreAt undoes a change in one file.
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
		if _, err := os.Stat(filepath.Dir(path)); err != nil { // for example on an unmounted drive
			return nil, fmt.Errorf("its folder cannot be found: %w; if it was deleted, remove %s", err, r.folder)
		}
		done.Gone = true // the file may reappear with the change in it
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

// cut replaces the bytes that the change wrote in now by the old ones. The argument otherwise is
// the file that restored made, and the result must have the same content. If it does not, or if the
// written bytes are not found, cut returns otherwise.
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

// keepOriginal writes a copy of the old content. It keeps copies of earlier changes.
func (r *Record) keepOriginal(before []byte) (path string, err error) {
	path = r.folder + time.Now().UTC().Format(".20060102T150405.000000000") + ".original" + filepath.Ext(r.Path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(before)
	return path, errors.Join(err, f.Sync(), f.Close())
}

// Look reads the current content of a connected file. ours is Junction's entry in it, or nil if the
// entry was removed.
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
	return d, nil, false, nil // the change only removed entries
}
