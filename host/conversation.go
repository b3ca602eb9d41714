package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/consent"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/history"
	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/mcp"
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

// Conversation returns a new conversation, or, with the entries of an earlier one, its continuation; a history that a
// crash cut off is mended. record is called with every new entry; it may be nil.
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
	mended, what := history.Repair(c.view.Messages(), c.ranAsTask, Unasked(c.entries))
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
	// Picture is a PNG, JPEG, GIF or WebP, as its content says, of at most 3.75 MiB and 8,000 pixels on a side.
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

// Messages returns everything that was said; images and sounds that a summary replaced are without their data.
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

// An Entry is one line of a conversation's record. The record only grows: a conversation is what its entries add up to,
// so it can be stored as it happens, resumed after any of them, and forked at any of them. It is stored as JSON.
// Exactly one of the pointers (or Flow) is set.
type Entry struct {
	At time.Time `json:"at"`
	// Message was said.
	Message *model.Message `json:"message,omitempty"`
	// Shown stands for a Message of the person where people see it; see Question.Shown.
	Shown string `json:"shown,omitempty"`
	// Summary replaces older messages in what the model sees.
	Summary *Summary `json:"summary,omitempty"`
	// Found are tools that a search brought into the conversation, by server and name.
	Found []ToolRef `json:"found,omitempty"`
	// Kept is a result that was too long to be shown to the model whole.
	Kept *Kept `json:"kept,omitempty"`
	// Note is a fact that must survive every summary.
	Note string `json:"note,omitempty"`
	// Flow is which untrusted and private texts were read, so far; see guard.Flow. It comes
	// when it changed. Only the last one is kept in memory.
	Flow json.RawMessage `json:"flow,omitempty"`
	// Totals are what a run used; all zero for one that was cut off, as by a crash.
	Totals *Totals `json:"totals,omitempty"`
	// Ended says with Totals how the run ended that has no whole answer; nil for one that has.
	Ended *Ended `json:"ended,omitempty"`
	// Asking says that the person is asked about calls, which are not made meanwhile, or was.
	Asking *Asking `json:"asking,omitempty"`
	// Plan is what is to be done, in place of the plan before.
	Plan *Plan `json:"plan,omitempty"`
	// Switched says that a server was switched off, or on again.
	Switched *Switched `json:"switched,omitempty"`
	// Withdrawn is an answer of the person that they took back: what Flow said of it before does not hold.
	Withdrawn *guard.Approval `json:"withdrawn,omitempty"`
	// Task is what happened to a call that its server runs as a task.
	Task *TaskEntry `json:"task,omitempty"`
	// Title names the conversation for people.
	Title string `json:"title,omitempty"`
}

// TakesBack reports whether the entry is no part of what was said, but something that the
// person took back, or gave again: it holds in a copy, too, that ends before it.
func (e *Entry) TakesBack() bool { return e.Switched != nil || e.Withdrawn != nil }

// Ended says how a run ended; see [Answered].
type Ended struct {
	Stop  string `json:"stop"`
	Error string `json:"error,omitempty"`
}

// Asking names calls of which none is made before the person answers. A record that ends before they did says so of them.
type Asking struct {
	Calls    []string `json:"calls"` // by their IDs
	Answered bool     `json:"answered,omitempty"`
}

// Unasked returns the calls that were not made, as the record ends while the person was asked about them, by their IDs.
func Unasked(entries []Entry) map[string]bool {
	calls := map[string]bool{}
	for i := range entries {
		entries[i].Asking.note(calls)
	}
	return calls
}

// note adds the calls to those that are not made, or takes them out.
func (a *Asking) note(calls map[string]bool) {
	if a == nil {
		return
	}
	for _, id := range a.Calls {
		if calls[id] = true; a.Answered {
			delete(calls, id)
		}
	}
}

// Summary stands for the first Messages messages of the conversation.
type Summary struct {
	Messages int    `json:"messages"`
	Text     string `json:"text"`
}

// Switched says whether the model has a server in a conversation.
type Switched struct {
	Server string `json:"server"`
	Off    bool   `json:"off,omitempty"`
}

// ToolRef names a tool of a server.
type ToolRef struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
}

// Kept is a long result that the model can page through.
type Kept struct {
	URI    string `json:"uri"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Type   string `json:"type,omitempty"` // MIME type
	Text   string `json:"text"`
	// Pictures come with the first page: of what came of a task, which the model gets here only.
	Pictures []model.Media `json:"pictures,omitempty"`
}

func (k *Kept) size() int {
	n := len(k.Text)
	for _, p := range k.Pictures {
		n += len(p.Data)
	}
	return n
}

// A Record stores the entries of a conversation as they come. Append is called by one goroutine at a time; an error
// ends the run, so that nothing happens that would not be remembered.
type Record interface {
	Append(e Entry) error
}

// Unknown is an entry with which the record of a conversation begins that comes from
// elsewhere: all of it counts as read from a stranger, and as private.
func Unknown() (Entry, error) {
	d := consent.New(nil, nil)
	d.AssumeWorst()
	state, err := d.State()
	return Entry{At: time.Now(), Flow: state}, err
}

// unaccounted reports whether a record ends, as after a crash, with results of which
// it does not say where they came from.
func unaccounted(entries []Entry) bool {
	for _, e := range slices.Backward(entries) {
		switch {
		case e.Flow != nil, e.Totals != nil: // at the end of a run, it was written before these if it changed
			return false
		case e.Kept != nil, e.Message != nil && e.Message.Role == model.RoleTool:
			return true
		}
	}
	return false
}

// Restart ends the connection to a server and connects again, without waiting. Until its lists were read again the
// model has none of its tools. The error says that there is no such server, or that it cannot be restarted.
func (h *Host) Restart(server string) error {
	s, found := h.serverNamed(server)
	switch {
	case !found:
		return noServer(server)
	case s.Handler != nil:
		return fmt.Errorf("server %q cannot be restarted: it is part of the program", server)
	}
	s.mu.Lock()
	s.listed, s.err = false, nil
	s.mu.Unlock()
	s.hold(offer{}, nil)
	return h.gateway.Restart(server)
}

func noServer(name string) error { return fmt.Errorf("there is no server %q", name) }

// Stderr returns the last lines that a server's program wrote to its standard error, as far as they are kept.
func (h *Host) Stderr(server string) []string {
	if s, found := h.serverNamed(server); found && s.Stderr != nil {
		return s.Stderr()
	}
	return nil
}

// SetOff switches a server off in this conversation and its children, or on again: the model
// has none of its tools, resources and instructions, and what it defines is not reviewed. It
// is part of the record. The error says that there is no such server, or what the record says.
func (c *Conversation) SetOff(server string, off bool) error {
	if _, found := c.host.serverNamed(server); !found {
		return noServer(server)
	}
	if c.isOff(server) == off {
		return nil
	}
	err := c.add(Entry{Switched: &Switched{Server: server, Off: off}})
	c.host.changes.Add(1)
	if !off {
		c.takeIn() // what came of its tasks meanwhile
	}
	return err
}

func (c *Conversation) isOff(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.off[server]
}

// catalogue is what the model can be given in this conversation.
func (c *Conversation) catalogue() *catalogue {
	c.mu.Lock()
	off := c.off
	c.mu.Unlock()
	return c.host.catalogue().without(off)
}

// without is the catalogue without what some servers offer.
func (c *catalogue) without(off map[string]bool) *catalogue {
	if len(off) == 0 {
		return c
	}
	some := c.only(func(t *tool) bool { return !off[t.server.Name] })
	some.of, some.off = nil, off
	return some
}

// Servers is [Host.Servers] as this conversation has them.
func (c *Conversation) Servers() []ServerTools { return c.host.standings(c.catalogue()) }

// Tools is [Host.Tools] as this conversation has them.
func (c *Conversation) Tools() []ToolInfo { return c.host.toolsOf(c.catalogue()) }

// described finds where a server says how to sign in to it.
var described = regexp.MustCompile(`resource_metadata="(https?://[^"\s]+)"`)

// remedy says what to do about an error that is a refused authorization; empty for others.
func remedy(err error) string {
	var status *mcp.StatusError
	if !errors.As(err, &status) {
		return ""
	}
	text := "it does not know you: get a token for it"
	switch status.Status {
	case http.StatusUnauthorized:
	case http.StatusForbidden:
		text = "your token does not allow it: get another one"
	default:
		return ""
	}
	text += ` and put it into "headers" of the server's entry in its configuration ("Authorization": "Bearer …"), or give it with --header, and start again`
	if m := described.FindStringSubmatch(strings.Join(status.Header.Values("Www-Authenticate"), ", ")); m != nil {
		text += ". How to sign in is described at " + excerpt.Clip(excerpt.Clean(m[1]), excerpt.MaxError)
	}
	return text
}

// An Agent is whom a child conversation is with.
type Agent struct {
	// Name is shown to the person on cards and in events; required.
	Name string
	// Instructions are added to [Options].System.
	Instructions string
	// Limits end each of its runs, in addition to those of the run that it belongs to, which
	// count what it uses as well.
	Limits Limits
}

// Child returns a new conversation within the call of one of [Options].Tools that ctx belongs to: a sub-agent. It and
// the conversation in which the tool is called are one as far as safety goes. What either has read counts for both, and
// so does each yes and each rule of the person, who reads on cards that a sub-agent asks. What it uses counts for the
// run that it belongs to, and that run's limits end it. It ends with the call, whatever context it is asked with. It
// knows nothing of what was said before. A tool that has one is not labelled by its annotations: where the sub-agent's
// words come from was noted while it read.
func Child(ctx context.Context, a Agent) (*Conversation, error) {
	call, err := ownCall(ctx)
	if err != nil {
		return nil, fmt.Errorf("host: a child conversation: %w", err)
	}
	if a.Name == "" {
		return nil, errors.New("host: a child conversation: Agent.Name is missing: cards say who asks")
	}
	call.labelled.Store(true) // where its answer comes from is noted while it reads
	c := call.run.h.newConversation(call.run.c.shared, nil)
	c.agent, c.within, c.ends = a, call, ctx
	return c, nil
}

// shared is what a conversation and its children have in common.
type shared struct {
	decider *consent.Decider

	mu      sync.Mutex        // of what follows, and of each conversation's own
	sampled map[string]int    // tokens that servers used of the model
	reviews map[string]int    // of what servers changed
	off     map[string]bool   // servers that the person switched off; it is replaced as a whole
	queries map[string]string // until the program ends, by tool: the query that found it
}

// parent is the run to whose call this one belongs; nil if to none.
func (r *run) parent() *run {
	if r.c.within == nil {
		return nil
	}
	return r.c.within.run
}

// within are the tools of a question that its parent can have, too.
func (r *run) within(chosen func(ToolInfo) bool) func(ToolInfo) bool {
	parent := r.parent()
	if parent == nil || parent.chosen == nil {
		return chosen
	}
	return func(t ToolInfo) bool { return parent.chosen(t) && (chosen == nil || chosen(t)) }
}

// bound is ctx, which ends with the call at the latest.
func (c *Conversation) bound(ctx context.Context) (context.Context, func(), error) {
	if c.within == nil {
		return ctx, func() {}, nil
	}
	if c.within.over.Load() {
		return nil, nil, fmt.Errorf("sub-agent %q: the call of %s that it belongs to is over", c.agent.Name, c.within.toolName())
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ends, func() { cancel(context.Cause(c.ends)) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// ChildEvent is an event of a child conversation.
type ChildEvent struct {
	// CallID is the call that it belongs to, and Agent the name of the [Agent].
	CallID string `json:"callId"`
	Agent  string `json:"agent"`
	Event  Event  `json:"event"`
}

// tell tells an event; that of a child within one of its parent, so that whoever follows
// the parent does not take one for the other.
func (r *run) tell(e Event) {
	e.Run, e.Step = r.number, int(r.step.Load())
	parent := r.parent()
	if parent == nil {
		r.h.tell(e)
		return
	}
	e.At = time.Now()
	parent.tell(Event{Child: &ChildEvent{CallID: r.c.within.id, Agent: r.c.agent.Name, Event: e}})
}
