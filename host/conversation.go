package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/consent"
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
	here := func(from guard.Source) bool {
		return slices.ContainsFunc(h.servers, func(s *server) bool { return s.said(from) })
	}
	c := h.newConversation(&shared{decider: consent.New(h.currentRules, here), sampled: map[string]int{}, reviews: map[string]int{}, queries: map[string]string{}}, record)
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

// Name gives the conversation a title for users.
func (c *Conversation) Name(title string) error {
	title = strings.TrimSpace(title)
	if title == "" || len(title) > maxTitle {
		return fmt.Errorf("a title has 1 to %d bytes", maxTitle)
	}
	return c.add(Entry{Title: title})
}

// Notes returns the facts that every summary keeps.
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

func (c *Conversation) isOff(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.off[server]
}

// catalogue returns what the model can be given in this conversation.
func (c *Conversation) catalogue() *catalogue {
	c.mu.Lock()
	off := c.off
	c.mu.Unlock()
	all := c.host.catalogue()
	if len(off) == 0 {
		return all
	}
	some := all.only(func(t *tool) bool { return !off[t.server.Name] })
	some.of, some.off = nil, off
	return some
}

// Servers is [Host.Servers] as this conversation has them.
func (c *Conversation) Servers() []ServerTools { return c.host.standings(c.catalogue()) }

// Tools is [Host.Tools] as this conversation has them.
func (c *Conversation) Tools() []ToolInfo { return c.host.toolsOf(c.catalogue()) }

// shared is what a conversation and its children have in common.
type shared struct {
	decider *consent.Decider

	mu      sync.Mutex        // of what follows, and of each conversation's own
	sampled map[string]int    // tokens that servers used of the model
	reviews map[string]int    // of what servers changed
	off     map[string]bool   // servers that the user switched off; it is replaced as a whole
	queries map[string]string // until the program ends, by tool: the query that found it
}

// within returns the tools of a question that its parent can have, too.
func (r *run) within(chosen func(ToolInfo) bool) func(ToolInfo) bool {
	parent := r.parent()
	if parent == nil || parent.chosen == nil {
		return chosen
	}
	return func(t ToolInfo) bool { return parent.chosen(t) && (chosen == nil || chosen(t)) }
}

// bound returns ctx, which ends with the call at the latest.
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

// sampledBy adds what a server used of the model, and returns it all.
func (c *Conversation) sampledBy(server string, tokens int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sampled[server] += tokens
	return c.sampled[server]
}

// Plan returns the conversation's plan; it has no steps where there is none.
func (c *Conversation) Plan() Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	plan := c.plan
	plan.Steps = slices.Clone(plan.Steps)
	return plan
}

// SetPlan replaces the conversation's plan; one without steps takes it away.
func (c *Conversation) SetPlan(p Plan) error {
	_, err := c.ChangePlan(func(Plan) (Plan, error) { return p, nil })
	return err
}

// ChangePlan replaces the conversation's plan by what change makes of it, and returns that. Where
// somebody else changed the plan meanwhile, change is called again with theirs, so that nothing is
// lost: it should do nothing but compute. Its error leaves the plan as it is.
func (c *Conversation) ChangePlan(change func(Plan) (Plan, error)) (Plan, error) {
	for {
		before := c.Plan()
		seen := before
		seen.Steps = slices.Clone(before.Steps)
		after, err := change(seen)
		if err == nil {
			err = after.check()
		}
		if err != nil {
			return before, err
		}
		after.Steps = slices.Clone(after.Steps)
		if replaced, err := c.replacePlan(before, after); replaced || err != nil {
			return after, err
		}
	}
}

// replacePlan does so unless the plan is another one by now.
func (c *Conversation) replacePlan(before, after Plan) (bool, error) {
	c.adding.Lock()
	defer c.adding.Unlock()
	if now := c.Plan(); now.Goal != before.Goal || !slices.Equal(now.Steps, before.Steps) {
		return false, nil
	}
	return true, c.addNext(Entry{Plan: &after})
}

// tasked takes up an entry of the record; the lock is held.
func (c *Conversation) tasked(e *Entry) {
	at := slices.IndexFunc(c.tasks, func(t *pendingTask) bool { return t.number == e.Task.Number })
	switch {
	case e.Task.Began != nil:
		c.tasks = append(c.tasks, &pendingTask{TaskBegan: *e.Task.Began, number: e.Task.Number, began: e.At})
		c.taskNumber = max(c.taskNumber, e.Task.Number)
		c.ranAsTask[e.Task.Began.CallID] = append(c.ranAsTask[e.Task.Began.CallID], e.Task.Number)
	case e.Task.Left && at >= 0:
		c.tasks[at].left = true
	case e.Task.Over && at >= 0:
		id := c.tasks[at].CallID
		c.ranAsTask[id] = slices.DeleteFunc(c.ranAsTask[id], func(n int) bool { return n == e.Task.Number })
		c.tasks = slices.Delete(c.tasks, at, at+1)
	case e.Task.Came != nil:
		if e.Task.Came.Kept != nil {
			for _, uri := range c.kept.put(*e.Task.Came.Kept) {
				c.unload(uri)
			}
		}
		if e.Task.Came.Message != nil {
			c.view.Say(*e.Task.Came.Message)
		}
		if at >= 0 {
			c.tasks = slices.Delete(c.tasks, at, at+1)
		}
	}
}

// trust is [Host.Trust] in the middle of a conversation: of what was read before only what
// is somebody else's stays untrusted.
func (c *Conversation) trust(server string, forever bool) {
	if err := c.host.Trust(server, forever); err != nil {
		c.host.notice(Notice{Kind: NoticeServer, Server: server, Text: err.Error()})
	}
	s, found := c.host.serverNamed(server)
	if !found || !s.trusted() {
		return
	}
	c.decider.Trust(func(from guard.Source) bool {
		return slices.ContainsFunc(s.current().tools, func(t *tool) bool {
			return t.source() == from && guard.LabelsOf(s.trust(), hints(t.annotations()))&guard.Untrusted == 0
		})
	}, s.said)
}

// Trust is [Host.Trust] in this conversation: what was read of the server before counts as that of a trusted one, too.
func (c *Conversation) Trust(server string, forever bool) error {
	if _, found := c.host.serverNamed(server); !found {
		return noServer(server)
	}
	c.trust(server, forever) // it tells what went wrong
	return nil
}

// Distrust ends the trust in a server until the Host is closed, whoever gave it: what it
// defines is reviewed unless it was approved, and what was read of it counts as untrusted.
// The error says that there is no such server, or that it is the program's own.
func (c *Conversation) Distrust(server string) error {
	s, found := c.host.serverNamed(server)
	switch {
	case !found:
		return noServer(server)
	case isOwn(server):
		return fmt.Errorf("the tools of %q are the program's own", server)
	}
	s.vouched.Store(false)
	c.host.changes.Add(1)
	c.relabel()
	c.decider.Reconsider()
	return c.saveFlow()
}

// relabel has what servers that are not trusted said before, and those behind them, count as untrusted, also where it
// was read while they were: in an earlier session, or before another conversation ended the trust.
func (c *Conversation) relabel() {
	for _, s := range c.host.servers {
		if !s.trusted() {
			c.decider.Distrust(s.said)
		}
	}
}

func (c *Conversation) nextKept() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.name()
}

// Approvals returns the answers of the user to calls that this conversation remembers.
func (c *Conversation) Approvals() []guard.Approval { return c.decider.Approvals() }

// Withdraw forgets one of [Conversation.Approvals], so that such a call is asked about again.
// The error says that it is not remembered, or what the record says.
func (c *Conversation) Withdraw(a guard.Approval) error {
	remembered, recorded := c.decider.Withdraw(a)
	switch {
	case !remembered:
		return fmt.Errorf("the approval of %s is no longer remembered", guard.Source{Server: a.Server, Tool: a.Tool})
	case !recorded:
		return nil
	}
	return errors.Join(c.add(Entry{Withdrawn: &a}), c.saveFlow())
}

// A pendingTask is a Task with what is known of it in this process.
type pendingTask struct {
	TaskBegan
	number  int
	began   time.Time
	left    bool
	resumed bool // it began in an earlier process
	over    bool // the call has its result, which is not recorded yet
	watched bool // somebody waits for it outside of a call
	came    *arrival
	status  string
	message string
	leave   context.CancelCauseFunc // of the call that waits; nil: none
}

// An arrival is what came of a task, before it is part of the conversation.
type arrival struct {
	result *mcp.CallToolResult
	err    error
}

// A calling is one call of a tool, or the reading of a resource or a prompt, while
// it runs: what questions, progress and log messages of a server belong to.
type calling struct {
	run    *run // nil outside of a run
	id     string
	server *server
	tool   *tool // nil for resources and prompts

	serverRequests atomic.Int32 // that came in the middle of it
	over           atomic.Bool
	labelled       atomic.Bool // a tool of the program's own has said where its result comes from

	leave  context.CancelCauseFunc // ends it
	task   *pendingTask            // that it became; nil: none
	taskOf *Conversation           // whose task it is, where run is nil
}

func withCall(ctx context.Context, c *calling) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callFrom(ctx context.Context) *calling {
	c, _ := ctx.Value(callKey{}).(*calling)
	return c
}

type callKey struct{}

// toolName returns the tool that a request from the server belongs to; empty if to nothing.
func (c *calling) toolName() string {
	if c == nil || c.tool == nil {
		return ""
	}
	return c.tool.ref.Tool
}

func (c *calling) callID() string {
	if c == nil {
		return ""
	}
	return c.id
}

func (c *calling) path() string {
	switch {
	case c == nil:
		return ""
	case c.run != nil && c.run.c.within != nil:
		return c.run.c.within.path() + "/" + c.id
	}
	return c.id
}

// A run is what happens between a question and its answer.
type run struct {
	c       *Conversation
	h       *Host
	number  int
	step    atomic.Int32
	sharing int // results that come together share the room for one
	account account
	noted   map[model.Note]bool // of the adapter, that were reported already
	said    string              // by the user
	asked   bool                // whether the question stands in the conversation
	text    string              // of the last answer
	refused string              // see Answer.Refused

	unmadeYet []string // IDs of the calls that the model wants, while none of them is made
	toolset
}

func newRun(c *Conversation) *run {
	c.mu.Lock()
	number := c.runs + 1
	c.mu.Unlock()
	r := &run{c: c, h: c.host, number: number, sharing: 1, noted: map[model.Note]bool{}}
	r.account.limits = c.host.options.Limits
	if parent := r.parent(); parent != nil {
		r.account.limits, r.account.above, r.said = c.agent.Limits, &parent.account, parent.said
	}
	return r
}

var errTimeLimit = errors.New("the run's time is over")

func (r *run) notice(kind, format string, args ...any) {
	r.tell(Event{Notice: &Notice{Kind: kind, Text: fmt.Sprintf(format, args...)}})
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

// parent returns the run to whose call this one belongs; nil if to none.
func (r *run) parent() *run {
	if r.c.within == nil {
		return nil
	}
	return r.c.within.run
}

// An account counts what a run used, its child conversations included, and knows its
// limits. Calls, and servers that use the model, count at the same time.
type account struct {
	limits Limits
	above  *account // of the run to whose call this one belongs; nil if to none

	mu     sync.Mutex
	totals Totals
	steps  int
}

// use counts what was used. The time above runs by itself.
func (a *account) use(t Totals) {
	for ; a != nil; a, t.Duration = a.above, 0 {
		a.mu.Lock()
		a.totals = a.totals.add(t)
		a.mu.Unlock()
	}
}

// used returns what was used so far.
func (a *account) used() Totals {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.totals
}

// step takes one more request to the model, or says at which limit the run must end: its own, or one of those above.
func (a *account) step() (stop, why string) {
	for ; a != nil && stop == ""; a = a.above {
		a.mu.Lock()
		most, tokens := a.limits, a.totals.Usage.Input+a.totals.Usage.Output
		switch {
		case a.steps >= cmp.Or(most.Steps, defaultSteps):
			stop, why = stopSteps, fmt.Sprintf("the run was ended at its limit of requests to the model, %d; ask it to go on", a.steps)
		case most.Tokens > 0 && tokens >= most.Tokens:
			stop, why = stopTokens, fmt.Sprintf("the run was ended after %d tokens, of %d allowed", tokens, most.Tokens)
		case most.Money > 0 && a.totals.Cost >= most.Money:
			stop, why = stopMoney, fmt.Sprintf("the run was ended after $%.4f, of $%.4f allowed", a.totals.Cost, most.Money)
		default:
			a.steps++
		}
		a.mu.Unlock()
	}
	return stop, why
}

// A toolset is what the model has in the step that is made.
type toolset struct {
	catalogue *catalogue
	seen      uint64              // of the host's changes
	chosen    func(ToolInfo) bool // by the question; nil: all
	only      map[ToolRef]bool    // by the step hook; nil: all
	prefix    model.Request       // without its messages
	says      string              // the instructions among them
}
