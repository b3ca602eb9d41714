package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
)

const (
	// lookPause is the time between two checks that the files are in their place. It applies as
	// long as they are.
	lookPause = time.Second
	// maxNotes is the largest number of waiting lines about missing files.
	maxNotes = 16
)

// look checks that written lines can be found by the names of their files. Writes to a file that
// was moved or removed succeed, but the lines are lost. If the folder is gone, look returns an
// error, because the folder may come back. If the file is missing, look begins the next file and
// adds a line about that. It writes a missing head again.
func (d *disk) look() error {
	if !d.looked.IsZero() && d.now.Sub(d.looked) < lookPause {
		return nil
	}
	d.looked = time.Time{}
	const remedy = "put it back, or start again for a new log"
	switch at, err := os.Stat(d.dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s was moved or removed: %s", d.dir, remedy)
	case err != nil:
		return err
	case !os.SameFile(at, d.folder):
		return fmt.Errorf("another folder is at %s now: %s", d.dir, remedy)
	}
	if d.file != nil {
		name := d.files[len(d.files)-1]
		there, err := d.isAt(d.file, name)
		if err != nil {
			return err
		}
		if !there {
			d.leave(name)
		}
	}
	there, err := d.isAt(d.headFile, headFile)
	if err != nil {
		return err
	}
	if !there {
		fresh, err := d.root.OpenFile(headFile, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		_ = d.headFile.Close()
		d.headFile = fresh
		d.report(headFile + " was moved or removed while the log was written, and is written again")
		if err := errors.Join(d.writeHead(), filelock.SyncFolder(d.dir)); err != nil {
			return err
		}
	}
	d.looked, d.seen = d.now, d.head.Seq
	return nil
}

// isAt reports whether an open file still has a name in the folder.
func (d *disk) isAt(f *os.File, name string) (bool, error) {
	is, err := f.Stat()
	if err != nil {
		return false, err
	}
	at, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(at, is), err
}

// leave abandons the current file, which is no longer in its place. Another file in its place
// stays.
func (d *disk) leave(name string) {
	_ = d.file.Close()
	d.file, d.size, d.torn, d.began = nil, 0, false, time.Time{}
	if _, err := d.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		d.files = slices.Delete(d.files, len(d.files)-1, len(d.files))
	}
	d.report(fmt.Sprintf("%s was moved or removed while it was written: it was there with line %d, and the log ended with line %d", name, d.seen, d.head.Seq))
}

// report logs a fault in the program's log, and adds a line about it to this log.
func (d *disk) report(why string) {
	d.options.Logger.Error("audit: "+why, "folder", d.dir)
	if len(d.notes) == maxNotes {
		return
	}
	note := Record{Kind: KindNote, Time: time.Now(), Reason: why}
	d.notes = append(d.notes, note.append(nil))
}
