package audit

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// A disk is the on-disk part of a log. Only one goroutine at a time may use it.
type disk struct {
	root    *os.Root
	dir     string      // path used to open root
	folder  os.FileInfo // root as it was when it was opened
	options *Options

	now    time.Time // time when the current write began
	looked time.Time // time of the last check that found the files in their place; zero if the last check failed
	seen   uint64    // number of the last line at that time
	notes  [][]byte  // lines to write before those of the next group

	files    []string // names, oldest first; the last file is being written
	file     *os.File
	size     int64     // bytes of file, without a partial write
	torn     bool      // whether file may contain a partial write after size
	first    uint64    // number of the first line of file
	began    time.Time // time of the first line of file that is not a checkpoint; zero without one
	wrote    time.Time // time of the last line
	ledger   ledger
	leaving  []entry  // files to remove after a line reports their removal
	causes   []string // reasons of their removal, in the same order
	expired  [][]byte // lines that report their removal
	aged     bool     // requests a check for old files, even if there are no lines to write
	opened   time.Time
	clock    clock
	headFile *os.File
	head     head
	headAt   time.Time                  // time of the last write of the head
	headDue  bool                       // whether lines were written since
	unsigned int                        // number of lines since the last checkpoint
	due      bool                       // whether a checkpoint is due
	moved    bool                       // whether a file was begun or removed since the last checkpoint
	ended    func(seq uint64, d digest) // called with each checkpoint; may be nil
	out      []byte
	headText []byte
}

// open finds the end of the log and returns its faults. It cuts off a partial write, because no
// response was sent for its lines. All other faults stay in their file, and new lines begin the
// next file.
func (d *disk) open() (notes []string, err error) {
	if d.folder, err = d.root.Stat("."); err != nil {
		return nil, err
	}
	if d.files, err = listFiles(d.root); err != nil {
		return nil, err
	}
	end, fault := readHead(d.root)
	if fault == nil && end.ofOther(d.options.Key) {
		return nil, ErrOtherKey
	}
	if fault == nil && d.options.Key.sealHead(&end).String() != end.MAC {
		fault = fmt.Errorf("%s is not authentic", headFile)
	}
	d.head = head{First: 1}
	if fault == nil {
		d.head = end
	}
	d.moved = d.head.First > 1 // the last checkpoint may be older than the removal of the first lines
	d.opened = time.Now()
	if len(d.files) > 0 {
		if fault != nil {
			notes = append(notes, fmt.Sprintf("the end of the log is not known: %v", fault))
		}
		more, err := d.openLast(fault == nil)
		if err != nil {
			return nil, err
		}
		notes = append(notes, more...)
	}
	more, err := d.openLedger()
	if err != nil {
		return nil, err
	}
	notes = append(notes, more...)
	if keep := d.options.KeepFor; keep > 0 && !d.wrote.IsZero() && time.Since(d.wrote) > keep { // either all of the log is old or the clock is wrong
		d.clock.until = d.hold()
	}
	if d.headFile, err = d.root.OpenFile(headFile, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	return notes, d.writeHead()
}

// openLast finds the last group of lines in the last file, and returns the faults. If it finds
// none, new lines continue after that group.
func (d *disk) openLast(known bool) (notes []string, err error) {
	name := d.files[len(d.files)-1]
	file, err := d.root.OpenFile(name, os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	total, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	var end line
	var whole int64
	strange := false // more than a partial group follows the last group
	var prev line
	intact := uint64(0)         // last line before a line that does not follow it
	cut, broken := false, false // cut: there is such a line; broken: it is before the end of the last group
	err = eachLine(io.NewSectionReader(file, 0, total), func(text []byte, at int64) error {
		l, ok := parseLine(text)
		if at > 0 && !cut && (!ok || l.seq != prev.seq+1 || prev.digest.follows(l.seq, l.object) != l.digest) {
			intact, cut = prev.seq, true
		}
		prev = l
		if ok && d.began.IsZero() && !l.isCheckpoint() && !l.isExpired() {
			d.began = l.time()
		}
		switch {
		case ok && l.seal != nil && *l.seal == d.options.Key.seal(l.seq, l.digest):
			end, whole, strange, broken = l, at+int64(len(text)), false, cut
		case ok && l.seal != nil:
			strange = true
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	switch h := &d.head; {
	case known && end.seq == 0 && name == fileName(h.Seq+1): // the file was only begun
	case known && (end.seq < h.Seq || end.seq == h.Seq && end.digest != h.digest):
		notes = append(notes, fmt.Sprintf("the log ended with line %d when it was written, and %s ends with line %d now: lines are missing or were replaced", h.Seq, name, end.seq))
		return notes, file.Close()
	case strange:
		notes = append(notes, fmt.Sprintf("after line %d of %s there are lines that do not belong to this log", end.seq, name))
		h.Seq, h.digest = end.seq, end.digest
		return notes, file.Close()
	case broken:
		notes = append(notes, fmt.Sprintf("line %d of %s is not followed by its original next line", intact, name))
		h.Seq, h.digest = end.seq, end.digest
		return notes, file.Close()
	case end.seq > 0:
		h.Seq, h.digest = end.seq, end.digest
	}
	if whole < total {
		notes = append(notes, fmt.Sprintf("%d bytes at the end of %s were removed, because their group of lines was not written completely", total-whole, name))
	}
	d.file, d.size, d.torn, d.wrote = file, whole, whole < total, end.time()
	if d.first, err = strconv.ParseUint(strings.TrimSuffix(name, fileSuffix), 10, 63); err != nil {
		return nil, fmt.Errorf("%s is not the name of a log file: %w", name, err)
	}
	return notes, d.mend()
}

// eachLine calls yield with each line of a file and the line's offset. Only a part of a line is
// passed if the line is too long or has no end.
func eachLine(r io.Reader, yield func(text []byte, at int64) error) error {
	var buf []byte
	var at int64
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		buf = append(buf, chunk[:n]...)
		for {
			end := bytes.IndexByte(buf, '\n') + 1
			if end == 0 && len(buf) > 2*maxLine {
				end = len(buf)
			}
			if end == 0 {
				break
			}
			if err := yield(buf[:end], at); err != nil {
				return err
			}
			at += int64(end)
			buf = buf[end:]
		}
		switch {
		case errors.Is(err, io.EOF) && len(buf) > 0:
			return yield(buf, at)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// write writes the lines of a group, a checkpoint if one is due, and the head.
func (d *disk) write(g *group) error {
	d.now = time.Now()
	if err := d.look(); err != nil {
		return err
	}
	if d.aged {
		if d.aged = false; d.file != nil && d.full() {
			if err := d.next(); err != nil {
				return err
			}
		}
		d.expire()
	}
	if len(g.objects)+len(d.notes)+len(d.expired) == 0 && g.lost == 0 && (!d.due || d.unsigned == 0 && !d.moved) {
		return nil
	}
	if err := d.next(); err != nil {
		return err
	}
	before, end, unsigned := d.head, d.head, d.unsigned
	d.out = d.out[:0]
	objects := g.objects
	if len(d.expired)+len(d.notes) > 0 {
		objects = slices.Concat(d.expired, d.notes, objects)
	}
	if g.lost > 0 {
		note := Record{Kind: KindNote, Time: time.Now(), Reason: fmt.Sprintf("%d lines are missing here, because they could not be written", g.lost)}
		objects = append(slices.Clip(objects), note.append(nil))
	}
	checkpoint := d.due
	for i, object := range objects {
		d.out = d.appendNext(d.out, &end, object, !checkpoint && i == len(objects)-1)
		unsigned++
	}
	if checkpoint {
		d.out = d.appendNext(d.out, &end, d.checkpoint(&end), true)
		unsigned = 0
	}
	if err := d.store(d.out); err != nil {
		if len(d.leaving) > 0 && d.writeHead() == nil { // removing the files may free the space that is missing
			d.remove()
		}
		return err
	}
	d.head = end
	if d.options.NoSync && !checkpoint && d.now.Sub(d.headAt) < headTime {
		d.headDue = true
	} else if err := d.writeHead(); err != nil { // treat the lines as not written
		d.head, d.size, d.torn = before, d.size-int64(len(d.out)), true
		return err
	}
	d.remove()
	if d.options.Written != nil {
		d.options.Written(d.out)
	}
	calls := len(objects) - len(d.expired)
	d.unsigned, d.notes, d.expired = unsigned, nil, nil
	if checkpoint {
		d.due, d.moved = false, false
		if d.ended != nil {
			d.ended(end.Seq, end.digest)
		}
	}
	d.wrote = d.now
	if d.began.IsZero() && calls > 0 {
		d.began = d.wrote
	}
	return nil
}

// appendNext appends the next line to dst and sets end to that line. If last is set, the line ends
// its group.
func (d *disk) appendNext(dst []byte, end *head, object []byte, last bool) []byte {
	end.Seq++
	end.digest = end.digest.follows(end.Seq, object)
	var seal *digest
	if last {
		s := d.options.Key.seal(end.Seq, end.digest)
		seal = &s
	}
	return appendLine(dst, object, end.Seq, end.digest, seal)
}

// checkpoint returns the line that signs all lines up to end.
func (d *disk) checkpoint(end *head) []byte {
	w := jsonrpc.NewObject(nil)
	w.String("time", time.Now().UTC().Format(stampFormat))
	w.String("kind", KindCheckpoint)
	w.Int("first", int64(end.First))
	w.String("before", end.before.String())
	w.Base64("signature", ed25519.Sign(d.options.Key.private, appendStatement(nil, end.Seq, end.digest, end.First, end.before)))
	return w.Bytes()
}

// store appends data to the file, and syncs it unless NoSync is set. It first cuts off a partial
// write.
func (d *disk) store(data []byte) error {
	if err := d.mend(); err != nil {
		return err
	}
	d.torn = true
	if _, err := d.file.WriteAt(data, d.size); err != nil {
		return errors.Join(err, d.mend())
	}
	if !d.options.NoSync || d.due {
		if err := d.file.Sync(); err != nil {
			return err
		}
	}
	d.torn = false
	d.size += int64(len(data))
	return nil
}

// mend cuts off a partial write.
func (d *disk) mend() error {
	if !d.torn {
		return nil
	}
	if err := d.file.Truncate(d.size); err != nil {
		return err
	}
	d.torn = false
	return nil
}
