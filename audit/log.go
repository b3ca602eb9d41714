package audit

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/share"
)

// The limits of a log and the defaults of Options.
const (
	maxLine        = 64 << 10         // bytes of one line; a longer one loses its arguments and result
	maxPending     = 8 << 20          // largest number of bytes that wait to be written
	maxSpare       = 64               // largest number of buffers kept for reuse
	gatherTime     = time.Millisecond // how long a group waits for the lines of other running requests
	defaultFile    = 64 << 20         // bytes of one file
	defaultFileAge = 24 * time.Hour
	defaultKeep    = 1 << 30 // bytes of all files
	checkpointTime = time.Second
	agePause       = time.Minute // longest time between two checks for old files
)

// Options configure a log. Key is required; for any other field the zero value means its default.
type Options struct {
	// Key signs the log. See [ReadKey].
	Key *Key
	// MaxFile and MaxAge determine when a file is finished and the next one begins. MaxFile is a
	// number of bytes; the default is 64 MiB. MaxAge is the time after the file's first call. Its
	// default is a day, and it is at most KeepFor.
	MaxFile int64
	MaxAge  time.Duration
	// Keep is the largest number of bytes in all files; the default is 1 GiB. KeepFor is the
	// largest age of a file, measured from its last line; the default is no limit. The oldest files
	// are removed first, within a minute even if no line is written, and a line reports their
	// removal. If the clock is set ahead by more than an hour, removal by age stops for a day, or
	// for KeepFor/10 if that is shorter. Changed files are neither removed nor counted.
	Keep    int64
	KeepFor time.Duration
	// NoSync makes the log wait for the disk once a second instead of at each group of lines. A
	// response is sent when the operating system has its line. The lines then survive any end of
	// this process, but not a crash of the machine.
	NoSync bool
	// GoOn lets requests run that cannot be logged, for example because the disk is full. The log
	// counts the missing lines. It writes the count as soon as it can be written again. Without
	// GoOn, such requests are refused.
	GoOn bool
	// Written is called with written lines, several at a time, each with its line break. It must
	// neither block nor keep the lines. It may be nil.
	Written func(lines []byte)
	// Witness, if not nil, gets the end of the log each second in which the log grew, and when it is
	// closed.
	Witness *Witness
	// Logger logs errors; the default is slog.Default().
	Logger *slog.Logger
}

// ErrInUse reports that another process is writing the log.
var ErrInUse = errors.New("another process writes to this audit log")

// ErrOtherKey reports that a log was written with another key. The given key can neither verify nor
// continue it.
var ErrOtherKey = errors.New("the audit log was written with another key")

// ErrUnavailable reports that the log cannot be written. Requests are refused until it can be.
var ErrUnavailable = errors.New("the audit log cannot be written")

// A Log is an audit log in a folder of its own. Its methods are safe for concurrent use.
type Log struct {
	options Options
	dir     string
	root    *os.Root
	lock    *filelock.File
	turn    chan struct{} // has capacity 1; holds a token of the goroutine that writes
	timer   *time.Timer   // starts the next checkpoint
	ageing  *time.Timer   // starts the next check for old files
	heading *time.Timer   // starts the next write of the head

	running atomic.Int64 // number of requests that will each add a line
	looked  atomic.Int64 // time of the last check that found the files in their place, in nanoseconds; 0 if it did not

	mu      sync.Mutex
	pending *group
	spare   [][]byte // buffers of written lines for reuse
	armed   bool     // whether timer runs
	closed  bool
	failing error // error of the last write; nil if it succeeded

	witnessing *witnessing // nil without a witness

	folds folds
	disk  disk // belongs to the goroutine whose token turn holds
}

// A group holds lines that are written together.
type group struct {
	objects [][]byte
	size    int
	lost    int           // lines that were dropped because too many waited
	done    chan struct{} // closed when the lines are written or have failed
	err     error
}

func newGroup() *group { return &group{done: make(chan struct{})} }

// Open opens the log in a folder and continues after the log's last line. It creates a missing
// folder with access for its owner only. It cuts off a partial write of an earlier process, and
// adds notes about that and about missing lines. The error is ErrInUse if another process writes
// the log, and ErrOtherKey if the log has another key.
func Open(dir string, o Options) (*Log, error) {
	if o.Key == nil {
		return nil, errors.New("audit: Options.Key is missing; see ReadKey")
	}
	if o.MaxFile <= 0 {
		o.MaxFile = defaultFile
	}
	if o.MaxAge <= 0 {
		o.MaxAge = defaultFileAge
	}
	if o.KeepFor > 0 {
		o.MaxAge = min(o.MaxAge, o.KeepFor)
	}
	if o.Keep <= 0 {
		o.Keep = defaultKeep
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	lock, err := filelock.Try(filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("audit: %w: %s; give each its own folder", ErrInUse, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("audit: %w", err)
	}
	l := &Log{options: o, dir: dir, root: root, lock: lock, turn: make(chan struct{}, 1), pending: newGroup()}
	room := o.Keep / refusedPart
	l.folds = folds{most: room, by: map[foldKey]*fold{}, places: share.New(maxFolds), room: room, took: map[string]int64{}}
	l.disk = disk{root: root, dir: dir, options: &l.options}
	notes, err := l.disk.open()
	if err != nil {
		_ = root.Close()
		_ = lock.Close()
		return nil, fmt.Errorf("audit: %s: %w", dir, err)
	}
	l.mu.Lock() // the timers may fire at once
	l.armed = true
	l.timer = time.AfterFunc(checkpointTime, l.checkpoint)
	l.ageing = time.AfterFunc(l.agePause(), l.age)
	l.heading = time.AfterFunc(headTime, l.writeHead)
	l.mu.Unlock()
	if o.Witness != nil {
		if err := l.witness(); err != nil {
			return nil, errors.Join(fmt.Errorf("audit: %s: %w", dir, err), l.Close())
		}
	}
	for _, why := range notes {
		o.Logger.Warn("audit: "+why, "folder", dir)
		_ = l.Note(&Record{Kind: KindNote, Reason: why})
	}
	return l, nil
}

// errFull reports that too many lines wait to be written.
var errFull = errors.New("too many lines wait")

// Note adds a line and does not wait until it is written, unless too many lines wait. The next
// Append, Flush or checkpoint writes the line. Note returns an error if the log is closed, or if
// the log cannot be written and too many lines wait.
func (l *Log) Note(r *Record) error {
	_, err := l.put(r)
	return err
}

// Withhold adds a line about a server's definition that is withheld from clients. It does not wait
// until the line is written. Repeated equal lines are counted and limited to a part of the log, so
// that a server that constantly changes cannot displace other lines.
func (l *Log) Withhold(r *Record) error {
	r.Kind, r.refusal, r.caller = KindDecision, true, "server "+r.Server
	if !l.folds.refused(r, true, time.Now()) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.arm() // schedules the line with the count
		return nil
	}
	return l.Note(r)
}

// Append adds a line and waits until it and all lines before it are on disk. An error wraps
// ErrUnavailable; the lines are then written as soon as that is possible.
func (l *Log) Append(r *Record) error {
	g, err := l.put(r)
	if err != nil {
		return err
	}
	return l.commit(g)
}

// put adds a line, and waits for room if there is none. While lines can be written, no caller loses
// a line because another caller adds many.
func (l *Log) put(r *Record) (*group, error) {
	for {
		g, err := l.add(r, true)
		if err != errFull {
			return g, err
		}
		_ = l.commit(g) // the next call of add returns an error of the log
	}
}

// Flush waits until all lines are on disk.
func (l *Log) Flush() error {
	l.mu.Lock()
	g := l.pending
	l.mu.Unlock()
	return l.commit(g)
}

// Err returns the error of the last write, or nil if that succeeded.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failing
}

// add adds a line. If too many lines wait and waits is set, add returns errFull and the group to
// wait for.
func (l *Log) add(r *Record, waits bool) (*group, error) {
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	object := r.append(l.buffer())
	if len(object) > maxLine {
		short := *r
		if short.Result = nil; short.Arguments != nil {
			short.Arguments = tooLong()
		}
		object = short.append(nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.pending
	switch {
	case l.closed:
		return nil, fmt.Errorf("%w: it is closed", ErrUnavailable)
	case len(object) > maxLine:
		return nil, fmt.Errorf("%w: a line of %d bytes is too long", ErrUnavailable, len(object))
	case g.size+len(object) > maxPending && waits && l.failing == nil:
		return g, errFull
	case g.size+len(object) > maxPending:
		if g.lost++; l.failing != nil {
			return nil, l.failing
		}
		return nil, fmt.Errorf("%w fast enough: %d MiB of lines wait", ErrUnavailable, maxPending>>20)
	}
	g.objects, g.size = append(g.objects, object), g.size+len(object)
	l.folds.wrote(len(object), r)
	l.arm()
	return g, nil
}

// buffer returns an empty buffer, reused if possible.
func (l *Log) buffer() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.spare) - 1
	if last < 0 {
		return make([]byte, 0, 512) // enough for most lines
	}
	b := l.spare[last]
	l.spare = l.spare[:last]
	return b[:0]
}

// arm starts the timer of the next checkpoint unless it runs. The caller holds the lock.
func (l *Log) arm() {
	if !l.armed {
		l.armed = true
		l.timer.Reset(checkpointTime)
	}
}

// commit waits until a group is written. A caller that gets the turn writes all lines that wait by
// then. So a single request needs no other goroutine, and concurrent requests share one write.
func (l *Log) commit(g *group) error {
	select {
	case <-g.done:
		return g.err
	case l.turn <- struct{}{}:
	}
	select {
	case <-g.done:
		<-l.turn
		return g.err
	default:
	}
	l.gather()
	l.write()
	<-l.turn
	return g.err
}

// gather waits briefly for the lines of other running requests, and continues to wait while they
// arrive. One wait for the disk costs the same for many lines as for one.
func (l *Log) gather() {
	const steps = 4
	before := 0
	for range steps {
		l.mu.Lock()
		lines := len(l.pending.objects)
		l.mu.Unlock()
		if lines == before || int64(lines) >= l.running.Load() {
			return
		}
		if l.options.NoSync { // without a sync, a write is short; only goroutines that can run now may join it
			runtime.Gosched()
			return
		}
		before = lines
		time.Sleep(gatherTime / steps)
	}
}

// write writes the pending group. The caller holds the turn.
func (l *Log) write() {
	l.mu.Lock()
	g := l.pending
	l.pending = newGroup()
	l.mu.Unlock()
	due := l.disk.headDue
	g.err = l.disk.write(g)
	if l.disk.headDue && !due {
		l.heading.Reset(headTime)
	}
	l.looked.Store(0)
	if at := l.disk.looked; !at.IsZero() {
		l.looked.Store(at.UnixNano())
	}
	if g.err != nil {
		g.err = fmt.Errorf("%w: %w", ErrUnavailable, g.err)
	}
	l.mu.Lock()
	before := l.failing
	l.failing = g.err
	if g.err != nil {
		l.pending.keep(g)
		if !l.closed {
			l.arm() // to try again, even if no request arrives
		}
	} else {
		l.spare = append(l.spare, g.objects[:min(len(g.objects), maxSpare-len(l.spare))]...)
		g.objects = nil
	}
	l.mu.Unlock()
	switch {
	case g.err != nil && before == nil:
		l.options.Logger.Error("audit: lines are not written", "folder", l.dir, "error", g.err)
	case g.err == nil && before != nil:
		l.options.Logger.Warn("audit: lines are written again", "folder", l.dir)
	}
	close(g.done)
}

// keep puts the lines of before in front of those of g. The group before could not be written. If
// too many lines wait, the newest are dropped and counted.
func (g *group) keep(before *group) {
	objects := append(before.objects, g.objects...)
	g.objects, g.size, g.lost = nil, 0, g.lost+before.lost
	for i, object := range objects {
		if g.size+len(object) > maxPending {
			g.lost += len(objects) - i
			return
		}
		g.objects, g.size = append(g.objects, object), g.size+len(object)
	}
}

// checkpoint writes pending lines, and a signature if there are unsigned lines.
func (l *Log) checkpoint() {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	closed := l.closed
	l.armed = false
	l.mu.Unlock()
	if closed {
		return
	}
	if l.noteFolded(false); l.folds.waits() {
		l.mu.Lock()
		l.arm()
		l.mu.Unlock()
	}
	l.disk.due = true
	l.write()
}

// writeHead writes the head if it is older than the lines. After an error, the next group or
// checkpoint tries again.
func (l *Log) writeHead() {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.disk.headDue { // false if the log is closed
		_ = l.disk.writeHead()
	}
}

// noteFolded adds lines for counted refusals. The caller holds the turn.
func (l *Log) noteFolded(all bool) {
	now := time.Now()
	for _, key := range l.folds.due(now, all) {
		if r := l.folds.line(key, now, all); r != nil {
			_, _ = l.add(r, false)
		}
	}
}

// agePause returns the time between two checks for old files. It is at most a tenth of the age for
// finishing or removing a file.
func (l *Log) agePause() time.Duration { return max(time.Second, min(agePause, l.options.MaxAge/10)) }

// age finishes an old file and removes old files, even if no lines are written. A checkpoint
// reports the removal.
func (l *Log) age() {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.mu.Lock()
	closed := l.closed
	l.mu.Unlock()
	if closed {
		return
	}
	l.disk.aged = true
	l.write()
	l.ageing.Reset(l.agePause())
}

// Close writes pending lines with a last signature and closes the log. The error reports lines that
// could not be written and are lost.
func (l *Log) Close() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.noteFolded(true)
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	l.timer.Stop()
	l.ageing.Stop()
	l.heading.Stop()
	l.disk.due = true
	l.write()
	if l.witnessing != nil {
		l.witnessing.close()
	}
	err := l.Err()
	var errs []error
	for _, f := range []*os.File{l.disk.file, l.disk.headFile} {
		if f != nil {
			errs = append(errs, f.Sync(), f.Close())
		}
	}
	return errors.Join(err, errors.Join(errs...), l.root.Close(), l.lock.Close())
}

// Refused returns an error if requests must be refused now because they cannot be logged. It tries
// to write to a log that failed before, and once a second it checks that the files are still in
// their place.
func (l *Log) Refused() error {
	if l.options.GoOn || l.Err() == nil && time.Now().UnixNano()-l.looked.Load() < int64(lookPause) {
		return nil
	}
	return l.Flush()
}

// Check returns the reason why the log cannot be written now, even if GoOn is set. It returns nil
// if no such reason is known; it does not write a line to find out.
func (l *Log) Check() error { return l.Flush() }
