package audit

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const (
	ledgerFile = "files.ledger"
	// maxEntry is the largest size of a line of the ledger in bytes.
	maxEntry = 512
	// maxRuns is the largest number of ranges of removed lines. There is more than one range only
	// if a file between removed files was kept.
	maxRuns = 100
)

// An entry of the ledger describes a finished file, or a range of removed lines. Its MAC makes the
// removal of files independent of what the file system reports.
type entry struct {
	First   uint64 `json:"first"`
	Last    uint64 `json:"last"`
	Digest  string `json:"digest"` // digest of the last line
	Bytes   int64  `json:"bytes"`
	Time    int64  `json:"time"` // time of the last line, in microseconds
	Expired bool   `json:"expired,omitempty"`
	MAC     string `json:"mac"`

	digest digest
}

// append appends a line with the entry and its MAC.
func (e *entry) append(dst []byte, k *Key) []byte {
	e.Digest, e.MAC = e.digest.String(), k.sealFile(e).String()
	text, _ := json.Marshal(e) // encoding strings and numbers cannot fail
	return append(append(dst, text...), '\n')
}

// sealFile returns the MAC for an entry of the ledger.
func (k *Key) sealFile(e *entry) digest {
	text := binary.BigEndian.AppendUint64(appendStatement(nil, e.Last, e.digest, e.First, digest{}), uint64(e.Bytes))
	text = binary.BigEndian.AppendUint64(text, uint64(e.Time))
	if e.Expired {
		text = append(text, 1)
	}
	return k.authenticated("file", text)
}

// A ledger lists the finished files of a log.
type ledger struct {
	files []entry // finished files, oldest first
	runs  []entry // ranges of removed lines, oldest first
	lines int     // number of lines in the ledger's file
}

// readLedger reads the authentic entries of the ledger. foreign is the number of other lines. A log
// of an older version has no ledger, which is no error.
func readLedger(root *os.Root, k *Key) (l ledger, foreign int, err error) {
	f, err := root.Open(ledgerFile)
	if errors.Is(err, fs.ErrNotExist) {
		return l, 0, nil
	}
	if err != nil {
		return l, 0, err
	}
	defer f.Close()
	files := map[uint64]entry{}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, maxEntry), maxEntry)
	for lines.Scan() {
		var e entry
		var ok bool
		if len(lines.Bytes()) == 0 {
			continue
		}
		l.lines++
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			e.digest, ok = parseDigest(e.Digest)
		}
		switch {
		case !ok || k.sealFile(&e).String() != e.MAC:
			foreign++
		case e.Expired:
			l.removed(e)
		default:
			files[e.First] = e
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		foreign++
	} else if lines.Err() != nil {
		return l, 0, lines.Err()
	}
	for _, e := range files {
		l.files = append(l.files, e)
	}
	slices.SortFunc(l.files, func(a, b entry) int { return int(a.First) - int(b.First) })
	return l, foreign, nil
}

// removed adds the lines of a removed file to the runs.
func (l *ledger) removed(e entry) {
	e.Expired, e.Bytes = true, 0
	for i, r := range l.runs {
		if r.First <= e.First && e.Last <= r.Last {
			return
		}
		if e.First == r.Last+1 {
			e.First = r.First
			l.runs[i] = e
			return
		}
	}
	if l.runs = append(l.runs, e); len(l.runs) > maxRuns {
		l.runs = slices.Delete(l.runs, 0, 1)
	}
}

// enter appends entries to the ledger's file. If most entries there are of removed files, it
// replaces the file instead.
func (d *disk) enter(entries ...entry) error {
	if d.ledger.lines > 2*(len(d.ledger.files)+len(d.ledger.runs))+maxRuns {
		return d.replaceLedger()
	}
	f, err := d.root.OpenFile(ledgerFile, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	err = d.writeEntries(f, entries)
	d.ledger.lines += len(entries)
	return errors.Join(err, filelock.SyncFolder(d.dir))
}

// replaceLedger replaces the ledger's file by one with the current entries only.
func (d *disk) replaceLedger() error {
	const fresh = ledgerFile + ".new"
	f, err := d.root.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	all := slices.Concat(d.ledger.runs, d.ledger.files)
	if err := d.writeEntries(f, all); err != nil {
		return err
	}
	d.ledger.lines = len(all)
	return errors.Join(d.root.Rename(fresh, ledgerFile), filelock.SyncFolder(d.dir))
}

// writeEntries writes entries at the end of a file and closes the file.
func (d *disk) writeEntries(f *os.File, entries []entry) error {
	text := []byte("\n") // ends a line that a killed process left unfinished
	for i := range entries {
		text = entries[i].append(text, d.options.Key)
	}
	_, err := f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// openLedger reads the ledger and adds the missing entries of unchanged files. An entry is missing
// if an older version wrote the file, or if the process ended too early. It returns the faults.
func (d *disk) openLedger() (notes []string, err error) {
	var foreign int
	if d.ledger, foreign, err = readLedger(d.root, d.options.Key); err != nil {
		return nil, err
	}
	if foreign > 0 {
		notes = append(notes, fmt.Sprintf("%d lines of %s do not belong to this log, and are ignored", foreign, ledgerFile))
	}
	if h := &d.head; h.First > 1 && (len(d.ledger.runs) == 0 || d.ledger.runs[len(d.ledger.runs)-1].Last < h.First-1) {
		d.ledger.removed(entry{First: 1, Last: h.First - 1, digest: h.before})
	}
	var known, fresh []entry // known holds entries of the ledger, fresh the added ones
	for _, name := range d.files[:max(0, len(d.files)-1)] {
		var e entry
		if i := slices.IndexFunc(d.ledger.files, func(e entry) bool { return fileName(e.First) == name }); i >= 0 {
			e = d.ledger.files[i]
		} else {
			if e, err = d.readFinished(name); err != nil {
				notes = append(notes, fmt.Sprintf("%s was changed; it stays on the disk, and does not count toward the limit: %v", name, err))
				continue
			}
			fresh = append(fresh, e)
		}
		known = append(known, e)
	}
	for _, e := range d.ledger.files {
		if !slices.Contains(d.files, fileName(e.First)) && !d.ledger.covers(e) {
			notes = append(notes, fmt.Sprintf("%s with lines %d to %d is missing, and this log did not remove it", fileName(e.First), e.First, e.Last))
		}
	}
	d.ledger.files = known
	for len(d.ledger.files) > 0 && d.ledger.covers(d.ledger.files[0]) { // a process ended before it removed the file
		e := d.ledger.files[0]
		d.ledger.files = d.ledger.files[1:]
		if why, err := d.mismatch(&e); err != nil || why != "" {
			continue
		}
		if err := d.drop(e); err != nil {
			return nil, err
		}
	}
	switch {
	case foreign > 0:
		return notes, d.replaceLedger()
	case len(fresh) > 0:
		return notes, d.enter(fresh...)
	}
	return notes, nil
}

// covers reports whether the lines of a file have been removed by the log.
func (l *ledger) covers(e entry) bool {
	return slices.ContainsFunc(l.runs, func(r entry) bool { return r.First <= e.First && e.Last <= r.Last })
}

// readFinished returns the entry for a finished file that has none. It returns an error if the file
// was changed.
func (d *disk) readFinished(name string) (e entry, err error) {
	file, err := d.root.Open(name)
	if err != nil {
		return e, err
	}
	defer file.Close()
	var prev line
	err = eachLine(file, func(text []byte, at int64) error {
		l, ok := parseLine(text)
		switch {
		case !ok || !bytes.HasSuffix(text, []byte("\n")):
			return fmt.Errorf("after line %d there is other text", prev.seq)
		case at == 0 && fileName(l.seq) != name:
			return fmt.Errorf("it begins with line %d", l.seq)
		case at > 0 && (l.seq != prev.seq+1 || prev.digest.follows(l.seq, l.object) != l.digest):
			return fmt.Errorf("line %d does not follow line %d", l.seq, prev.seq)
		}
		if at == 0 {
			e.First = l.seq
		}
		prev, e.Bytes = l, at+int64(len(text))
		return nil
	})
	if err != nil {
		return e, err
	}
	if prev.seal == nil || *prev.seal != d.options.Key.seal(prev.seq, prev.digest) {
		return e, fmt.Errorf("line %d, the last one, lacks the seal of this log", prev.seq)
	}
	e.Last, e.digest, e.Time = prev.seq, prev.digest, prev.time().UnixMicro()
	return e, nil
}

// mismatch returns how a finished file differs from its entry in the ledger. It returns "" if the
// file is unchanged.
func (d *disk) mismatch(e *entry) (string, error) {
	name := fileName(e.First)
	file, err := d.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "it is missing, and this log did not remove it", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if info.Size() != e.Bytes {
		return fmt.Sprintf("it was written with %d bytes and has %d", e.Bytes, info.Size()), nil
	}
	from := max(0, e.Bytes-2*maxLine)
	var last line
	err = eachLine(io.NewSectionReader(file, from, e.Bytes-from), func(text []byte, _ int64) error {
		last, _ = parseLine(text)
		return nil
	})
	if err != nil {
		return "", err
	}
	if last.seq != e.Last || last.digest != e.digest || last.seal == nil || *last.seal != d.options.Key.seal(last.seq, last.digest) {
		return fmt.Sprintf("it does not end with the original line %d", e.Last), nil
	}
	if _, err := d.root.Lstat(fileName(e.Last + 1)); err != nil {
		return fmt.Sprintf("line %d does not follow in the next file", e.Last+1), nil
	}
	return "", nil
}

// expiredLine returns a line that reports the removal of the lines first to last. The line also
// lists all earlier ranges.
func (l *ledger) expiredLine(first, last uint64, cause string) []byte {
	w := jsonrpc.NewObject(nil)
	w.String("time", time.Now().UTC().Format(stampFormat))
	w.String("kind", KindExpired)
	w.String("reason", fmt.Sprintf("lines %d to %d expired, by %s", first, last, cause))
	spans := make([]Span, 0, len(l.runs))
	for _, r := range l.runs {
		spans = append(spans, Span{First: r.First, Last: r.Last, Digest: r.digest.String()})
	}
	text, _ := json.Marshal(spans) // encoding strings and numbers cannot fail
	w.Raw("expired", text)
	return w.Bytes()
}

// A Span is a range of lines that the log removed because of its size or their age.
type Span struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Digest is the digest of the line Last. The next line follows it.
	Digest string `json:"digest"`
}
