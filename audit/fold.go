package audit

import (
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
)

const (
	// foldTime is the time within which equal refusals of one caller are one line, with a count.
	foldTime = time.Second
	// maxFolds limits the refusals that are counted separately, of which one caller has a quarter.
	// All others are counted as one.
	maxFolds = 1_000
	// refusedPart is the inverse of the part of the kept bytes for lines of refusals: a tenth.
	refusedPart = 10
	// littlePart is the inverse of the part of these bytes that a caller may take in a littleTime
	// from the last quarter, which is reserved.
	littlePart = 64
	littleTime = time.Hour
)

// A foldKey holds the fields that refusals in one line share. The zero value stands for all that
// have no place of their own. The client's own name is not in it, as it could differ each time.
type foldKey struct{ caller, profile, method, name, rule string }

// A fold counts the refusals since the last line about them.
type fold struct {
	last  Record // the newest, without arguments
	count int    // counts those without a line
	since time.Time
}

// folds counts repeated refusals. A log keeps a limited number of bytes, and a refused caller must
// neither fill it nor displace lines. One caller takes neither places nor bytes from another.
type folds struct {
	most int64 // limits the bytes of lines of refusals if there are no others

	mu     sync.Mutex
	by     map[foldKey]*fold
	places *share.Budget    // counts the entries of by, except the zero key
	room   int64            // the number of bytes that they may take now
	took   map[string]int64 // the bytes by caller since a time
	since  time.Time
}

// refused reports whether the record of a refusal gets a line of its own: the first one of a
// caller, or with named the first for each name. Others are counted.
func (f *folds) refused(r *Record, named bool, now time.Time) (own bool) {
	key := foldKey{r.caller, r.Profile, r.Method, "", r.Rule}
	if named {
		key.name = r.Name
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by[key] == nil && !f.places.Take(key.caller) {
		key = foldKey{}
	}
	x := f.by[key]
	if x == nil {
		x = &fold{since: now}
		f.by[key] = x
		if f.hasRoom(r.caller, now) {
			return true
		}
	}
	x.count++
	x.last = *r
	x.last.Arguments, x.last.Result = nil, nil
	x.last.Time = now
	return false
}

// hasRoom reports whether a line of a caller's refusal may be written. The last quarter of the room
// is for callers that took little of it recently. The caller holds the lock.
func (f *folds) hasRoom(caller string, now time.Time) bool {
	if len(f.took) > maxFolds || now.Sub(f.since) > littleTime {
		clear(f.took)
		f.since = now
	}
	return f.room > int64(share.Reserve(int(f.most))) || f.room > 0 && f.took[caller] <= f.most/littlePart
}

// due returns the refusals that were counted for foldTime or, with all, until now; [folds.line]
// returns their lines.
func (f *folds) due(now time.Time, all bool) (keys []foldKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, x := range f.by {
		switch {
		case !all && now.Sub(x.since) < foldTime:
		case x.count > 0:
			keys = append(keys, key)
		default:
			if delete(f.by, key); key != (foldKey{}) {
				f.places.Give(key.caller)
			}
		}
	}
	return keys
}

// line returns the line for due refusals, or nil while there is no room for it, or after it was
// written.
func (f *folds) line(key foldKey, now time.Time, all bool) *Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.by[key]
	if x == nil || x.count == 0 || !all && !f.hasRoom(x.last.caller, now) {
		return nil
	}
	r := x.last
	r.Kind, r.Refused, r.refusal = KindDecision, x.count, true
	if r.Decision == "" {
		r.Decision = Denied
	}
	x.count, x.since = 0, now
	return &r
}

// waits reports whether there are counted refusals without a line.
func (f *folds) waits() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.by) > 0
}

// wrote counts the bytes of a line: each of another line makes room for lines of refusals.
func (f *folds) wrote(bytes int, r *Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.refusal {
		f.room -= int64(bytes)
		f.took[r.caller] += int64(bytes)
	} else {
		f.room = min(f.room+int64(bytes)/(refusedPart-1), f.most)
	}
}
