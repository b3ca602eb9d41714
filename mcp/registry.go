package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// An entry is one registered feature: its list entry, encoded once, and its implementation.
type entry struct {
	name    string
	listed  json.RawMessage
	feature any // of one type in a registry
}

// A registry holds the features of one kind. Readers take no lock, but use a snapshot. The first
// read after a change makes a new snapshot. So thousands of consecutive registrations cost only one
// snapshot.
type registry struct {
	lists   *revision.Method // method that lists the features; empty if there is none
	size    int              // entries on one page
	changed func()           // called when the list has changed

	mu      sync.Mutex
	entries map[string]*entry
	ever    atomic.Bool // set when a feature was first registered; the capability then stays declared
	snap    atomic.Pointer[snapshot]
	held    int  // number of running calls of Server.Batch
	stale   bool // the snapshot lacks changes that these calls hold back
	pending bool // the list has changed during these calls
}

// A snapshot is the immutable content of a registry at one time.
type snapshot struct {
	byName map[string]*entry
	sorted []*entry // by name; the order of the list, which is the same for every client
	pages  []*revision.Kept
}

// open sets how the entries are listed. It must be called before put.
func (r *registry) open(lists *revision.Method, size int, changed func()) {
	r.lists, r.size, r.changed = lists, size, changed
}

// put registers a feature, and reports whether it succeeded. Only with setting may it replace a
// feature with the same name.
func (r *registry) put(e *entry, how registration) bool {
	notify := false
	defer func() {
		if notify {
			r.changed()
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = make(map[string]*entry)
	}
	before, exists := r.entries[e.name]
	if exists && how == adding {
		return false
	}
	r.entries[e.name] = e
	r.ever.Store(true)
	notify = r.touch(!exists || !bytes.Equal(before.listed, e.listed))
	return true
}

// touch marks the snapshot as stale. It reports whether the caller must call changed. The caller
// holds r.mu.
func (r *registry) touch(changed bool) (notify bool) {
	if r.held > 0 {
		r.stale, r.pending = true, r.pending || changed
		return false
	}
	r.snap.Store(nil)
	return changed && r.changed != nil
}

// hold keeps the current snapshot until release is called.
func (r *registry) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current()
	r.held++
}

func (r *registry) release() {
	r.mu.Lock()
	r.held--
	notify := false
	if r.held == 0 && r.stale {
		r.stale = false
		notify = r.touch(r.pending)
		r.pending = false
	}
	r.mu.Unlock()
	if notify {
		r.changed()
	}
}

// remove removes features by name.
func (r *registry) remove(names ...string) {
	r.mu.Lock()
	before := len(r.entries)
	for _, name := range names {
		delete(r.entries, name)
	}
	notify := len(r.entries) < before && r.touch(true)
	r.mu.Unlock()
	if notify {
		r.changed()
	}
}

// find returns the feature with a name.
func find[F any](r *registry, name string) (feature F, ok bool) {
	e := r.read().byName[name]
	if e == nil {
		return feature, false
	}
	return e.feature.(F), true
}

func (r *registry) has(name string) bool { return r.read().byName[name] != nil }

func (r *registry) declared() bool { return r.ever.Load() }

// read returns the current snapshot.
func (r *registry) read() *snapshot {
	if s := r.snap.Load(); s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current()
}

// current is read for callers that hold r.mu.
func (r *registry) current() *snapshot {
	if s := r.snap.Load(); s != nil {
		return s
	}
	s := &snapshot{byName: make(map[string]*entry, len(r.entries)), sorted: make([]*entry, 0, len(r.entries))}
	for name, e := range r.entries {
		s.byName[name] = e
		s.sorted = append(s.sorted, e)
	}
	slices.SortFunc(s.sorted, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
	for at := 0; r.lists != nil && (at == 0 || at < len(s.sorted)); at += r.size {
		s.pages = append(s.pages, revision.Keep(r.lists.Name, s.page(r.lists.Member, at, r.size)))
	}
	r.snap.Store(s)
	return s
}

// page returns the entries from index at on, as the result of a list method.
func (s *snapshot) page(member string, at, size int) json.RawMessage {
	end := min(at+size, len(s.sorted))
	n := len(member) + 32
	for _, e := range s.sorted[at:end] {
		n += len(e.listed) + 1
	}
	w := jsonrpc.NewObject(make([]byte, 0, n+64))
	w.Array(member)
	for _, e := range s.sorted[at:end] {
		w.Element(e.listed)
	}
	w.End()
	if end < len(s.sorted) {
		w.String("nextCursor", base64.RawURLEncoding.EncodeToString([]byte(cursorPrefix+s.sorted[end-1].name)))
	}
	return w.Bytes()
}

// list handles a list request. The cursor contains the name of the last entry that the client has.
// So a change of the list between two pages neither repeats nor loses other entries.
func (r *registry) list(params json.RawMessage) (Result, error) {
	s := r.read()
	raw := memberOrNil(params, "cursor")
	if raw == nil {
		return Result{JSON: s.pages[0].JSON, Value: s.pages[0]}, nil
	}
	cursor, ok := jsonrpc.Unquote(raw)
	last, valid := decodeCursor(cursor)
	if !ok || !valid {
		return Result{}, Errorf(CodeInvalidParams, "cursor: expected one that this server gave as nextCursor, got %.80s", raw)
	}
	at, found := slices.BinarySearchFunc(s.sorted, last, func(e *entry, name string) int { return strings.Compare(e.name, name) })
	if found {
		at++
	}
	if at%r.size == 0 && at/r.size < len(s.pages) {
		page := s.pages[at/r.size]
		return Result{JSON: page.JSON, Value: page}, nil
	}
	return Result{JSON: s.page(r.lists.Member, at, r.size)}, nil
}

// memberOrNil is like jsonrpc.Get, but also returns nil for a member that is null.
func memberOrNil(params json.RawMessage, name string) json.RawMessage {
	if raw := jsonrpc.Get(params, name); string(raw) != "null" {
		return raw
	}
	return nil
}

// cursorPrefix begins the cursors of this package. The number in it is the version of the format.
const cursorPrefix = "j1:"

func decodeCursor(cursor string) (last string, ok bool) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || strings.ContainsAny(cursor, "\r\n") { // package base64 skips these
		return "", false
	}
	return strings.CutPrefix(string(data), cursorPrefix)
}
