package live

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

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

	adding  sync.Mutex // one after the other; who reads never has it
	records []byte     // what is being added
	pending []added    // the same
	unkept  error      // why not all of it is kept

	mu      sync.Mutex // never held while a file is read or written
	index   []entry    // of message n at n modulo its length
	first   uint64     // number of the oldest message
	next    uint64     // number of the next one
	kept    uint64     // no message before this one is in the file
	head    int64      // where the next one goes in the file
	fault   error      // why messages are not kept now
	cleared uint64     // the newest message that Clear removed
	table   textTable
	recent  [len(hops)][5]textID // of the newest message of each hop
	like    [len(hops)]textID    // of its newest message that others have, too
	calls   map[callOf]*call
	joined  recentCall    // by the newest message
	left    recentCall    // by the oldest one
	changed chan struct{} // closed when there is more to see; nil while nobody waits
	streams int
	ended   []int32 // processes that have ended, the newest last
	ends    uint64  // counts what changed in it
	rows    uint64  // messages so far that are listed
}

// An entry is what the index has of one message.
type entry struct {
	at                                 int64 // in the file; below 0 where the message is not kept
	time, took                         int64 // nanoseconds
	call                               uint64
	pid, head, body                    int32 // head and body are lengths in the file: of what is known of the message, and of the message
	size, count                        int32
	client, server, method, name, note textID
	shared                             textID // the message, where others have it, too
	kind                               kind
	toClient, failed, headers, legacy  bool
	unlisted                           bool   // headers, or a ping that did not fail: in no list unless asked for
	row                                uint64 // its place among those that are listed; of others that of the one before
	hop                                int8   // 0: none, 1: of the client, 2: of the server
	effect                             int8   // of a decision, a place in effects
}

// A kind is one of those of an event.
type kind int8

var kinds = [...]string{"", traffic.Request, traffic.Notification, traffic.Response, traffic.Error, traffic.Failure, traffic.Dropped, traffic.Note}

func kindOf(name string) kind {
	for i, known := range kinds {
		if known == name {
			return kind(i)
		}
	}
	return 0
}

// effects are what rules can come to.
var effects = [...]string{"", "allow", "ask", "deny"}

var hops = [...]string{"", traffic.Client, traffic.Server}

func (e *entry) end() int64 { return e.at + int64(e.head) + int64(e.body) }

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
	r := &Ring{options: o, remove: func() {}, index: make([]entry, o.Messages), first: 1, next: 1, calls: map[callOf]*call{}}
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
	for r.first < r.next {
		r.evict()
	}
	r.cleared = r.next - 1
	r.wake()
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
	r.wake()
}

// unend forgets that a process has ended, as its number is another's; r.mu is held.
func (r *Ring) unend(pid int32) {
	if at := slices.Index(r.ended, pid); at >= 0 {
		r.ended = slices.Delete(r.ended, at, at+1)
		r.ends++
	}
}

// reserve returns where a record of so many bytes goes, and forgets what is there; r.mu is held.
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
	for r.kept = max(r.kept, r.first); r.kept < r.next; r.kept++ {
		if e := r.of(r.kept); e.at >= 0 {
			return e
		}
	}
	return nil
}

func (r *Ring) of(n uint64) *entry { return &r.index[n%uint64(len(r.index))] }

// append puts a message into the index.
func (r *Ring) append(add *added) {
	one, words := &add.entry, &add.words
	if r.next-r.first == uint64(len(r.index)) {
		r.evict()
	}
	for i, id := range [...]*textID{&one.client, &one.server, &one.method, &one.name, &one.note} {
		recent := &r.recent[one.hop][i]
		*recent = r.table.addLike(words[i], *recent)
		*id = *recent
	}
	if len(add.shared) > 0 {
		one.shared = r.table.addMessage(add.shared, r.like[one.hop])
		r.like[one.hop] = one.shared
	}
	if one.call > 0 {
		r.join(one)
	}
	if one.unlisted = one.headers || r.table.text(one.method) == pingMethod && !one.failed; !one.unlisted {
		r.rows++
	}
	one.row = r.rows
	*r.of(r.next) = *one
	r.next++
	for r.table.bytes > maxWords && r.first < r.next-1 {
		r.evict()
	}
}

// evict forgets the oldest message.
func (r *Ring) evict() {
	e := r.of(r.first)
	for _, w := range [...]textID{e.client, e.server, e.method, e.name, e.note, e.shared} {
		r.table.release(w)
	}
	if e.call > 0 {
		r.leave(e)
	}
	*e = entry{}
	r.first++
}

// wake tells those who wait that there is something to see.
func (r *Ring) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// more is closed when there is more to see than now.
func (r *Ring) more() <-chan struct{} {
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return r.changed
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

// A textID is the number of a text that several messages have; 0 is no text.
type textID int32

// A textTable keeps each text once, for as long as a message has it.
type textTable struct {
	numbers map[string]textID
	texts   []counted // of textID n at n-1
	free    []textID
	bytes   int
}

type counted struct {
	text string
	uses int32
}

const wordSize = 64 // bytes, about, that a text costs in addition to its own

func (w *textTable) add(text string) textID {
	if text == "" {
		return 0
	}
	if n, known := w.numbers[text]; known {
		w.texts[n-1].uses++
		return n
	}
	if w.numbers == nil {
		w.numbers = map[string]textID{}
	}
	text = strings.Clone(text)
	var n textID
	if last := len(w.free) - 1; last >= 0 {
		n, w.free = w.free[last], w.free[:last]
		w.texts[n-1] = counted{text, 1}
	} else {
		w.texts = append(w.texts, counted{text, 1})
		n = textID(len(w.texts))
	}
	w.numbers[text] = n
	w.bytes += len(text) + wordSize
	return n
}

// addLike is add where the text is the one of n, most likely, which no message may have any more.
func (w *textTable) addLike(text string, n textID) textID {
	if n > 0 && w.texts[n-1].text == text && w.texts[n-1].uses > 0 {
		return w.again(n)
	}
	return w.add(text)
}

// addMessage is addLike for a text that is in a buffer.
func (w *textTable) addMessage(text []byte, n textID) textID {
	if n > 0 && w.texts[n-1].text == string(text) && w.texts[n-1].uses > 0 {
		return w.again(n)
	}
	if n, known := w.numbers[string(text)]; known {
		return w.again(n)
	}
	return w.add(string(text))
}

func (w *textTable) again(n textID) textID {
	if n > 0 {
		w.texts[n-1].uses++
	}
	return n
}

func (w *textTable) release(n textID) {
	if n == 0 {
		return
	}
	c := &w.texts[n-1]
	if c.uses--; c.uses == 0 {
		delete(w.numbers, c.text)
		w.bytes -= len(c.text) + wordSize
		*c = counted{}
		w.free = append(w.free, n)
	}
}

func (w *textTable) text(n textID) string {
	if n == 0 {
		return ""
	}
	return w.texts[n-1].text
}
