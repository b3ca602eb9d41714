package live

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/junction-mcp/junction/console/follow"
	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/traffic"
)

// The defaults of Options, and the limits of the index.
const (
	defaultMessages = 100_000
	defaultBytes    = 256 << 20
	maxWord         = 500      // characters of the name of a client, server, method, tool or URI, or of a note
	maxWords        = 16 << 20 // bytes of different texts, and of shared messages
	maxShared       = 4 << 10  // bytes of a shared message
	maxServers      = 64       // of one call
	maxEnded        = 1_000    // known ended processes, the newest ones
	minBytes        = 8 << 20  // several of the largest messages
	fileEnd         = ".ring"
)

// Options configure a Ring; zero values mean the defaults.
type Options struct {
	// Messages is the maximum number of kept messages; default 100,000.
	Messages int
	// Bytes is the maximum size of their file; default 256 MiB, at least 8 MiB.
	Bytes int64
	// Dir is the folder of the file; default Junction's folder in the user's cache.
	Dir string
}

// A Ring keeps the newest messages. Its methods are safe for concurrent use.
type Ring struct {
	options Options
	file    *os.File // is nil if it could not be made
	remove  func()
	readers follow.Readers

	adding  sync.Mutex // serializes writers; readers never hold it
	records []byte     // the records that are being added
	pending []added    // their entries

	mu      sync.Mutex         // is never held while a file is read or written
	index   follow.Ring[entry] // an entry for each message
	kept    uint64             // a number; no message before it is in the file
	head    int64              // the offset of the next record in the file
	fault   error              // the reason why messages are not kept now
	cleared uint64             // the newest message that Clear removed
	table   textTable
	recent  [len(hops)][2]textsID // those of the newest message and the newest note of each hop
	calls   map[callOf]*call
	joined  recentCall // the call of the newest message
	left    recentCall // the call of the oldest one
	ended   []int32    // lists processes that have ended, the newest last
	ends    uint64     // counts its changes
	rows    uint64     // counts all listed messages so far
	asking  uint64     // counts the looks of readers
}

// An entry is one message in the index.
type entry struct {
	at                                int64 // is its offset in the file; below 0 if the message is not kept
	time, took                        int64 // in nanoseconds
	call                              uint64
	row                               uint64 // is its place among the listed messages; for others the place of the one before
	pid, head, body                   int32  // head and body are the lengths in the file of the metadata and of the message
	size, count                       int32
	texts                             textsID
	kind                              kind
	hop                               int8 // an index of hops
	effect                            int8 // an index of effects, for a decision
	toClient, failed, headers, legacy bool
	common                            bool // is set if its texts have the message
	ping                              bool // is set for a ping that did not fail
}

// A kind is the kind of an event.
type kind int8

var kinds = []string{"", traffic.Request, traffic.Notification, traffic.Response, traffic.Error, traffic.Failure, traffic.Dropped, traffic.Note}

func kindOf(name string) kind { return kind(max(0, slices.Index(kinds, name))) }

// effects are the effects of rules.
var effects = []string{"", "allow", "ask", "deny"}

var hops = [...]string{"", traffic.Client, traffic.Server}

func (e *entry) end() int64 { return e.at + int64(e.head) + int64(e.body) }

// unlisted reports whether the message is in no list by default.
func (e *entry) unlisted() bool { return e.headers || e.ping }

// Open returns a Ring, and removes the files of those whose process was killed. If it cannot make a
// file, it keeps only the index, and reports the fault in its pages.
func Open(o Options) *Ring {
	if o.Messages <= 0 {
		o.Messages = defaultMessages
	}
	if o.Bytes <= 0 {
		o.Bytes = defaultBytes
	}
	o.Bytes = max(o.Bytes, minBytes)
	r := &Ring{options: o, remove: func() {}, index: follow.NewRing[entry](o.Messages), calls: map[callOf]*call{}, table: textTable{numbers: map[texts]textsID{}, all: make([]counted, 1)}}
	if err := r.create(); err != nil {
		r.fault = fmt.Errorf("messages are not kept: %w", err)
	}
	return r
}

// create makes the file.
func (r *Ring) create() error {
	if r.options.Dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		r.options.Dir = filepath.Join(cache, "junction", "traffic")
	}
	if err := os.MkdirAll(r.options.Dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(r.options.Dir)
	if err != nil {
		return err
	}
	left, _ := fs.Glob(root.FS(), "*"+fileEnd) // the pattern is well formed
	for _, name := range left {
		_ = root.Remove(name) // Windows refuses if another process has it open; elsewhere such files no longer have a name
	}
	name := rand.Text() + fileEnd
	r.file, err = root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, root.Close())
	}
	_ = root.Remove(name) // so that it is gone however this process ends
	r.remove = func() {
		_ = root.Remove(name)
		_ = root.Close()
	}
	return nil
}

// Close removes the kept messages. The handlers must not be used any more.
func (r *Ring) Close() error {
	r.adding.Lock()
	defer r.adding.Unlock()
	r.Clear()
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.remove()
	return err
}

// Clear forgets all messages. The numbers continue.
func (r *Ring) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.index.First < r.index.Next {
		r.evict()
	}
	r.cleared = r.index.Next - 1
	r.index.Wake()
}

// End notes that a process has ended and sends no more messages.
func (r *Ring) End(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unend(int32(pid))
	if len(r.ended) == maxEnded {
		r.ended = slices.Delete(r.ended, 0, 1)
	}
	r.ended = append(r.ended, int32(pid))
	r.ends++
	r.index.Wake()
}

// unend removes a process from the ended ones, as a new process has its number. The caller holds
// r.mu.
func (r *Ring) unend(pid int32) {
	if at := slices.Index(r.ended, pid); at >= 0 {
		r.ended = slices.Delete(r.ended, at, at+1)
		r.ends++
	}
}

// reserve returns the offset for records of this size, and forgets the messages there. The caller
// holds r.mu.
func (r *Ring) reserve(size int64) (at int64) {
	if r.head+size > r.options.Bytes {
		for e := r.oldest(); e != nil && e.at >= r.head; e = r.oldest() { // those after the head are older than those at the beginning
			r.evict()
		}
		r.head = 0
	}
	at = r.head
	for e := r.oldest(); e != nil && e.at < at+size && e.end() > at; e = r.oldest() {
		r.evict()
	}
	r.head += size
	return at
}

// oldest returns the oldest message in the file, or nil.
func (r *Ring) oldest() *entry {
	for r.kept = max(r.kept, r.index.First); r.kept < r.index.Next; r.kept++ {
		if e := r.index.At(r.kept); e.at >= 0 {
			return e
		}
	}
	return nil
}

// of returns message n and its texts if it is kept, or nil. The caller holds r.mu.
func (r *Ring) of(n uint64) (e *entry, t *texts) {
	if n < r.index.First || n >= r.index.Next {
		return nil, nil
	}
	e = r.index.At(n)
	return e, r.table.of(e.texts)
}

// append puts a message into the index.
func (r *Ring) append(add *added) {
	if r.index.Full() {
		r.evict()
	}
	e := &add.entry
	c := r.callOf(e)
	if c != nil && add.client == "" {
		add.client = r.table.of(c.client).client // requests to servers are made for the client
	}
	recent := &r.recent[e.hop][0]
	if add.note != "" {
		recent = &r.recent[e.hop][1]
	}
	*recent = r.table.add(&add.texts, *recent)
	e.texts, e.common = *recent, add.shared != ""
	if e.ping = add.method == pingMethod && !e.failed; !e.unlisted() {
		r.rows++
	}
	e.row = r.rows
	if c != nil {
		t := r.table.of(e.texts)
		if c.client == 0 && t.client != "" {
			c.client = r.table.again(e.texts)
		}
		if t.server != "" && len(c.servers) < maxServers && !r.leads(c, t.server) {
			c.servers = append(c.servers, r.table.again(e.texts))
		}
		c.messages = append(c.messages, r.index.Next)
	}
	r.index.Add(*e)
	for r.table.bytes > maxWords && r.index.First < r.index.Next-1 {
		r.evict()
	}
}

// evict forgets the oldest message.
func (r *Ring) evict() {
	e := r.index.At(r.index.First)
	r.table.release(e.texts)
	if e.call > 0 {
		r.leave(e)
	}
	r.index.Drop()
}

// beginning returns a text cut to the limit of the index.
func beginning(text string) string {
	if len(text) <= maxWord {
		return text
	}
	n := 0
	for at := range text {
		if n++; n > maxWord {
			return text[:at]
		}
	}
	return text
}

func clamp(n int) int32 { return int32(min(max(n, 0), 1<<31-1)) }

const maxWrite = 1 << 20 // bytes of messages in one write, unless one is larger

// An added message is about to enter the index. Its offset is that in the records that are written
// with it.
type added struct {
	entry
	texts
}

// Add keeps messages of a process, the oldest first. It does not wait for readers.
func (r *Ring) Add(pid int, events ...*traffic.Event) {
	r.adding.Lock()
	defer r.adding.Unlock()
	for len(events) > 0 {
		n := 0
		var fault error
		for n < len(events) && (n == 0 || len(r.records)+len(events[n].Message) <= maxWrite) {
			if err := r.prepare(int32(pid), events[n]); err != nil {
				fault = err
			}
			n++
		}
		r.write(fault)
		events = events[n:]
	}
	if cap(r.records) > 2*maxWrite {
		r.records = nil // grew for a large message
	}
}

// prepare makes the record and the entry of a message. The error is the reason why there is no
// record.
func (r *Ring) prepare(pid int32, of *traffic.Event) error {
	e := *of
	add := added{entry: entry{at: -1, time: e.Time.UnixNano(), took: int64(e.Took), call: e.Call, pid: pid, size: clamp(e.Size), count: clamp(e.Count), kind: kindOf(e.Kind),
		hop: int8(max(0, slices.Index(hops[:], e.Hop))), toClient: !e.ToServer, failed: of.Failed(), legacy: of.Legacy, headers: e.Kind == traffic.Note && e.Note == "http"}}
	// A few long texts would displace the messages of all others.
	add.texts = texts{client: beginning(e.Client), server: beginning(e.Server), method: beginning(e.Method), name: beginning(e.Name), note: beginning(e.Note)}
	if e.Kind == traffic.Note && e.Note == "policy" {
		effect, _ := jsonrpc.Unquote(jsonrpc.Get(e.Message, "effect"))
		add.effect = int8(max(0, slices.Index(effects, effect)))
	}
	if e.Shared && len(e.Message) <= maxShared {
		add.shared, e.Message = unsafe.String(unsafe.SliceData(e.Message), len(e.Message)), nil // the table clones it
	}
	defer func() { r.pending = append(r.pending, add) }()
	if r.file == nil {
		return nil
	}
	begin := len(r.records)
	var head int
	r.records, head = appendRecord(r.records, &e)
	if size := len(r.records) - begin; int64(size) > r.options.Bytes {
		r.records = r.records[:begin]
		return fmt.Errorf("it has %d bytes", size)
	}
	add.at, add.head, add.body = int64(begin), int32(head), int32(len(e.Message))
	return nil
}

// write writes the prepared records, and puts the entries into the index. The error is the reason
// why some have no record.
func (r *Ring) write(fault error) {
	var at int64
	if len(r.records) > 0 {
		r.mu.Lock()
		at = r.reserve(int64(len(r.records)))
		r.mu.Unlock()
		if _, err := r.file.WriteAt(r.records, at); err != nil {
			fault = err
			for i := range r.pending {
				r.pending[i].at = -1
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		if r.fault = nil; fault != nil {
			r.fault = fmt.Errorf("messages are not kept: %w", fault)
		}
	}
	for i := range r.pending {
		one := &r.pending[i]
		if one.at >= 0 {
			one.at += at
		}
		r.append(one)
	}
	if len(r.ended) > 0 {
		r.unend(r.pending[0].pid)
	}
	clear(r.pending)
	r.records, r.pending = r.records[:0], r.pending[:0]
	r.index.Wake()
}

// A stored is the part of a message that is in the file and not in the index. A record has all but
// the Message as a line of JSON, followed by the Message itself.
type stored struct {
	ID        json.RawMessage `json:"id,omitempty"`
	Revision  string          `json:"revision,omitempty"`
	Transport string          `json:"transport,omitempty"`
	Fault     string          `json:"fault,omitempty"`
	Message   json.RawMessage `json:"message,omitempty"`
}

var records = fields.Of[stored]()

// appendRecord appends the record of a message: a line of JSON of head bytes, and the message
// itself.
func appendRecord(dst []byte, e *traffic.Event) (_ []byte, head int) {
	begin := len(dst)
	dst = append(records.Append(dst, &stored{ID: e.ID, Revision: e.Revision, Transport: e.Transport, Fault: e.Fault}, nil), '\n')
	return append(dst, e.Message...), len(dst) - begin
}

// errOther reports that a record is not the expected one.
var errOther = errors.New("the file holds something else")

// decode reads a record.
func decode(record []byte, head int) (s stored, err error) {
	if head > len(record) || head < 1 || record[head-1] != '\n' {
		return s, errOther
	}
	if err := json.Unmarshal(record[:head], &s); err != nil {
		return s, fmt.Errorf("%w: %w", errOther, err)
	}
	if s.Message = record[head:]; len(s.Message) == 0 {
		s.Message = nil
	} else if !json.Valid(s.Message) {
		return s, errOther
	}
	return s, nil
}

// read returns the part of message n in the file. The message may be forgotten in the meantime.
func (r *Ring) read(n uint64, e *entry) (s stored, kept bool, err error) {
	if e.at < 0 {
		return s, false, nil
	}
	record := make([]byte, int(e.head)+int(e.body))
	_, err = r.file.ReadAt(record, e.at)
	shared, has := r.shared(n)
	if !has {
		return s, false, nil
	}
	if err == nil {
		s, err = decode(record, int(e.head))
	}
	if shared != "" {
		s.Message = json.RawMessage(shared)
	}
	return s, err == nil, err
}

// shared returns message n if others share it, and reports whether it is still kept, so that the
// bytes read before are its own.
func (r *Ring) shared(n uint64) (message string, has bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, t := r.of(n)
	if e == nil {
		return "", false
	}
	return t.shared, true
}

// texts are those of a message in the index. Most messages share all of them with others.
type texts struct {
	client, server, method, name, note string
	shared                             string // the message itself if others share it
}

// A textsID is the number of texts in a table. Number 0 stands for empty texts, and is not in it.
type textsID int32

// A textTable keeps equal texts once, as long as a message has them.
type textTable struct {
	numbers map[texts]textsID
	all     []counted // is indexed by textsID
	free    []textsID
	bytes   int
}

type counted struct {
	texts
	uses   int32
	fits   fit
	asking uint64 // the look for which fits is valid
}

const textsSize = 150 // approximate overhead of texts in bytes

// of returns texts by their number.
func (w *textTable) of(n textsID) *texts { return &w.all[n].texts }

// add returns the number of texts. They are often those of recent, which may not be in use any
// more.
func (w *textTable) add(t *texts, recent textsID) textsID {
	if *w.of(recent) == *t && w.all[recent].uses > 0 {
		return w.again(recent)
	}
	if n, known := w.numbers[*t]; known {
		return w.again(n)
	}
	kept := *t
	for _, text := range [...]*string{&kept.client, &kept.server, &kept.method, &kept.name, &kept.note, &kept.shared} {
		*text = strings.Clone(*text)
	}
	n := textsID(len(w.all))
	if last := len(w.free) - 1; last >= 0 {
		n, w.free = w.free[last], w.free[:last]
	} else {
		w.all = append(w.all, counted{})
	}
	w.all[n] = counted{texts: kept, uses: 1}
	w.numbers[kept] = n
	w.bytes += kept.size()
	return n
}

func (t *texts) size() int {
	return len(t.client) + len(t.server) + len(t.method) + len(t.name) + len(t.note) + len(t.shared) + textsSize
}

func (w *textTable) again(n textsID) textsID {
	w.all[n].uses++
	return n
}

func (w *textTable) release(n textsID) {
	if n == 0 {
		return
	}
	c := &w.all[n]
	if c.uses--; c.uses > 0 {
		return
	}
	delete(w.numbers, c.texts)
	w.bytes -= c.size()
	*c = counted{}
	w.free = append(w.free, n)
}

// A callOf identifies a call of one process, by the process id and the lower half of the call's
// number. It is a fast key of maps.
type callOf uint64

func callOfProcess(pid int32, call uint64) callOf {
	return callOf(uint64(uint32(pid))<<32 | call&(1<<32-1))
}

const usualMessages = 6 // messages of a call over HTTP: with one server, a request, a response and headers on each hop

// A call holds the data that all messages of a call share, although few have it.
type call struct {
	client   textsID   // the number of texts with its client; 0 while it is not known
	servers  []textsID // those of texts with its servers
	messages []uint64  // their numbers, the oldest first
}

// A recentCall caches the last lookup, as messages of one call come close to each other.
type recentCall struct {
	key callOf
	*call
}

// find returns a call, or nil.
func (r *Ring) find(key callOf, recent *recentCall) *call {
	if recent.call == nil || recent.key != key {
		*recent = recentCall{key, r.calls[key]}
	}
	return recent.call
}

// callOf returns the call of an added message, which may be new, or nil if it has none.
func (r *Ring) callOf(e *entry) *call {
	if e.call == 0 {
		return nil
	}
	key := callOfProcess(e.pid, e.call)
	c := r.find(key, &r.joined)
	if c == nil {
		c = &call{messages: make([]uint64, 0, usualMessages)}
		r.calls[key], r.joined.call = c, c
	}
	return c
}

// leads reports whether a call leads to a server.
func (r *Ring) leads(c *call, server string) bool {
	return slices.ContainsFunc(c.servers, func(n textsID) bool { return r.table.of(n).server == server })
}

// leave removes the oldest message from its call.
func (r *Ring) leave(e *entry) {
	key := callOfProcess(e.pid, e.call)
	c := r.find(key, &r.left)
	if c.messages = c.messages[1:]; len(c.messages) > 0 {
		return
	}
	r.table.release(c.client)
	for _, server := range c.servers {
		r.table.release(server)
	}
	delete(r.calls, key)
	if r.left = (recentCall{}); r.joined.call == c {
		r.joined = recentCall{}
	}
}

// after returns the next messages of the call, at most maxAnswerAway.
func (c *call) after(n uint64) []uint64 {
	i, found := slices.BinarySearch(c.messages, n)
	if found {
		i++
	}
	return c.messages[i:min(i+maxAnswerAway, len(c.messages))]
}
