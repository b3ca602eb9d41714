package streamable

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/state"
)

const (
	maxLogged       = 32 << 20 // bytes of events that one replica keeps in the log
	maxLoggedStream = 2 << 20  // of these, bytes of one stream
	maxLoggedCount  = 1_000    // records of one stream
	maxLoggedID     = 256      // bytes of the id of a request in a batch
	maxLoggedIDs    = 100      // requests of one stream that get an error if their replica ends

	eventLogTime   = 5 * time.Minute       // how long the events of a stream are kept after the last one
	eventLogBeat   = time.Minute           // interval at which the streams of running calls are kept alive
	eventLogPause  = 20 * time.Millisecond // time in which events wait for others, to be written together
	eventRetry     = time.Second           // pause after the log could not be written
	eventStoreTime = 5 * time.Second       // timeout of one operation on the log
	maxLogWriters  = 8                     // operations on the log at the same time
)

// A ReplicaLog is a log that all replicas of an endpoint reach, and that knows which of them run.
type ReplicaLog interface {
	state.Log
	// ID returns the name of this process among the replicas.
	ID() string
	// Lives reports whether the replica with a name runs. One that has ended may seem to run for
	// some seconds.
	Lives(ctx context.Context, replica string) (bool, error)
}

// An EventLog keeps events of shared sessions where all replicas find them. So a client can resume
// at any replica, also after the end of the one that sent the events. It keeps only streams that
// have an event before the response to a request. Several endpoints may use one EventLog. Make it
// with [NewEventLog].
type EventLog struct {
	log      ReplicaLog
	replica  string // name of this process
	ring     *seal.Ring
	logger   *slog.Logger
	followed *share.Budget // streams of other replicas that are sent to clients here

	wake chan struct{} // has a value if there is something to write
	done chan struct{} // closed by Close
	end  sync.Once
	runs sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	held      *share.Held           // bytes by caller
	of        map[string]*list.List // of *loggedStream by caller; the stream without a new event for longest is first
	queue     []*loggedStream       // streams with something to write
	waiting   []chan struct{}       // closed after the next write of everything
	isWriting bool                  // run writes what was in the queue
	isBad     bool                  // the last write failed
}

// A loggedStream is a stream of this replica in the log. The lock of the EventLog guards the fields
// that change.
type loggedStream struct {
	key     string
	caller  string
	fromGET bool
	batch   bool
	ids     []jsonrpc.ID // requests whose responses the stream has

	events  []byte // the encoded events for the next record
	bytes   int    // counted for the caller
	grown   int    // bytes written since the log was trimmed
	records int    // records written since then
	queued  bool
	final   bool // no more events follow
	dropped bool // the stream is not kept any more
	at      time.Time
	place   *list.Element // in the list of the caller; nil without events
}

// NewEventLog returns an EventLog on a log. The key encrypts the events, and must have the same 32
// random bytes at all replicas. The caller must close the EventLog after the endpoints that use it,
// while the log is still open.
func NewEventLog(log ReplicaLog, key []byte, logger *slog.Logger) (*EventLog, error) {
	ring, err := seal.NewRing(key)
	if err != nil {
		return nil, err
	}
	l := &EventLog{log: log, replica: log.ID(), ring: ring, logger: cmp.Or(logger, slog.Default()), followed: share.New(maxFollowed), wake: make(chan struct{}, 1), done: make(chan struct{}), held: share.NewHeld(), of: map[string]*list.List{}}
	l.runs.Go(l.run)
	return l, nil
}

// Close writes the remaining events. Later ones are not kept.
func (l *EventLog) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end.Do(func() { close(l.done) })
	l.runs.Wait()
}

// logKey returns the key of a stream. All streams of a session are in one group.
func logKey(session sharedKey, stream uint64) string {
	return "events:" + hex.EncodeToString(session[:]) + "/" + strconv.FormatUint(stream, 36)
}

// logged returns the place of a stream in the log, or nil if its events are not kept there.
func (s *session) logged(st *stream) *loggedStream {
	if !s.isShared() || s.endpoint.options.EventLog == nil {
		return nil
	}
	return &loggedStream{key: logKey(s.key, st.number), caller: s.caller, fromGET: st.fromGET}
}

// add adds an event to a stream. Without data it adds only what is known about the stream. It does
// not wait for the log.
func (l *EventLog) add(st *loggedStream, number uint64, data []byte, final bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || st.dropped || st.final {
		return
	}
	if len(data) > maxLoggedStream/2 {
		if !final {
			return
		}
		data = st.failure("the response is too large to be kept for a client that lost its connection")
	}
	size := eventOverhead + len(data)
	if st.place != nil && len(data) > 0 {
		size = min(size, max(0, maxLoggedStream-st.bytes)) // the log of the stream is trimmed
	}
	if !l.makeRoom(st, size) {
		l.drop(st)
		return
	}
	if len(st.events)+len(data) > maxLoggedStream { // they come faster than the log takes them
		st.events = nil
	}
	if len(data) > 0 {
		st.events = appendField(binary.AppendUvarint(st.events, number), data)
	}
	st.final, st.at = final, time.Now()
	st.bytes += size
	l.held.Add(st.caller, size)
	of := l.of[st.caller]
	if of == nil {
		of = list.New()
		l.of[st.caller] = of
	}
	if st.place == nil {
		st.place = of.PushBack(st)
	} else {
		of.MoveToBack(st.place)
	}
	l.enqueue(st)
}

// failure returns the response of the stream's requests that an error ended.
func (st *loggedStream) failure(text string) []byte {
	fault := jsonrpc.Errorf(jsonrpc.InternalError, "%s", text)
	if !st.batch {
		var id jsonrpc.ID
		if len(st.ids) > 0 {
			id = st.ids[0]
		}
		return jsonrpc.AppendError(nil, id, fault)
	}
	w := jsonrpc.NewArray(nil)
	for _, id := range st.ids {
		w.Element(jsonrpc.AppendError(nil, id, fault))
	}
	return w.Bytes()
}

// makeRoom drops streams of the caller with the most bytes until there is room for size bytes of a
// stream. It reports false if that stream itself would be dropped. The caller holds the lock.
func (l *EventLog) makeRoom(st *loggedStream, size int) bool {
	for l.held.Used()+size > maxLogged {
		from, ok := l.held.GivesUp(st.caller, size)
		if !ok {
			return false
		}
		oldest := l.of[from].Front().Value.(*loggedStream)
		if oldest == st {
			return false
		}
		l.drop(oldest)
	}
	return true
}

// drop removes a stream from the log. The caller holds the lock.
func (l *EventLog) drop(st *loggedStream) {
	st.dropped, st.events = true, nil
	if st.place != nil {
		l.forget(st)
		l.enqueue(st)
	}
}

// forget ends counting a stream. The caller holds the lock.
func (l *EventLog) forget(st *loggedStream) {
	l.held.Add(st.caller, -st.bytes)
	st.bytes = 0
	of := l.of[st.caller]
	if of.Remove(st.place); of.Len() == 0 {
		delete(l.of, st.caller)
	}
	st.place = nil
}

// enqueue makes run write a stream. The caller holds the lock.
func (l *EventLog) enqueue(st *loggedStream) {
	if !st.queued {
		st.queued = true
		l.queue = append(l.queue, st)
	}
	l.notify()
}

func (l *EventLog) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// remove removes the streams of a session that its client has ended.
func (l *EventLog) remove(streams []*stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, st := range streams {
		if st.logged != nil && !st.logged.dropped {
			l.drop(st.logged)
		}
	}
}

// settle waits until the log has all events that were added. It reports whether it has them.
func (l *EventLog) settle(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, eventStoreTime)
	defer cancel()
	written := make(chan struct{})
	l.mu.Lock()
	if l.isBad || len(l.queue) == 0 && len(l.waiting) == 0 && !l.isWriting {
		defer l.mu.Unlock()
		return !l.isBad
	}
	l.waiting = append(l.waiting, written)
	l.mu.Unlock()
	l.notify()
	select {
	case <-written:
		l.mu.Lock()
		defer l.mu.Unlock()
		return !l.isBad
	case <-ctx.Done():
	case <-l.done:
	}
	return false
}

// run writes what is added until the EventLog is closed.
func (l *EventLog) run() {
	beat := time.NewTicker(eventLogBeat)
	defer beat.Stop()
	for {
		select {
		case <-l.wake:
			pause := eventLogPause
			l.mu.Lock()
			if l.isBad {
				pause = eventRetry
			} else if len(l.waiting) > 0 {
				pause = 0
			}
			l.mu.Unlock()
			select {
			case <-time.After(pause):
			case <-l.done:
			}
			l.write()
		case <-beat.C:
			l.keep(time.Now())
		case <-l.done:
			l.write()
			return
		}
	}
}

// keep has the log keep the streams of running calls, and forgets streams whose time is over.
func (l *EventLog) keep(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range l.of {
		for e := of.Front(); e != nil; {
			st := e.Value.(*loggedStream)
			e = e.Next()
			switch {
			case !st.final && !st.fromGET:
				if now.Sub(st.at) >= eventLogBeat {
					l.enqueue(st)
				}
			case now.Sub(st.at) >= eventLogTime:
				st.dropped, st.events = true, nil
				l.forget(st)
			}
		}
	}
}

// write writes everything in the queue.
func (l *EventLog) write() {
	l.mu.Lock()
	queue, waiting := l.queue, l.waiting
	l.queue, l.waiting, l.isWriting = nil, nil, true
	l.mu.Unlock()
	var writing sync.WaitGroup
	slots := make(chan struct{}, maxLogWriters)
	errs := make([]error, len(queue))
	for i, st := range queue {
		slots <- struct{}{}
		writing.Go(func() {
			defer func() { <-slots }()
			errs[i] = l.writeStream(st)
		})
	}
	writing.Wait()
	failed := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	l.mu.Lock()
	was := l.isBad
	l.isWriting = false
	if len(queue) > 0 {
		l.isBad = failed >= 0
	}
	l.mu.Unlock()
	if failed >= 0 && !was {
		l.logger.Warn("mcp: events wait to be kept for clients that resume at another replica", "error", errs[failed])
	}
	for _, w := range waiting {
		close(w)
	}
}

// writeStream writes what was added to a stream. After an error, it puts the stream into the queue
// again.
func (l *EventLog) writeStream(st *loggedStream) error {
	ctx, cancel := context.WithTimeout(context.Background(), eventStoreTime)
	defer cancel()
	l.mu.Lock()
	st.queued = false
	events, final, dropped := st.events, st.final, st.dropped
	record := logRecord{final: final, fromGET: st.fromGET, batch: st.batch, replica: l.replica, ids: st.ids, encoded: events}
	st.events = nil
	l.mu.Unlock()
	if dropped {
		_ = l.log.Trim(ctx, st.key, state.Keep{Count: -1}, state.Hold{}) // after an error it expires
		return nil
	}
	sealed := l.seal(st.key, &record)
	_, err := l.log.Append(ctx, st.key, sealed, state.Write{TTL: eventLogTime})
	if errors.Is(err, state.ErrUncertain) { // readers leave out an event that they have
		_, err = l.log.Append(ctx, st.key, sealed, state.Write{TTL: eventLogTime})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		if !st.dropped && !l.closed {
			if len(events)+len(st.events) <= maxLoggedStream {
				st.events = append(bytes.Clone(events), st.events...)
			}
			l.enqueue(st)
		}
		return fmt.Errorf("the log: %w", err)
	}
	st.grown += len(sealed)
	// The log of a stream has up to twice maxLoggedStream. The newest record, encrypted, always fits.
	if st.records++; st.grown > maxLoggedStream/2 || st.records > maxLoggedCount/2 {
		st.grown, st.records = 0, 0
		l.mu.Unlock()
		_ = l.log.Trim(ctx, st.key, state.Keep{Count: maxLoggedCount, Bytes: maxLoggedStream * 3 / 2, Age: eventLogTime}, state.Hold{}) // after an error the next time
		l.mu.Lock()
	}
	return nil
}

// A logRecord is one record of a stream in the log. Each one tells all about the stream, as the
// first ones may have been trimmed.
type logRecord struct {
	final, fromGET, batch bool
	replica               string
	ids                   []jsonrpc.ID
	encoded               []byte // the events: number, size and data of each
}

const (
	logVersion = 1 // first byte of a record; it changes with the format

	logFinal   = 1 << 0
	logFromGET = 1 << 1
	logBatch   = 1 << 2
)

// errRecord is returned for a record that no replica wrote.
var errRecord = errors.New("it is not a record of events")

// seal returns a record in its form in the log.
func (l *EventLog) seal(key string, r *logRecord) []byte {
	flags := byte(0)
	for i, set := range []bool{r.final, r.fromGET, r.batch} {
		if set {
			flags |= 1 << i
		}
	}
	b := appendField([]byte{logVersion, flags}, []byte(r.replica))
	b = binary.AppendUvarint(b, uint64(len(r.ids)))
	for _, id := range r.ids {
		b = appendField(b, []byte(id))
	}
	return []byte(l.ring.Seal(append(b, r.encoded...), []byte(key)))
}

// open returns a record of the log.
func (l *EventLog) open(key string, sealed []byte) (*logRecord, error) {
	b, err := l.ring.Open(string(sealed), []byte(key))
	if err != nil {
		return nil, err
	}
	if len(b) < 2 || b[0] != logVersion {
		return nil, errRecord
	}
	r := &logRecord{final: b[1]&logFinal != 0, fromGET: b[1]&logFromGET != 0, batch: b[1]&logBatch != 0}
	replica, b, ok := cutField(b[2:])
	n, width := binary.Uvarint(b)
	if !ok || width <= 0 || n > maxLoggedIDs {
		return nil, errRecord
	}
	r.replica, b = string(replica), b[width:]
	for range n {
		var id []byte
		if id, b, ok = cutField(b); !ok {
			return nil, errRecord
		}
		r.ids = append(r.ids, jsonrpc.ID(id))
	}
	r.encoded = b
	return r, nil
}

// events returns the events of the record with higher numbers than after.
func (r *logRecord) events(stream, after uint64) (found []Event, err error) {
	for b := r.encoded; len(b) > 0; {
		number, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errRecord
		}
		data, rest, ok := cutField(b[n:])
		if !ok {
			return nil, errRecord
		}
		if b = rest; number > after {
			found, after = append(found, Event{stream, number, data}), number
		}
	}
	return found, nil
}

// appendField appends a text with its size.
func appendField(dst, field []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(field))), field...)
}

// cutField returns the text that appendField wrote, and the rest.
func cutField(b []byte) (field, rest []byte, ok bool) {
	size, n := binary.Uvarint(b)
	if n <= 0 || size > uint64(len(b)-n) {
		return nil, nil, false
	}
	return b[n : n+int(size)], b[n+int(size):], true
}
