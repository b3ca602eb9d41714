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

// The default values of Options, and the limits of the index.
const (
	defaultMessages = 100_000
	defaultBytes    = 256 << 20
	maxWord         = 500      // maximum characters of the name of a client, server, method, tool or note, or of a URI
	maxWords        = 16 << 20 // maximum bytes of all distinct texts, including shared messages
	maxShared       = 4 << 10  // maximum bytes of a shared message
	maxServers      = 64       // maximum number of servers that are stored for a call
	maxEnded        = 1_000    // maximum number of ended processes that are stored, the newest ones
	minBytes        = 8 << 20  // minimum size of the file; several of the largest messages fit
	fileEnd         = ".ring"
)

// Options configures a Ring. A zero value means the default.
type Options struct {
	// Messages is the maximum number of stored messages. The default is 100,000.
	Messages int
	// Bytes is the maximum size of the file with the messages. The default is 256 MiB, the minimum
	// 8 MiB.
	Bytes int64
	// Dir is the folder of the file. The default is Junction's folder in the user's cache.
	Dir string
}

// A Ring stores the newest messages. Its methods are safe for concurrent use.
type Ring struct {
	options Options
	file    *os.File // nil if it could not be created
	remove  func()
	readers follow.Readers

	adding  sync.Mutex // serializes writers; readers never hold it
	records []byte     // the records that are being added
	pending []added    // the entries of these records

	mu         sync.Mutex         // not held while the file is read or written
	index      follow.Ring[entry] // one entry for each message
	kept       uint64             // a number; no message before it is in the file
	head       int64              // offset of the next record in the file
	fault      error              // reason why new messages cannot be stored at present
	cleared    uint64             // number of the newest message that Clear removed
	table      textTable
	recent     [len(hops)][2]textsID // for each hop, the texts of its newest message and of its newest note
	calls      map[callOf]*call
	newestCall recentCall // the call of the newest message
	oldestCall recentCall // the call of the oldest message
	ended      []int32    // ids of ended processes, the newest last
	ends       uint64     // number of changes of ended
	rows       uint64     // number of all listed messages so far
	looks      uint64     // number of looks of readers so far
}

// An entry is a message in the index.
type entry struct {
	at                                int64 // offset in the file; negative if the file does not have the message
	time, took                        int64 // in nanoseconds
	call                              uint64
	row                               uint64 // number of listed messages up to and including this one
	pid, head, body                   int32  // head and body are the lengths of the metadata and of the message in the file
	size, count                       int32
	texts                             textsID
	kind                              kind
	hop                               int8 // index in hops
	effect                            int8 // index in effects, for a note about a decision
	toClient, failed, headers, legacy bool
	common                            bool // set if texts contains the message, which others share
	ping                              bool // set for a ping that did not fail
}

// A kind is an index in kinds.
type kind int8

var kinds = []string{"", traffic.Request, traffic.Notification, traffic.Response, traffic.Error, traffic.Failure, traffic.Dropped, traffic.Note}

func kindOf(name string) kind { return kind(max(0, slices.Index(kinds, name))) }

// effects lists the effects of rules.
var effects = []string{"", "allow", "ask", "deny"}

var hops = [...]string{"", traffic.Client, traffic.Server}

func (e *entry) end() int64 { return e.at + int64(e.head) + int64(e.body) }

// unlisted reports whether lists omit the message by default.
func (e *entry) unlisted() bool { return e.headers || e.ping }

// Open returns a Ring, and removes the files of rings whose processes were killed. If it cannot
// create a file, the Ring has only the index, and its pages report the fault.
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

// create creates the file.
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
	left, _ := fs.Glob(root.FS(), "*"+fileEnd) // cannot fail, because the pattern is valid
	for _, name := range left {
		_ = root.Remove(name) // fails on Windows if another process has the file open; elsewhere, such files have no name any more
	}
	name := rand.Text() + fileEnd
	r.file, err = root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, root.Close())
	}
	_ = root.Remove(name) // without a name, the file disappears when the process ends, however it ends
	r.remove = func() {
		_ = root.Remove(name)
		_ = root.Close()
	}
	return nil
}

// Close removes the stored messages. The handlers must not be used afterwards.
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

// Clear removes all messages. The numbers of later messages continue.
func (r *Ring) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.index.First < r.index.Next {
		r.evict()
	}
	r.cleared = r.index.Next - 1
	r.index.Wake()
}

// End records that a process has ended and sends no more messages.
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

// unend removes an id from the list of ended processes, because a new process has this id. The
// caller holds r.mu.
func (r *Ring) unend(pid int32) {
	if at := slices.Index(r.ended, pid); at >= 0 {
		r.ended = slices.Delete(r.ended, at, at+1)
		r.ends++
	}
}

// reserve returns the offset for records of the given total size, and removes the messages that
// they will overwrite. The caller holds r.mu.
func (r *Ring) reserve(size int64) (at int64) {
	if r.head+size > r.options.Bytes {
		for e := r.oldest(); e != nil && e.at >= r.head; e = r.oldest() { // messages after head are older than those at the beginning of the file
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

// oldest returns the oldest message in the file, or nil. The caller holds r.mu.
func (r *Ring) oldest() *entry {
	for r.kept = max(r.kept, r.index.First); r.kept < r.index.Next; r.kept++ {
		if e := r.index.At(r.kept); e.at >= 0 {
			return e
		}
	}
	return nil
}

// of returns message n and its texts, or nil if it is no longer stored. The caller holds r.mu.
func (r *Ring) of(n uint64) (e *entry, t *texts) {
	if n < r.index.First || n >= r.index.Next {
		return nil, nil
	}
	e = r.index.At(n)
	return e, r.table.of(e.texts)
}

// append adds a message to the index. The caller holds r.mu.
func (r *Ring) append(add *added) {
	if r.index.Full() {
		r.evict()
	}
	e := &add.entry
	c := r.callOf(e)
	if c != nil && add.client == "" {
		add.client = r.table.of(c.client).client // Junction makes a request to a server on behalf of the client of the call
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

// evict removes the oldest message. The caller holds r.mu.
func (r *Ring) evict() {
	e := r.index.At(r.index.First)
	r.table.release(e.texts)
	if e.call > 0 {
		r.leave(e)
	}
	r.index.Drop()
}

// beginning cuts a text to the maximum length in the index.
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

const maxWrite = 1 << 20 // bytes of messages in one write; exceeded only by a single larger message

// An added is a message that is about to enter the index. Before write sets it, its offset is
// relative to the records of the same write.
type added struct {
	entry
	texts
}

// Add stores messages of a process, in the order of their times. It does not wait for readers.
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
		r.records = nil // do not keep the buffer of a large message
	}
}

// prepare makes the record and the entry of a message. It returns an error if there is no record.
func (r *Ring) prepare(pid int32, of *traffic.Event) error {
	e := *of
	add := added{entry: entry{at: -1, time: e.Time.UnixNano(), took: int64(e.Took), call: e.Call, pid: pid, size: clamp(e.Size), count: clamp(e.Count), kind: kindOf(e.Kind),
		hop: int8(max(0, slices.Index(hops[:], e.Hop))), toClient: !e.ToServer, failed: of.Failed(), legacy: of.Legacy, headers: e.Kind == traffic.Note && e.Note == "http"}}
	// The texts are cut because a few long ones would displace the messages of all other processes.
	add.texts = texts{client: beginning(e.Client), server: beginning(e.Server), method: beginning(e.Method), name: beginning(e.Name), note: beginning(e.Note)}
	if e.Kind == traffic.Note && e.Note == "policy" {
		effect, _ := jsonrpc.Unquote(jsonrpc.Get(e.Message, "effect"))
		add.effect = int8(max(0, slices.Index(effects, effect)))
	}
	if e.Shared && len(e.Message) <= maxShared {
		add.shared, e.Message = unsafe.String(unsafe.SliceData(e.Message), len(e.Message)), nil // safe, because the table clones the text
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

// write writes the prepared records to the file and adds the entries to the index. The parameter
// fault is the reason why some entries have no record, or nil.
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

// A stored is the part of a message that is in the file but not in the index. A record is one line
// of JSON with all fields except Message, followed by Message.
type stored struct {
	ID        json.RawMessage `json:"id,omitempty"`
	Revision  string          `json:"revision,omitempty"`
	Transport string          `json:"transport,omitempty"`
	Fault     string          `json:"fault,omitempty"`
	Message   json.RawMessage `json:"message,omitempty"`
}

var records = fields.Of[stored]()

// appendRecord appends the record of a message. The result head is the length of its line of JSON.
func appendRecord(dst []byte, e *traffic.Event) (_ []byte, head int) {
	begin := len(dst)
	dst = append(records.Append(dst, &stored{ID: e.ID, Revision: e.Revision, Transport: e.Transport, Fault: e.Fault}, nil), '\n')
	return append(dst, e.Message...), len(dst) - begin
}

// errOther means that a record is not the expected one.
var errOther = errors.New("the file holds something else")

// decode decodes a record.
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

// read returns the part of message n that is in the file. The result kept is false if the message
// is no longer stored.
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

// shared returns the message n if other messages have the same texts. The result has reports
// whether message n is still stored; if so, bytes that were read before belong to it.
func (r *Ring) shared(n uint64) (message string, has bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, t := r.of(n)
	if e == nil {
		return "", false
	}
	return t.shared, true
}

// A texts has the texts of a message in the index. Most messages share their texts with others.
type texts struct {
	client, server, method, name, note string
	shared                             string // the message itself, if others share it
}

// A textsID is the number of a texts in a table. The number 0 means empty texts, which the table
// does not count.
type textsID int32

// A textTable stores equal texts once, as long as a message uses them.
type textTable struct {
	numbers map[texts]textsID
	all     []counted // indexed by textsID
	free    []textsID
	bytes   int
}

type counted struct {
	texts
	uses int32
	fits fit
	look uint64 // the number of the look for which fits is valid
}

const textsSize = 150 // approximate overhead of a texts in bytes

// of returns the texts with a number.
func (w *textTable) of(n textsID) *texts { return &w.all[n].texts }

// add returns the number of texts, and counts a use of them. It tries the number recent first,
// which often matches, but may be unused by now.
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

// A callOf identifies a call of a process. It consists of the process id and the lower half of the
// call's number, and is a fast map key.
type callOf uint64

func callOfProcess(pid int32, call uint64) callOf {
	return callOf(uint64(uint32(pid))<<32 | call&(1<<32-1))
}

const usualMessages = 6 // messages of a call over HTTP with one server: a request, a response and a note about headers on each hop

// A call has the data that all messages of a call share, although only some of them contain it.
type call struct {
	client   textsID   // number of texts that name the client; 0 while it is unknown
	servers  []textsID // numbers of texts that name the servers
	messages []uint64  // numbers of the messages in ascending order
}

// A recentCall caches the last lookup, because the messages of a call often follow each other.
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

// callOf returns the call of a message to add, and creates it if necessary. It returns nil if the
// message has no call.
func (r *Ring) callOf(e *entry) *call {
	if e.call == 0 {
		return nil
	}
	key := callOfProcess(e.pid, e.call)
	c := r.find(key, &r.newestCall)
	if c == nil {
		c = &call{messages: make([]uint64, 0, usualMessages)}
		r.calls[key], r.newestCall.call = c, c
	}
	return c
}

// leads reports whether a call reaches a server.
func (r *Ring) leads(c *call, server string) bool {
	return slices.ContainsFunc(c.servers, func(n textsID) bool { return r.table.of(n).server == server })
}

// leave removes the oldest message from its call.
func (r *Ring) leave(e *entry) {
	key := callOfProcess(e.pid, e.call)
	c := r.find(key, &r.oldestCall)
	if c.messages = c.messages[1:]; len(c.messages) > 0 {
		return
	}
	r.table.release(c.client)
	for _, server := range c.servers {
		r.table.release(server)
	}
	delete(r.calls, key)
	if r.oldestCall = (recentCall{}); r.newestCall.call == c {
		r.newestCall = recentCall{}
	}
}

// after returns the messages of the call that follow message n, at most maxAnswerAway.
func (c *call) after(n uint64) []uint64 {
	i, found := slices.BinarySearch(c.messages, n)
	if found {
		i++
	}
	return c.messages[i:min(i+maxAnswerAway, len(c.messages))]
}
