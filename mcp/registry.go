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
)

// An entry is one registered feature: what is listed of it, encoded once, and
// what runs when it is asked for.
type entry[F any] struct {
	name    string
	listed  json.RawMessage
	feature F
}

// A registry holds the features of one kind. Reading takes no lock: it works on
// a snapshot that is made again at the first read after a change, so that
// thousands of registrations in a row cost one snapshot.
type registry[F any] struct {
	member  string // has the entries in the result of the method that lists them; empty if there is none
	size    int    // of its pages
	changed func() // what is listed

	mu      sync.Mutex
	entries map[string]*entry[F]
	ever    atomic.Bool // something was registered once: the capability is there to stay
	snap    atomic.Pointer[snapshot[F]]
}

// A snapshot is what the registry held at one moment; it is never changed.
type snapshot[F any] struct {
	byName map[string]*entry[F]
	sorted []*entry[F] // by name: the order of the list, the same for every client
	pages  []json.RawMessage
}

// open says how the entries are listed, before the first is put.
func (r *registry[F]) open(member string, size int, changed func()) {
	r.member, r.size, r.changed = member, size, changed
}

// put enters a feature, in place of one of the same name if the registration may, and reports whether it did.
func (r *registry[F]) put(e *entry[F], how registration) bool {
	changed := false
	defer func() {
		if changed && r.changed != nil {
			r.changed()
		}
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries == nil {
		r.entries = make(map[string]*entry[F])
	}
	before, exists := r.entries[e.name]
	if exists && how == adding {
		return false
	}
	r.entries[e.name] = e
	r.ever.Store(true)
	r.snap.Store(nil)
	changed = !exists || !bytes.Equal(before.listed, e.listed)
	return true
}

// remove takes features out.
func (r *registry[F]) remove(names ...string) {
	r.mu.Lock()
	before := len(r.entries)
	for _, name := range names {
		delete(r.entries, name)
	}
	changed := len(r.entries) < before
	if changed {
		r.snap.Store(nil)
	}
	r.mu.Unlock()
	if changed {
		r.changed()
	}
}

func (r *registry[F]) declared() bool { return r.ever.Load() }

// read returns the current snapshot.
func (r *registry[F]) read() *snapshot[F] {
	if s := r.snap.Load(); s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.snap.Load(); s != nil {
		return s
	}
	s := &snapshot[F]{byName: make(map[string]*entry[F], len(r.entries)), sorted: make([]*entry[F], 0, len(r.entries))}
	for name, e := range r.entries {
		s.byName[name] = e
		s.sorted = append(s.sorted, e)
	}
	slices.SortFunc(s.sorted, func(a, b *entry[F]) int { return strings.Compare(a.name, b.name) })
	for at := 0; r.member != "" && (at == 0 || at < len(s.sorted)); at += r.size {
		s.pages = append(s.pages, s.page(r.member, at, r.size))
	}
	r.snap.Store(s)
	return s
}

// page encodes the entries from at on as the result of a list method.
func (s *snapshot[F]) page(member string, at, size int) json.RawMessage {
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

// list answers a list request. The cursor names the last entry the client has,
// so a list that changes between two pages neither repeats nor loses the others.
func (r *registry[F]) list(params json.RawMessage) (Result, error) {
	s := r.read()
	raw := memberOrNil(params, "cursor")
	if raw == nil {
		return Result{JSON: s.pages[0]}, nil
	}
	cursor, ok := jsonrpc.Unquote(raw)
	last, valid := decodeCursor(cursor)
	if !ok || !valid {
		return Result{}, Errorf(CodeInvalidParams, "cursor: expected one that this server gave as nextCursor, got %.80s", raw)
	}
	at, found := slices.BinarySearchFunc(s.sorted, last, func(e *entry[F], name string) int { return strings.Compare(e.name, name) })
	if found {
		at++
	}
	if at%r.size == 0 && at/r.size < len(s.pages) {
		return Result{JSON: s.pages[at/r.size]}, nil
	}
	return Result{JSON: s.page(r.member, at, r.size)}, nil
}

// memberOrNil is jsonrpc.Get for parameters that may be absent or carry a null.
func memberOrNil(params json.RawMessage, name string) json.RawMessage {
	if raw := jsonrpc.Get(params, name); string(raw) != "null" {
		return raw
	}
	return nil
}

// cursorPrefix marks cursors of ours, with a number to change the form by.
const cursorPrefix = "j1:"

func decodeCursor(cursor string) (last string, ok bool) {
	data, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || strings.ContainsAny(cursor, "\r\n") { // which package base64 skips
		return "", false
	}
	return strings.CutPrefix(string(data), cursorPrefix)
}
