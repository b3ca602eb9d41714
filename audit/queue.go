package audit

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/filename"
)

// maxQueue is the largest size of a queue's file in bytes. The older half of its entries is removed
// when it is reached.
const maxQueue = 1 << 20

// positionFile is a file in the folder of a log. It has the name of a queue and the number of the
// last entry that the log has.
const positionFile = "queue.position"

// A Queue passes lines about administrative events from short commands to the logs of other
// processes. Only one process can write a log, and there may be several logs, or none that is
// written now. So a command appends an entry to a file, and every log takes those that it does not
// have yet.
//
// Each entry has a MAC of the installation's key. A user who cannot read that key can thus not
// forge an entry, whatever the access to the file is. Entries are numbered, so that a log reports
// those that are missing.
type Queue struct {
	path string
	key  *Key
	most int // largest size in bytes
}

// An entry of a queue.
type queued struct {
	Queue  string          `json:"queue"` // random name, the same in all entries of a file
	Number int             `json:"number"`
	Record json.RawMessage `json:"record"`
	MAC    string          `json:"mac"`
}

// NewQueue returns the queue in a file, which may not exist yet.
func NewQueue(path string, key *Key) *Queue { return &Queue{path, key, maxQueue} }

func (q *Queue) seal(e *queued) string {
	return q.key.authenticated("queue", fmt.Appendf(nil, "%s\n%d\n%s", e.Queue, e.Number, e.Record)).String()
}

// Check returns an error if no entry can be added.
func (q *Queue) Check() error {
	file, err := os.OpenFile(q.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return fmt.Errorf("audit: the queue of events: %w", err)
	}
	return nil
}

// Add adds a record of an administrative event. It returns after the entry is on disk.
func (q *Queue) Add(ctx context.Context, r *Record) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("audit: the queue of events: %w", err)
		}
	}()
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	if err := r.asAdmin(); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	unlock, err := filelock.Wait(ctx, q.path+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, _, err := q.read()
	if err != nil {
		return err
	}
	next := queued{Queue: rand.Text(), Number: 1, Record: text}
	size := len(text)
	if len(all) > 0 {
		last := all[len(all)-1]
		next.Queue, next.Number = last.Queue, last.Number+1
	}
	next.MAC = q.seal(&next)
	all = append(all, next)
	for _, e := range all {
		size += len(e.Record)
	}
	if size > q.most {
		all = all[len(all)/2:]
	}
	var out []byte
	for _, e := range all {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		out = append(append(out, line...), '\n')
	}
	return filelock.Replace(q.path, out, 0o600)
}

// read returns the authentic entries, and the number of lines that are none.
func (q *Queue) read() (all []queued, foreign int, err error) {
	text, err := os.ReadFile(q.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	if len(text) > 4*maxQueue { // no Queue writes so much
		return nil, 0, fmt.Errorf("%s is larger than %d MiB", q.path, 4*maxQueue>>20)
	}
	for line := range bytes.Lines(text) {
		var e queued
		switch {
		case len(bytes.TrimSpace(line)) == 0:
		case json.Unmarshal(line, &e) != nil || q.seal(&e) != e.MAC:
			foreign++
		default:
			all = append(all, e)
		}
	}
	return all, foreign, nil
}

// Stamp returns a text that changes when entries are added.
func (q *Queue) Stamp() string { return filename.Stamp(q.path) }

// Take adds to the log the entries of a queue that the log does not have yet. If the process ends
// meanwhile, the log may get entries twice; those have the same member call.
func (l *Log) Take(q *Queue) error {
	all, foreign, err := q.read()
	if err != nil {
		return fmt.Errorf("audit: the queue of events: %w", err)
	}
	name, had, err := l.position()
	if err != nil {
		return err
	}
	note := func(format string, args ...any) {
		_ = l.Note(&Record{Kind: KindNote, Reason: fmt.Sprintf(format, args...)})
	}
	if foreign > 0 {
		note("%d lines of %s are not of this installation, and are ignored", foreign, q.path)
	}
	for _, e := range all {
		switch {
		case e.Queue != name:
			if name != "" { // else this is the first queue of the log
				note("%s was replaced: events after its entry %d may be missing", q.path, had)
			}
		case e.Number <= had:
			continue
		case e.Number > had+1:
			note("%d events of %s are missing here", e.Number-had-1, q.path)
		}
		name = e.Queue
		var r Record
		if err := json.Unmarshal(e.Record, &r); err != nil {
			return fmt.Errorf("audit: %s: entry %d: %w", q.path, e.Number, err)
		}
		if err := l.Admin(&r); err != nil {
			return err
		}
		had = e.Number
		if err := filelock.Replace(filepath.Join(l.dir, positionFile), fmt.Appendf(nil, "%s %d\n", name, had), 0o600); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
	return nil
}

// position returns the name of the queue and the number of the last entry that the log has.
func (l *Log) position() (name string, number int, err error) {
	text, err := l.root.ReadFile(positionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("audit: %w", err)
	}
	name, count, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	if number, err = strconv.Atoi(count); err != nil {
		return "", 0, fmt.Errorf("audit: %s: %w", positionFile, err)
	}
	return name, number, nil
}
