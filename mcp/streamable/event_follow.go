package streamable

import (
	"context"
	"encoding/binary"
	"errors"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/mcp/internal/httpedge"
	"github.com/junction-mcp/junction/state"
)

const (
	maxFollowed      = 200                   // streams of other replicas that clients follow at one; one caller may have a quarter
	maxFollowRecords = 20                    // records of one read
	followPause      = 50 * time.Millisecond // shortest pause between two reads
	maxFollowPause   = time.Second           // longest one
	freshTime        = time.Second           // within which the first events of a stream are in the log
	runsPause        = time.Second           // between two checks whether the replica of a stream runs
	endedTime        = 3 * time.Second       // after which a replica that does not run has ended
)

// lostNumber is the number of the error that ends a stream whose replica has ended. It is higher
// than those of all events.
const lostNumber = 1 << 62

// lostText is the message of that error.
const lostText = "the replica of this server that ran the request has ended; the request may have had effects"

// errUnknownStream means that the log does not have a stream.
var errUnknownStream = errors.New("the stream is not in the log")

// A follower reads a stream of another replica from the log. Only one goroutine uses it.
type follower struct {
	log      *EventLog
	key      string
	stream   uint64
	after    uint64 // number of the newest event that the client has
	position uint64
	newest   *logRecord
}

// read returns the events after those that it returned before.
func (f *follower) read(ctx context.Context) (found []Event, err error) {
	ctx, cancel := context.WithTimeout(ctx, eventStoreTime)
	defer cancel()
	records, err := f.log.log.Read(ctx, f.key, f.position, maxFollowRecords)
	if errors.Is(err, state.ErrTrimmed) {
		f.position, f.newest = 0, nil
		records, err = f.log.log.Read(ctx, f.key, 0, maxFollowRecords)
	}
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if f.newest != nil && f.newest.final {
			break
		}
		f.position = r.Position
		if f.newest, err = f.log.open(f.key, r.Value); err != nil {
			return nil, err
		}
		events, err := f.newest.events(f.stream, f.after)
		if err != nil {
			return nil, err
		}
		if len(events) > 0 {
			found, f.after = append(found, events...), events[len(events)-1].Number
		}
	}
	if f.newest == nil {
		return nil, errUnknownStream
	}
	return found, nil
}

// begin is read for the first time. It waits for a stream that has just begun.
func (f *follower) begin(ctx context.Context) (found []Event, err error) {
	for end := time.Now().Add(freshTime); ; {
		found, err = f.read(ctx)
		if !errors.Is(err, errUnknownStream) || time.Now().After(end) {
			return found, err
		}
		select {
		case <-time.After(followPause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// fail ends a stream whose replica has ended with an error, unless the stream has a response by now.
// The log decides which one is first, so clients get one response.
func (f *follower) fail(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, eventStoreTime)
	defer cancel()
	r := *f.newest
	st := &loggedStream{batch: r.batch, ids: r.ids}
	r.final, r.replica = true, f.log.replica
	r.encoded = appendField(binary.AppendUvarint(nil, lostNumber), st.failure(lostText))
	_, err := f.log.log.Append(ctx, f.key, f.log.seal(f.key, &r), state.Write{TTL: eventLogTime})
	return err
}

// resumeElsewhere responds with the rest of a stream of another replica, from there or from the log.
// It reports false if it sent nothing.
func (x *exchange) resumeElsewhere(s *session, fromGET bool, number, after uint64) bool {
	resumed, away := x.resumeAtPeer()
	if resumed {
		return true
	}
	err := errUnknownStream
	if log := x.endpoint.options.EventLog; log != nil && !x.isPassedOn() {
		f := &follower{log: log, key: logKey(s.key, number), stream: number, after: after}
		var found []Event
		if found, err = f.begin(x.r.Context()); err == nil && f.newest.fromGET == fromGET {
			x.resumeLogged(s, f, found)
			return true
		}
	}
	switch {
	case fromGET:
		return false
	case away:
		x.refuse(http.StatusServiceUnavailable, "no replica knows the stream of this event, and %v", errPeerAway)
		return true
	case !errors.Is(err, errUnknownStream):
		x.endpoint.log.Debug("mcp: the events of a stream cannot be read", "error", err)
		x.refuse(http.StatusServiceUnavailable, "the events of other replicas cannot be read now")
		return true
	}
	return false
}

// resumeLogged responds with the events of a stream that the client does not have. Notifications
// then continue on a new stream.
func (x *exchange) resumeLogged(s *session, f *follower, found []Event) {
	st := &stream{session: s, number: f.stream, fromGET: f.newest.fromGET}
	if st.fromGET {
		x.listen(s, nil, 0, func(ctx context.Context, out *httpedge.EventWriter) error {
			return f.replay(ctx, x.Caller(), st, out, found)
		})
		return
	}
	c := &call{listens: true, streams: x.Caller()}
	ctx, ok := x.enter(x.context(), c, "")
	if !ok {
		return
	}
	defer x.endpoint.end(c)
	if !f.log.followed.Take(c.streams) {
		x.unavailable("", "%v", errFollowed)
		return
	}
	defer f.log.followed.Give(c.streams)
	s.countResumed(1)
	defer s.countResumed(-1)
	out := x.openEvents(func() { x.endpoint.calls.Cancel(c, nil) })
	defer out.Close()
	if out.Begin() != nil {
		return
	}
	if err := f.follow(ctx, st, out, found); err != nil && ctx.Err() == nil {
		x.endpoint.log.Debug("mcp: a client must resume a stream again", "error", err)
	}
}

// errFollowed means that too many streams of other replicas are resumed here.
var errFollowed = errors.New("too many streams of other replicas are resumed here")

// replay sends the events of a stream that are in the log now.
func (f *follower) replay(ctx context.Context, caller string, st *stream, out *httpedge.EventWriter, found []Event) (err error) {
	if !f.log.followed.Take(caller) {
		return errFollowed
	}
	defer f.log.followed.Give(caller)
	for range maxLoggedCount { // more may come
		for _, e := range found {
			if err := out.Write(ctx, st.event(e.Number, e.Data)); err != nil {
				return err
			}
		}
		if found, err = f.read(ctx); err != nil || len(found) == 0 {
			return nil // notifications continue on the new stream
		}
	}
	return nil
}

// follow sends the events of a stream until its end, or until an error.
func (f *follower) follow(ctx context.Context, st *stream, out *httpedge.EventWriter, found []Event) (err error) {
	pause, checked, ended := followPause, time.Now(), time.Time{}
	for {
		for _, e := range found {
			if err := out.Write(ctx, st.event(e.Number, e.Data)); err != nil {
				return err
			}
			pause = followPause
		}
		if f.newest.final {
			return nil
		}
		if len(found) == 0 && time.Since(checked) >= runsPause {
			checked = time.Now()
			runs, err := f.runs(ctx)
			switch {
			case err != nil:
				return err
			case runs:
				ended = time.Time{}
			case ended.IsZero():
				ended = checked
			case checked.Sub(ended) >= endedTime:
				if err := f.fail(ctx); err != nil {
					return err
				}
			}
		}
		if len(found) == 0 {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			pause = min(2*pause, maxFollowPause)
		}
		if found, err = f.read(ctx); err != nil {
			return err
		}
	}
}

// runs reports whether the replica of the stream runs. This one has forgotten the stream.
func (f *follower) runs(ctx context.Context) (bool, error) {
	if f.newest.replica == f.log.replica {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, eventStoreTime)
	defer cancel()
	return f.log.log.Lives(ctx, f.newest.replica)
}
