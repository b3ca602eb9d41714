package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// fileSuffix ends the names of files with lines, which begin with the number of their first line.
const fileSuffix = ".jsonl"

// fileName is the name of the file whose first line has the number.
func fileName(first uint64) string { return fmt.Sprintf("%016d%s", first, fileSuffix) }

// listFiles returns the names of the files with lines, oldest first.
func listFiles(root *os.Root) (names []string, err error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	for _, e := range entries {
		if name := e.Name(); len(name) == 16+len(fileSuffix) && strings.HasSuffix(name, fileSuffix) {
			names = append(names, name)
		}
	}
	return names, err
}

// full reports whether the present file has ended: it is large, or old. One without calls does not become old.
func (d *disk) full() bool {
	return d.size >= d.options.MaxFile || !d.began.IsZero() && time.Since(d.began) >= d.options.MaxAge
}

// age begins the next file where the present one is old, and removes what is not kept. Nothing needs to
// be written for that.
func (d *disk) age() error {
	if d.file != nil && d.full() {
		return d.next()
	}
	return d.expire()
}

// next begins the next file where the present one is full or old, and removes what is not kept.
func (d *disk) next() error {
	if d.file != nil && !d.full() {
		return nil
	}
	name := fileName(d.head.Seq + 1)
	for len(d.files) > 0 && name <= d.files[len(d.files)-1] { // which is damaged, and stays
		d.head.Seq++
		name = fileName(d.head.Seq + 1)
	}
	file, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if d.file != nil {
		_ = d.file.Sync()
		_ = d.file.Close()
	}
	d.file, d.size, d.torn, d.began = file, 0, false, time.Time{}
	d.due, d.moved = true, true
	d.files = append(d.files, name)
	return d.expire()
}

// oldest is the first file of a log, which is written no more.
type oldest struct {
	name string
	size int64
	last line
	at   time.Time // when the last line was written
}

// expire removes the oldest files that are not kept, but never the present one.
func (d *disk) expire() error {
	total := int64(0)
	kept := d.files[:0]
	for i, name := range d.files {
		info, err := d.root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // somebody else removed it
		}
		if err != nil {
			d.files = append(kept, d.files[i:]...)
			return err
		}
		total += info.Size()
		kept = append(kept, name)
	}
	d.files = kept
	for len(d.files) > 1 {
		if err := d.readOldest(); err != nil {
			return err
		}
		old := d.options.KeepFor > 0 && time.Since(d.oldest.at) > d.options.KeepFor
		if total <= d.options.Keep && !old {
			return nil
		}
		total -= d.oldest.size
		if err := d.removeOldest(); err != nil {
			return err
		}
	}
	return nil
}

// readOldest finds the last line of the oldest file, unless it is known.
func (d *disk) readOldest() error {
	if d.oldest.name == d.files[0] {
		return nil
	}
	file, err := d.root.Open(d.files[0])
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	o := oldest{name: d.files[0], size: info.Size(), at: info.ModTime()}
	from := max(0, o.size-2*maxLine)
	err = eachLine(io.NewSectionReader(file, from, o.size-from), func(text []byte, _ int64) error {
		if l, ok := parseLine(text); ok {
			o.last = l
		}
		return nil
	})
	if at := o.last.time(); !at.IsZero() {
		o.at = at
	}
	d.oldest = o
	return err
}

// removeOldest removes the oldest file. The head says first that it is not missed; the checkpoint that is due then does, too.
func (d *disk) removeOldest() error {
	if last := d.oldest.last; last.seq > 0 {
		d.head.First, d.head.before = last.seq+1, last.digest
	}
	if err := d.writeHead(); err != nil {
		return err
	}
	_ = d.headFile.Sync()
	d.due, d.moved = true, true
	if err := d.root.Remove(d.files[0]); err != nil {
		return err
	}
	d.files = d.files[1:]
	return nil
}
