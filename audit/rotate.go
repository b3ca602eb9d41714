package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
)

// fileSuffix ends the names of files with lines, which begin with the number of their first line.
const fileSuffix = ".jsonl"

// fileName returns the name of the file whose first line has the number.
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

// full reports whether the present file is too large or too old. A file without calls does not
// become old.
func (d *disk) full() bool {
	return d.size >= d.options.MaxFile || !d.began.IsZero() && d.now.Sub(d.began) >= d.options.MaxAge
}

// next begins the next file if the present one is full, or there is none.
func (d *disk) next() error {
	if d.file != nil && !d.full() {
		return nil
	}
	if d.headDue { // else a process that ends now leaves a file that does not follow the head
		if err := d.writeHead(); err != nil {
			return err
		}
	}
	name := fileName(d.head.Seq + 1)
	for len(d.files) > 0 && name <= d.files[len(d.files)-1] { // is damaged, and stays
		d.head.Seq++
		name = fileName(d.head.Seq + 1)
	}
	file, err := d.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	d.files = append(d.files, name)
	if d.file != nil {
		d.finish()
	}
	d.file, d.size, d.torn, d.began = file, 0, false, time.Time{}
	d.first = d.head.Seq + 1
	d.due, d.moved = true, true
	if err := filelock.SyncFolder(d.dir); err != nil {
		return err
	}
	d.expire()
	return nil
}

// finish closes the present file, and enters it into the ledger. If that fails, the file is read
// when the log is opened.
func (d *disk) finish() {
	err := errors.Join(d.file.Sync(), d.file.Close())
	e := entry{First: d.first, Last: d.head.Seq, digest: d.head.digest, Bytes: d.size, Time: d.wrote.UnixMicro()}
	d.ledger.files = append(d.ledger.files, e)
	if err := errors.Join(err, d.enter(e)); err != nil {
		d.options.Logger.Error("audit: a file is not entered into "+ledgerFile, "folder", d.dir, "file", fileName(e.First), "error", err)
	}
}

// hold returns the time without removal by age after the clock was set ahead.
func (d *disk) hold() time.Duration { return min(jumpTime, d.options.KeepFor/10) }

// expire selects the oldest files to remove by the ledger, but never the present one. A line is
// written before they are removed. A file that differs from the ledger is kept, and a line names
// it.
func (d *disk) expire() {
	if d.file == nil {
		return
	}
	now := time.Now()
	if ahead := d.clock.look(now.Round(0), now.Sub(d.opened), d.hold()); ahead > 0 && d.options.KeepFor > 0 {
		d.report(fmt.Sprintf("the clock was set ahead by %s: for %s no file is removed because of its age", ahead.Round(time.Second), d.hold()))
	}
	total := d.size
	for _, e := range d.ledger.files {
		total += e.Bytes
	}
	defer d.sayExpired(len(d.leaving))
	for len(d.ledger.files) > 0 {
		e := d.ledger.files[0]
		cause := ""
		switch {
		case total > d.options.Keep:
			cause = "size"
		case d.options.KeepFor > 0 && d.clock.trusted() && now.Sub(time.UnixMicro(e.Time)) > d.options.KeepFor:
			cause = "age"
		default:
			return
		}
		why, err := d.misfit(&e)
		if err != nil {
			d.options.Logger.Error("audit: old files are not removed", "folder", d.dir, "error", err)
			return
		}
		total -= e.Bytes
		d.ledger.files = d.ledger.files[1:]
		if why != "" {
			d.report(fmt.Sprintf("%s was changed; it stays on the disk, and does not count toward the limit: %s", fileName(e.First), why))
			continue
		}
		d.release(e, cause)
	}
}

// release selects a file for removal after a line reports it.
func (d *disk) release(e entry, cause string) {
	if e.First == d.head.First {
		d.head.First, d.head.before = e.Last+1, e.digest
	}
	d.ledger.removed(e)
	d.leaving = append(d.leaving, e)
	d.causes = append(d.causes, cause)
	d.due, d.moved = true, true
}

// sayExpired makes the lines about the leaving files from index i on: one for each cause and
// unbroken range.
func (d *disk) sayExpired(i int) {
	for i < len(d.leaving) {
		first := i
		for i++; i < len(d.leaving) && d.causes[i] == d.causes[first] && d.leaving[i].First == d.leaving[i-1].Last+1; i++ {
		}
		d.expired = append(d.expired, d.ledger.expiredLine(d.leaving[first].First, d.leaving[i-1].Last, d.causes[first]))
	}
}

// remove removes the leaving files, which the head and a line report. If a file cannot be removed,
// it is removed when the log is opened.
func (d *disk) remove() {
	if len(d.leaving) == 0 {
		return
	}
	_ = d.headFile.Sync()
	err := d.enter(d.ledger.runs...)
	for _, e := range d.leaving {
		if err != nil {
			break
		}
		err = d.drop(e)
	}
	if err != nil {
		d.options.Logger.Error("audit: old files are not removed", "folder", d.dir, "error", err)
	}
	d.leaving, d.causes = nil, nil
}

// drop removes a file.
func (d *disk) drop(e entry) error {
	name := fileName(e.First)
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	d.files = slices.DeleteFunc(d.files, func(f string) bool { return f == name })
	return filelock.SyncFolder(d.dir)
}

const (
	// maxJump is how far ahead the clock may be set without stopping the removal of files by age.
	maxJump = time.Hour
	// jumpTime is the time without removal by age after the clock was set ahead, in which it can be
	// corrected. It is a tenth of KeepFor, if that is shorter.
	jumpTime = 24 * time.Hour
)

// A clock detects that the time of day moved ahead of the elapsed time.
type clock struct {
	wall  time.Time     // the time of day at the last look
	ran   time.Duration // the elapsed time then
	until time.Duration // the elapsed time before which no file is removed by age
}

// look returns how far the clock was set ahead since the last look, if that is more than maxJump.
// The parameter ran is the time that has passed since a fixed point.
func (c *clock) look(wall time.Time, ran, hold time.Duration) (ahead time.Duration) {
	if !c.wall.IsZero() {
		ahead = wall.Sub(c.wall) - (ran - c.ran)
	}
	c.wall, c.ran = wall, ran
	if ahead <= maxJump {
		return 0
	}
	c.until = ran + hold
	return ahead
}

// trusted reports whether files may be removed by their age.
func (c *clock) trusted() bool { return c.ran >= c.until }
