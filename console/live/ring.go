package live

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/console/follow"
	"github.com/junction-mcp/junction/traffic"
)

// The defaults of Options, and the limits of the index.
const (
	defaultMessages = 100_000
	defaultBytes    = 256 << 20
	maxWord         = 500      // characters of the name of a client, server, method, tool or URI, or of a note
	maxWords        = 16 << 20 // bytes of different ones, and of messages that several have
	maxShared       = 4 << 10  // of one of these
	maxServers      = 64       // of one call
	maxEnded        = 1_000    // processes that are known to have ended, the newest
	minBytes        = 8 << 20  // several of the largest messages
	fileEnd         = ".ring"
)

// Options configure a Ring; zero values mean the defaults.
type Options struct {
	// Messages is how many are kept, the newest; default 100,000.
	Messages int
	// Bytes are those of the file that they are kept in, at most; default 256 MiB, at least 8 MiB.
	Bytes int64
	// Dir is where the file is; default a folder of Junction's in the user's cache.
	Dir string
}

// A Ring keeps the newest messages. Its methods are safe for concurrent use.
type Ring struct {
	options Options
	file    *os.File // nil where there can be none
	remove  func()
	readers follow.Readers

	adding  sync.Mutex // one after the other; who reads never has it
	records []byte     // what is being added
	pending []added    // the same

	mu      sync.Mutex         // never held while a file is read or written
	index   follow.Ring[entry] // of the messages
	kept    uint64             // no message before this one is in the file
	head    int64              // where the next one goes in the file
	fault   error              // why messages are not kept now
	cleared uint64             // the newest message that Clear removed
	table   textTable
	recent  [len(hops)][2]textsID // of the newest message of each hop, and of its newest note
	calls   map[callOf]*call
	joined  recentCall // by the newest message
	left    recentCall // by the oldest one
	ended   []int32    // processes that have ended, the newest last
	ends    uint64     // counts what changed in it
	rows    uint64     // messages so far that are listed
	asking  uint64     // counts the looks of readers
}

// An entry is what the index has of one message.
type entry struct {
	at                                int64 // in the file; below 0 where the message is not kept
	time, took                        int64 // nanoseconds
	call                              uint64
	row                               uint64 // its place among those that are listed; of others that of the one before
	pid, head, body                   int32  // head and body are lengths in the file: of what is known of the message, and of the message
	size, count                       int32
	texts                             textsID
	kind                              kind
	hop                               int8 // a place in hops
	effect                            int8 // of a decision, a place in effects
	toClient, failed, headers, legacy bool
	common                            bool // its texts have the message
	ping                              bool // that did not fail
}

// A kind is one of those of an event.
type kind int8

var kinds = []string{"", traffic.Request, traffic.Notification, traffic.Response, traffic.Error, traffic.Failure, traffic.Dropped, traffic.Note}

func kindOf(name string) kind { return kind(max(0, slices.Index(kinds, name))) }

// effects are what rules can come to.
var effects = []string{"", "allow", "ask", "deny"}

var hops = [...]string{"", traffic.Client, traffic.Server}

func (e *entry) end() int64 { return e.at + int64(e.head) + int64(e.body) }

// unlisted reports whether the message is in no list unless asked for.
func (e *entry) unlisted() bool { return e.headers || e.ping }

// Open makes a Ring, and removes the files of those whose process was killed. Where it cannot have a file it goes on without
// the messages, and says so.
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
	left, _ := fs.Glob(root.FS(), "*"+fileEnd) // of a pattern that is well formed
	for _, name := range left {
		_ = root.Remove(name) // Windows refuses where somebody has it open; elsewhere those have no name any more
	}
	name := rand.Text() + fileEnd
	r.file, err = root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, root.Close())
	}
	_ = root.Remove(name) // so that nothing of it is left, whatever ends this process
	r.remove = func() {
		_ = root.Remove(name)
		_ = root.Close()
	}
	return nil
}

// Close removes what is kept. The handlers may not be used any more.
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

// Clear forgets all messages. The numbers go on.
func (r *Ring) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.index.First < r.index.Next {
		r.evict()
	}
	r.cleared = r.index.Next - 1
	r.index.Wake()
}

// End says that a process has ended, and that no more messages of it come.
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

// unend forgets that a process has ended, as its number is another's; r.mu is held.
func (r *Ring) unend(pid int32) {
	if at := slices.Index(r.ended, pid); at >= 0 {
		r.ended = slices.Delete(r.ended, at, at+1)
		r.ends++
	}
}

// reserve returns where records of so many bytes go, and forgets what is there; r.mu is held.
func (r *Ring) reserve(size int64) (at int64) {
	if r.head+size > r.options.Bytes {
		for e := r.oldest(); e != nil && e.at >= r.head; e = r.oldest() { // what is behind the head is older than what is at the beginning
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

// oldest is the oldest message that the file has; nil if it has none.
func (r *Ring) oldest() *entry {
	for r.kept = max(r.kept, r.index.First); r.kept < r.index.Next; r.kept++ {
		if e := r.index.At(r.kept); e.at >= 0 {
			return e
		}
	}
	return nil
}

// of returns message n if it is there, and its texts; r.mu is held.
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
		add.client = r.table.of(c.client).client // what is asked of servers is asked for the client
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

// beginning is as much of a text as the index has.
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
