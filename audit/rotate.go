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

// fileSuffix is the ending of the names of files with lines. The names begin with the number of the
// file's first line.
const fileSuffix = ".jsonl"

// fileName returns the name of the file that begins with the line first.
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

// full reports whether the current file is too large or too old. A file without calls never becomes
// too old.
func (d *disk) full() bool {
	return d.size >= d.options.MaxFile || !d.began.IsZero() && d.now.Sub(d.began) >= d.options.MaxAge
}

// next begins the next file if there is no current file or it is full.
func (d *disk) next() error {
	if d.file != nil && !d.full() {
		return nil
	}
	if d.headDue { // otherwise, if the process ended now, the new file would not follow the head
		if err := d.writeHead(); err != nil {
			return err
		}
	}
	name := fileName(d.head.Seq + 1)
	for len(d.files) > 0 && name <= d.files[len(d.files)-1] { // the existing file is damaged, and stays
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

// finish closes the current file and enters it into the ledger. If it cannot enter it, the file is
// entered when the log is next opened.
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

// expire selects the oldest files of the ledger for removal, but never the current file. Lines that
// report the removal are written first. A file that differs from its entry is kept, and a line
// names it.
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
	defer d.reportExpired(len(d.leaving))
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
		why, err := d.mismatch(&e)
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

// release selects a file for removal, which a line reports first.
func (d *disk) release(e entry, cause string) {
	if e.First == d.head.First {
		d.head.First, d.head.before = e.Last+1, e.digest
	}
	d.ledger.removed(e)
	d.leaving = append(d.leaving, e)
	d.causes = append(d.causes, cause)
	d.due, d.moved = true, true
}

// reportExpired makes the lines that report the removal of d.leaving[i:], one for each cause and
// each contiguous range.
func (d *disk) reportExpired(i int) {
	for i < len(d.leaving) {
		first := i
		for i++; i < len(d.leaving) && d.causes[i] == d.causes[first] && d.leaving[i].First == d.leaving[i-1].Last+1; i++ {
		}
		d.expired = append(d.expired, d.ledger.expiredLine(d.leaving[first].First, d.leaving[i-1].Last, d.causes[first]))
	}
}

// remove removes the selected files after the head and a line report that. If a file cannot be
// removed, it is removed when the log is next opened.
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
	// maxJump is the largest jump of the clock that does not stop the removal of files by age.
	maxJump = time.Hour
	// jumpTime is how long removal by age pauses after a larger jump, so that the clock can be
	// corrected. A tenth of KeepFor is used instead if it is shorter.
	jumpTime = 24 * time.Hour
)

// A clock detects that the time of day advances faster than the elapsed time.
type clock struct {
	wall  time.Time     // time of day at the last call of look
	ran   time.Duration // elapsed time at the last call of look
	until time.Duration // elapsed time until removal by age may start
}

// look returns how far the clock was set ahead since the last call, or 0 if that is at most
// maxJump. ran is the elapsed time since a fixed point.
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
