package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/host/internal/consent"
	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/model"
)

// ErrBusy says that a conversation is in a run already.
var ErrBusy = errors.New("the conversation is waiting for an answer already")

// A Conversation is what was said, what was kept of it, and what it cost. One run
// at a time; its other methods are safe for concurrent use.
type Conversation struct {
	host   *Host
	record Record
	busy   chan struct{} // holds a token while no run is going
	agent  Agent         // of a child conversation
	within *calling      // nil: this is none
	ends   context.Context

	shelving sync.Mutex // one long result after the other, as each gets a number
	adding   sync.Mutex // one entry after the other: the record and the conversation have the same order

	view window.View

	*shared
	entries []Entry
	found   []ToolRef   // tools that searches brought, in order
	kept    keptResults // long results
	tasks   []*pendingTask
	// taskNumber is that of the last task, and ranAsTask has the numbers of those that calls became.
	taskNumber int
	ranAsTask  map[string][]int
	more       chan struct{} // of capacity 1: there are tasks that nobody waits for
	taking     chan struct{} // closed when what came of tasks is recorded, which is no run; nil: it is not being recorded
	takeAgain  bool          // something more came meanwhile
	flowAt     int           // the entry that last said what was read; negative: none did
	totals     Totals
	plan       Plan
	runs       int
	running    bool            // a question came that no totals followed yet
	cutOff     bool            // the record ends in the middle of a run, as after a crash
	ids        map[string]bool // of calls
}

// Conversation returns a new conversation, or, with the entries of an earlier
// one, its continuation; a history that a crash cut off is mended. record is called with
// every new entry; it may be nil.
func (h *Host) Conversation(record Record, entries ...Entry) *Conversation {
	c := h.newConversation(&shared{decider: consent.New(h.currentRules, h.hasSaid), sampled: map[string]int{}, reviews: map[string]int{}, queries: map[string]string{}}, record)
	c.entries = slices.Clone(entries)
	for i := range c.entries {
		c.apply(&c.entries[i])
		c.keepFlow(i)
	}
	c.restoreFlow()
	c.cutOff, c.running = c.running, false
	for _, t := range c.tasks {
		t.left, t.resumed = true, true // whoever waited for it is gone
	}
	mended, what := repair(c.view.Messages(), c.ranAsTask, Unasked(c.entries))
	c.view.Replace(mended)
	if what != "" && c.cutOff { // once: from the next run on, the record says that it was cut off
		h.notice(Notice{Kind: NoticeRepaired, Text: what})
	}
	return c
}

func (h *Host) newConversation(with *shared, record Record) *Conversation {
	c := &Conversation{host: h, record: record, busy: make(chan struct{}, 1), shared: with, ids: map[string]bool{}, ranAsTask: map[string][]int{}, more: make(chan struct{}, 1), flowAt: -1}
	c.busy <- struct{}{}
	return c
}

// apply adds an entry to what the conversation adds up to.
func (c *Conversation) apply(e *Entry) {
	switch {
	case e.Message != nil:
		c.view.Say(*e.Message)
		for _, call := range e.Message.Calls() {
			c.ids[call.ID] = true
		}
		for _, p := range e.Message.Parts {
			if p.Result != nil {
				c.tasks = slices.DeleteFunc(c.tasks, func(t *pendingTask) bool { return t.CallID == p.Result.CallID && !t.left })
			}
		}
		if e.Message.Role == model.RoleUser && !c.running {
			c.runs, c.running = c.runs+1, true
		}
	case e.Summary != nil:
		bare := c.view.Summarize(e.Summary.Messages, e.Summary.Text) // without images and sounds
		for i := range c.entries {
			e := &c.entries[i]
			if m := e.Message; m != nil && len(m.Parts) > 0 && bare[&m.Parts[0]] != nil {
				e.Message = bare[&m.Parts[0]]
			}
		}
	case e.Note != "":
		c.view.Keep(e.Note)
	case e.Plan != nil:
		c.plan = *e.Plan
	case e.Switched != nil:
		off := maps.Clone(c.off) // catalogues have the one before
		if off == nil {
			off = map[string]bool{}
		}
		if off[e.Switched.Server] = e.Switched.Off; !e.Switched.Off {
			delete(off, e.Switched.Server)
		}
		c.off = off
	case e.Found != nil:
		c.found = append(c.found, e.Found...)
	case e.Kept != nil:
		for _, uri := range c.kept.put(*e.Kept) {
			c.unload(uri)
		}
	case e.Task != nil:
		c.tasked(e)
	case e.Totals != nil:
		c.totals, c.running = c.totals.add(*e.Totals), false
	}
}

// unload drops the text of a result that nobody can read any more; the Record has it.
func (c *Conversation) unload(uri string) {
	for i := range c.entries {
		e := &c.entries[i]
		if k := e.Kept; k != nil && k.URI == uri {
			bare := *k
			bare.Text, bare.Pictures = "", nil
			e.Kept = &bare
		}
		if t := e.Task; t != nil && t.Came != nil && t.Came.Kept != nil && t.Came.Kept.URI == uri {
			bare, came, task := *t.Came.Kept, *t.Came, *t
			bare.Text, bare.Pictures = "", nil
			came.Kept, task.Came = &bare, &came
			e.Task = &task
		}
	}
}

// add records an entry and applies it.
func (c *Conversation) add(e Entry) error {
	c.adding.Lock()
	defer c.adding.Unlock()
	return c.addNext(e)
}

// addNext is add for whoever has its lock.
func (c *Conversation) addNext(e Entry) error {
	e.At = time.Now()
	if c.record != nil {
		if err := c.record.Append(e); err != nil {
			return fmt.Errorf("the conversation cannot be stored: %w", err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, e)
	c.apply(&e)
	c.keepFlow(len(c.entries) - 1)
	return nil
}

func (c *Conversation) say(m model.Message) error { return c.add(Entry{Message: &m}) }

// Question is what a person says.
type Question struct {
	Text string
	// Shown, if not empty, is what people see in place of Text when the conversation is shown
	// again: a few words, where a program made Text. The model and exports have Text.
	Shown string
	// Attach are resources, texts and pictures that go along.
	Attach []Attachment
	// Prompt is a prompt of a server whose messages go along, before Text.
	Prompt *PromptCall
	// Tools chooses among the tools that the model can have for this question, and so whose
	// resources it can read; nil means all. The built-in ones, to search and to read, stay.
	Tools func(ToolInfo) bool
	// Relayed is for a Text that the person did not write: nothing that it says counts as
	// their words. In a child conversation it always is.
	Relayed bool
}

// Attachment is a resource of a server or, where Text or Picture is not empty, a text or a
// picture that the person has from elsewhere, such as a file.
type Attachment struct {
	Server string // may be empty where one server lists the resource
	URI    string // of the resource; the name of the text or picture
	Text   string
	// Picture is a PNG, JPEG, GIF or WebP, as its content says, of at most 3.75 MiB and
	// 8,000 pixels on a side.
	Picture []byte
}

// PromptCall is a prompt of a server with its arguments.
type PromptCall struct {
	Server    string
	Name      string
	Arguments map[string]string
}

// Answer is what came of a question.
type Answer struct {
	Text string
	// Stop says why the run is over; see [Answered].
	Stop   string
	Totals Totals // of this run
	// Refused is a call that was not allowed, as SERVER/TOOL, where no later one did more than
	// read: what was asked for may not be done, whatever Text says.
	Refused string
}

// Ask puts a question and runs until there is an answer, a limit is reached, or
// ctx is done. Whatever happens, the conversation can go on with the next
// question. The error is what the provider, the record or the cause of ctx's end said,
// [ErrBusy], [ErrFull] or [ErrEmpty]; the Answer then holds what there was.
func (c *Conversation) Ask(ctx context.Context, q Question) (Answer, error) {
	if !c.take() {
		return Answer{}, ErrBusy
	}
	defer func() {
		c.busy <- struct{}{}
		c.takeIn() // of what came meanwhile
	}()
	c.takeArrived()
	ctx, end, err := c.bound(ctx)
	if err != nil {
		return Answer{}, err
	}
	defer end()
	r := newRun(c)
	if most := r.account.limits.Time; most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, most, errTimeLimit)
		defer cancel()
	}
	return r.answer(ctx, q)
}

// take reserves the conversation for a run, unless one is going. It waits for what came of tasks to be recorded, which
// is no run.
func (c *Conversation) take() bool {
	for {
		c.mu.Lock()
		taking := c.taking
		select {
		case <-c.busy:
			c.mu.Unlock()
			return true
		default:
		}
		c.mu.Unlock()
		if taking == nil {
			return false
		}
		<-taking
	}
}

// Keep adds a fact that every summary keeps.
func (c *Conversation) Keep(note string) error {
	note = strings.TrimSpace(note)
	if note == "" || len(note) > maxNote {
		return fmt.Errorf("a note has 1 to %d bytes", maxNote)
	}
	if len(c.Notes()) >= maxNotes {
		return fmt.Errorf("there are %d notes already: at most that many are kept", maxNotes)
	}
	return c.add(Entry{Note: note})
}

const (
	maxNote  = 4 << 10 // bytes of one note
	maxNotes = 100
	maxTitle = 200 // bytes
)

// Name gives the conversation a title for people.
func (c *Conversation) Name(title string) error {
	title = strings.TrimSpace(title)
	if title == "" || len(title) > maxTitle {
		return fmt.Errorf("a title has 1 to %d bytes", maxTitle)
	}
	return c.add(Entry{Title: title})
}

// Notes are the facts that every summary keeps.
func (c *Conversation) Notes() []string { return c.view.Notes() }

// Entries returns the conversation's record. What the model cannot read any more only the
// [Record] has: the texts of old long results, and the data of images and sounds that a
// summary replaced.
func (c *Conversation) Entries() []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.entries)
}

// Messages returns everything that was said; images and sounds that a summary replaced
// are without their data.
func (c *Conversation) Messages() []model.Message { return c.view.Messages() }

// Totals returns what the conversation used.
func (c *Conversation) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.totals
}

// saveFlow records which texts were read, if there are others than the record says. Nothing
// is recorded between: it would be of a state that is newer.
func (c *Conversation) saveFlow() error {
	c.adding.Lock()
	defer c.adding.Unlock()
	state, err := c.decider.State()
	if err != nil {
		return err
	}
	c.mu.Lock()
	same := c.flowAt >= 0 && bytes.Equal(c.entries[c.flowAt].Flow, state) || c.flowAt < 0 && string(state) == "{}"
	c.mu.Unlock()
	if same {
		return nil
	}
	return c.addNext(Entry{Flow: state})
}

// keepFlow drops what earlier entries say of what was read, if this one says it: it can be
// long, and each holds all of the one before. The Record has them.
func (c *Conversation) keepFlow(at int) {
	if c.entries[at].Flow == nil {
		return
	}
	if c.flowAt >= 0 {
		c.entries[c.flowAt].Flow = flowDropped
	}
	c.flowAt = at
}

// flowDropped stands for what was read in an entry that does not say it any more. It is not
// valid, so that whoever goes on from there knows nothing and assumes the worst.
var flowDropped = json.RawMessage(`"not kept"`)

// restoreFlow takes up what the record says of what was read.
func (c *Conversation) restoreFlow() {
	if c.flowAt >= 0 {
		c.decider.Restore(c.entries[c.flowAt].Flow)
	}
	if unaccounted(c.entries) {
		c.decider.AssumeWorst()
	}
	for _, e := range c.entries[c.flowAt+1:] { // after what was read was recorded
		if e.Withdrawn != nil {
			c.decider.Withdraw(*e.Withdrawn)
		}
	}
	c.relabel()
}

func (t Totals) add(u Totals) Totals {
	return Totals{
		Usage: t.Usage.Add(u.Usage), Cost: t.Cost + u.Cost, CostUnknown: t.CostUnknown || u.CostUnknown, Requests: t.Requests + u.Requests,
		Calls: t.Calls + u.Calls, Asked: t.Asked + u.Asked, Duration: t.Duration + u.Duration,
	}
}
