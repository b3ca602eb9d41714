package trace

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/sequence"
)

// The limits of a trace. What is older than it can hold is left out, and the
// diagrams say so.
const (
	maxItems  = 2_000   // steps, messages and notes
	maxBytes  = 4 << 20 // of all of them
	maxLabel  = 160     // characters of a line
	maxDetail = 4 << 10 // bytes of the text behind it
	maxOpen   = 1_024   // calls without a result
)

// Options are optional; the zero value keeps what happens and writes nothing.
type Options struct {
	// Out gets everything as text, while it happens. Its errors are ignored: a
	// run does not end because nobody reads how it goes.
	Out io.Writer
	// Width is how many cells a line of it has; 0 means 80.
	Width int
}

// Trace keeps what happens, to be written as a diagram. It is safe for concurrent
// use.
type Trace struct {
	options Options

	mu      sync.Mutex
	items   []*item
	bytes   int
	dropped int
	model   string                // its name
	wired   map[string]bool       // servers whose messages are seen
	calls   map[string]*callState // by [host.CallID]
	at      *scope                // whose event is recorded
	agents  map[string]*scope     // sub-agents of this run, by the id of their call
	inRun   int                   // the run's number
	began   int                   // items before the run's first, dropped ones counted
	next    int64                 // id of the newest message
	totals  host.Totals
}

// callState is a call that has no result yet.
type callState struct {
	scope    *scope
	called   *item
	response string // the message with its result
}

// New returns an empty trace.
func New(o Options) *Trace {
	if o.Width <= 0 {
		o.Width = 80
	}
	return &Trace{options: o, wired: map[string]bool{}, calls: map[string]*callState{}, at: new(scope), agents: map[string]*scope{}}
}

// The participants of every diagram; the others are servers.
const (
	person   = "person"
	theHost  = "host"
	theModel = "model"
)

// server is the participant of that name.
func server(name string) string {
	return "server " + plaintext.Line(redacted(plaintext.Beginning(name, 8*maxLabel)), maxLabel)
}

// item is one thing that happened. Its texts are clean and cut.
type item struct {
	at       time.Time
	step     int // of the seven, or 0
	form     sequence.Form
	from, to string
	head     string // what it is
	label    string // with what, on one line
	detail   string // all of it, on several
	says     string // what the text says below
	failed   bool
	covered  bool   // diagrams show it as part of another item
	scope    *scope // whose it is
}

// steps are the names of the seven.
var steps = [...]string{1: "list tools", 2: "ask model", 3: "decide", 4: "call", 5: "result", 6: "model", 7: "answer"}

// add keeps an item and writes it. t.mu is held.
func (t *Trace) add(i *item) {
	t.place(i)
	t.clean(i)
	t.items = append(t.items, i)
	t.bytes += i.size()
	t.shrink()
	if t.options.Out != nil {
		io.WriteString(t.options.Out, t.options.text(i)) // nobody would see the error
	}
}

// insert keeps an item before the others of its run. t.mu is held.
func (t *Trace) insert(i *item) {
	t.place(i)
	t.clean(i)
	at := min(max(0, t.began-t.dropped), len(t.items))
	t.items = append(t.items, nil)
	copy(t.items[at+1:], t.items[at:])
	t.items[at] = i
	if at+1 < len(t.items) && t.items[at+1].at.Before(i.at) {
		i.at = t.items[at+1].at // it came before what follows from it
	}
	t.bytes += i.size()
	t.shrink()
}

func (t *Trace) shrink() {
	for len(t.items) > maxItems || t.bytes > maxBytes {
		t.bytes -= t.items[0].size()
		t.items[0] = nil // so that its texts can go
		t.items = t.items[1:]
		t.dropped++
	}
}

func (t *Trace) clean(i *item) {
	if i.at.IsZero() {
		i.at = time.Now()
	}
	i.head = plaintext.Line(redacted(plaintext.Beginning(i.head, 8*maxLabel)), maxLabel)
	i.label = plaintext.Line(redacted(plaintext.Beginning(i.label, 8*maxLabel)), maxLabel)
	i.detail = detail(i.detail)
	i.says = detail(i.says)
}

// extend adds to the detail of an item that is kept already. t.mu is held.
func (t *Trace) extend(i *item, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	before := i.size()
	i.detail = detail(strings.TrimSpace(i.detail + "\n" + text))
	t.bytes += i.size() - before
}

func (i *item) size() int { return len(i.head) + len(i.label) + len(i.detail) + len(i.says) + itemSize }

// itemSize is about what an item costs without its texts.
const itemSize = 256

// detail is a text for reading, of bounded length.
func detail(text string) string {
	begin := plaintext.Beginning(text, 2*maxDetail) // a secret at the end of the cut must not lose its name
	begin = plaintext.Clean(redacted(begin))
	if cut := plaintext.Beginning(begin, maxDetail); len(cut) < len(begin) || len(begin) == 0 && text != "" {
		return cut + fmt.Sprintf(" … (%d bytes)", len(text))
	}
	return strings.Clone(begin) // of a long text, only this stays in memory
}
