package audit

import (
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
)

const (
	// foldTime is the time within which equal refusals of one caller are one line, with a count.
	foldTime = time.Second
	// maxFolds bounds which refusals are counted apart, of which one caller has a quarter; all others are counted as one.
	maxFolds = 1_000
	// refusedPart is which part of what is kept lines of refusals may take: a tenth.
	refusedPart = 10
	// littlePart is which part of that a caller may take in a littleTime of the last quarter of it, which others leave.
	littlePart = 64
	littleTime = time.Hour
)

// A foldKey is what refusals have in common that become one line; the zero value stands for all that have no place of their own. The name
// that a client gives itself is none of it: it could be another each time.
type foldKey struct{ caller, profile, method, name, rule string }

// A fold are the refusals since the last line about them.
type fold struct {
	last  Record // the newest, without arguments
	count int    // that have no line
	since time.Time
}

// folds count refusals that come one after the other, so that whoever is refused writes no log, and removes none: a log keeps so many
// bytes. One caller takes no places and no room from another.
type folds struct {
	most int64 // bytes that lines of refusals may take where there are no others

	mu     sync.Mutex
	by     map[foldKey]*fold
	places *share.Budget    // of by, but for the zero key
	room   int64            // bytes that they may take now
	took   map[string]int64 // of them, by caller, since a time
	since  time.Time
}

// refused reports whether the record of a refusal gets a line of its own: the first one of a caller does, with named the first for each
// name. Others are counted.
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

// hasRoom reports whether a line of a caller's refusal may be written: the last quarter of the room is for callers that took little of it
// lately. The lock is held.
func (f *folds) hasRoom(caller string, now time.Time) bool {
	if len(f.took) > maxFolds || now.Sub(f.since) > littleTime {
		clear(f.took)
		f.since = now
	}
	return f.room > int64(share.Reserve(int(f.most))) || f.room > 0 && f.took[caller] <= f.most/littlePart
}

// due are the refusals that were counted for a time or, with all, until now; [folds.line] has their lines.
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

// line is the line for refusals that are due; nil as long as there is no room for it, and where it was written.
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

// waits reports whether refusals were counted that have no line yet.
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
