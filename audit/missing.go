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
	// lookPause is the minimum time between two checks whether the files are where they were
	// opened, while they are.
	lookPause = time.Second
	// maxNotes is the maximum number of waiting lines about missing files.
	maxNotes = 16
)

// look checks whether written lines can be found by name: writes to a file that was moved or
// removed succeed, but are lost. It returns an error if the folder is gone, which may come back. A
// missing file is followed by the next one, and a line reports it. A missing head is written again.
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

// isAt reports whether an open file has a name in the folder.
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

// leave ends the present file, which is not where it was. A file in its place stays.
func (d *disk) leave(name string) {
	_ = d.file.Close()
	d.file, d.size, d.torn, d.began = nil, 0, false, time.Time{}
	if _, err := d.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		d.files = slices.Delete(d.files, len(d.files)-1, len(d.files))
	}
	d.report(fmt.Sprintf("%s was moved or removed while it was written: it was there with line %d, and the log ended with line %d", name, d.seen, d.head.Seq))
}

// report logs a fault in the program's log, and in the next line of this one.
func (d *disk) report(why string) {
	d.options.Logger.Error("audit: "+why, "folder", d.dir)
	if len(d.notes) == maxNotes {
		return
	}
	note := Record{Kind: KindNote, Time: time.Now(), Reason: why}
	d.notes = append(d.notes, note.append(nil))
}
