package audit

import (
	"cmp"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
)

const (
	// foldTime is the period for counting equal refusals of one caller on one line.
	foldTime = time.Second
	// maxFolds limits the number of separate counts. One caller gets at most a quarter of them. All
	// further refusals share one count.
	maxFolds = 1_000
	// refusedPart is the divisor for the bytes that lines of refusals may take: a tenth of all kept
	// bytes.
	refusedPart = 10
	// littlePart and littleTime limit one caller's share of the last quarter of those bytes, which
	// is reserved. In each littleTime a caller may take the littlePart-th part of all of them.
	littlePart = 64
	littleTime = time.Hour
)

// A foldKey holds the fields that the refusals of one line have in common. The zero value is for
// all refusals beyond maxFolds. It does not include the client's own name, which a client could
// change each time.
type foldKey struct{ caller, profile, method, name, rule string }

// A fold counts the refusals of one foldKey since the last line about them.
type fold struct {
	last  Record // newest refusal, without arguments
	count int    // number of refusals without a line
	since time.Time
}

// folds counts repeated refusals. The bytes of a log are limited, and a refused caller must not
// displace other lines. One caller cannot take the places or bytes of another.
type folds struct {
	most int64 // limit of the bytes of refusals in a log without other lines

	mu     sync.Mutex
	by     map[foldKey]*fold
	places *share.Budget    // counts the entries of by except the zero key, by caller
	room   int64            // bytes that lines of refusals may take now
	took   map[string]int64 // bytes taken by each caller since the time in since
	since  time.Time
}

// refused reports whether a refusal gets its own line. The first refusal of a foldKey does; with
// named, each name has its own key. All other refusals are counted.
func (f *folds) refused(r *Record, named bool, now time.Time) (own bool) {
	key := foldKey{r.caller, r.Profile, cmp.Or(r.Method, r.Event), "", r.Rule}
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

// hasRoom reports whether there is room for a line about a caller's refusals. The last quarter of
// the room is for callers that took little of it recently. The caller holds the lock.
func (f *folds) hasRoom(caller string, now time.Time) bool {
	if len(f.took) > maxFolds || now.Sub(f.since) > littleTime {
		clear(f.took)
		f.since = now
	}
	return f.room > int64(share.Reserve(int(f.most))) || f.room > 0 && f.took[caller] <= f.most/littlePart
}

// due returns the keys whose refusals were counted for foldTime or, if all is set, all keys with
// counts. [folds.line] returns their lines.
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

// line returns the line for the counted refusals of a key. It returns nil if there is no count, or
// no room for the line yet.
func (f *folds) line(key foldKey, now time.Time, all bool) *Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	x := f.by[key]
	if x == nil || x.count == 0 || !all && !f.hasRoom(x.last.caller, now) {
		return nil
	}
	r := x.last
	r.Refused, r.refusal = x.count, true
	if r.Kind != KindAdmin {
		r.Kind, r.Decision = KindDecision, cmp.Or(r.Decision, Denied)
	}
	x.count, x.since = 0, now
	return &r
}

// waits reports whether counted refusals may still need a line.
func (f *folds) waits() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.by) > 0
}

// wrote counts the bytes of a written line. A line of a refusal takes room; any other line makes
// room for refusals.
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
