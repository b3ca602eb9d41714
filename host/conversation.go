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

// ErrBusy reports that a run of the conversation has not ended yet.
var ErrBusy = errors.New("the conversation is waiting for an answer already")

// A Conversation holds messages, stored results and totals. Only one run at a time is possible; all
// other methods are safe for concurrent use.
type Conversation struct {
	host   *Host
	record Record
	busy   chan struct{} // holds a token while no run is active
	agent  Agent         // agent of a child conversation
	within *calling      // call of the parent; nil in a conversation without parent
	ends   context.Context

	shelving sync.Mutex // held while one long result gets its number and is recorded
	adding   sync.Mutex // held while one entry is recorded and applied, so that both have the same order

	view window.View

	*shared
	entries []Entry
	found   []ToolRef   // tools that searches found, in order
	kept    keptResults // long results
	tasks   []*pendingTask
	// taskNumber is the number of the last task. ranAsTask holds the numbers of the tasks of each
	// call, by the call's id.
	taskNumber int
	ranAsTask  map[string][]int
	more       chan struct{} // capacity 1; has a value if there are tasks that no call waits for
	taking     chan struct{} // closed when the results of tasks are recorded outside of a run; nil while none are
	takeAgain  bool          // more results came meanwhile
	flowAt     int           // index of the entry with the latest record of texts read; negative if none
	totals     Totals
	plan       Plan
	runs       int
	running    bool            // a question came, and no totals yet
	cutOff     bool            // the record ends in the middle of a run, for example after a crash
	ids        map[string]bool // ids of calls
}

// Conversation returns a new conversation, or the continuation of one with the given entries. It
// repairs a history that a crash cut off. record is called with every new entry; it may be nil.
func (h *Host) Conversation(record Record, entries ...Entry) *Conversation {
	here := func(from guard.Source) bool {
		return slices.ContainsFunc(h.servers, func(s *server) bool { return s.isSource(from) })
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
		t.left, t.resumed = true, true // the caller that waited for it no longer exists
	}
	mended, what := history.Repair(c.view.Messages(), c.ranAsTask, UnansweredCalls(c.entries))
	c.view.Replace(mended)
	if what != "" && c.cutOff { // only once: the next run records that the earlier one was cut off
		h.notice(Notice{Kind: NoticeRepaired, Text: what})
	}
	return c
}

func (h *Host) newConversation(with *shared, record Record) *Conversation {
	c := &Conversation{host: h, record: record, busy: make(chan struct{}, 1), shared: with, ids: map[string]bool{}, ranAsTask: map[string][]int{}, more: make(chan struct{}, 1), flowAt: -1}
	c.busy <- struct{}{}
	return c
}

// apply applies an entry to the state of the conversation.
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
		bare := c.view.Summarize(e.Summary.Messages, e.Summary.Text) // messages without images and sounds
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
	case e.ServerSwitched != nil:
		off := maps.Clone(c.off) // a copy, because catalogues share the old map
		if off == nil {
			off = map[string]bool{}
		}
		if off[e.ServerSwitched.Server] = e.ServerSwitched.Off; !e.ServerSwitched.Off {
			delete(off, e.ServerSwitched.Server)
		}
		c.off = off
	case e.Found != nil:
		c.found = append(c.found, e.Found...)
	case e.LongResult != nil:
		for _, uri := range c.kept.put(*e.LongResult) {
			c.unload(uri)
		}
	case e.Task != nil:
		c.tasked(e)
	case e.Totals != nil:
		c.totals, c.running = c.totals.add(*e.Totals), false
	}
}

// unload drops the text of a stored result that the model can no longer read. The Record still has
// it.
func (c *Conversation) unload(uri string) {
	for i := range c.entries {
		e := &c.entries[i]
		if k := e.LongResult; k != nil && k.URI == uri {
			bare := *k
			bare.Text, bare.Pictures = "", nil
			e.LongResult = &bare
		}
		if t := e.Task; t != nil && t.Came != nil && t.Came.LongResult != nil && t.Came.LongResult.URI == uri {
			bare, came, task := *t.Came.LongResult, *t.Came, *t
			bare.Text, bare.Pictures = "", nil
			came.LongResult, task.Came = &bare, &came
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

// addNext is add for callers that hold c.adding.
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

// take reserves the conversation for a run and reports whether it could. It waits while results of
// tasks are recorded, which is not a run.
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

// Keep adds a fact that every summary repeats.
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

// Notes returns the facts that every summary repeats.
func (c *Conversation) Notes() []string { return c.view.Notes() }

// Entries returns the entries of the conversation without data that the model can no longer read.
// Only the [Record] has that data: the texts of old long results, and the images and sounds that a
// summary replaced.
func (c *Conversation) Entries() []Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.entries)
}

// Messages returns all messages. Images and sounds that a summary replaced have no data.
func (c *Conversation) Messages() []model.Message { return c.view.Messages() }

// Totals returns the resources that the conversation used.
func (c *Conversation) Totals() Totals {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.totals
}

// saveFlow records which texts were read, if that changed since the last record. It holds c.adding,
// so that no entry of a newer state comes first.
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

// keepFlow drops the flow of the previous entry if entry at has a newer one. A flow can be long,
// and each contains the one before. The Record has them all.
func (c *Conversation) keepFlow(at int) {
	if c.entries[at].Flow == nil {
		return
	}
	if c.flowAt >= 0 {
		c.entries[c.flowAt].Flow = flowDropped
	}
	c.flowAt = at
}

// restoreFlow restores the flow of data from the entries.
func (c *Conversation) restoreFlow() {
	if c.flowAt >= 0 {
		c.decider.Restore(c.entries[c.flowAt].Flow)
	}
	if lacksSources(c.entries) {
		c.decider.AssumeWorst()
	}
	for _, e := range c.entries[c.flowAt+1:] { // entries after the last flow
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

// catalogue returns the tools and skills that the model can be given in this conversation.
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

// Servers is [Host.Servers] for this conversation.
func (c *Conversation) Servers() []ServerTools { return c.host.standings(c.catalogue()) }

// Tools is [Host.Tools] for this conversation.
func (c *Conversation) Tools() []ToolInfo { return c.host.toolsOf(c.catalogue()) }

// shared holds the state that a conversation and its children have in common.
type shared struct {
	decider *consent.Decider

	mu      sync.Mutex        // protects the fields below, and those of each conversation
	sampled map[string]int    // tokens that each server used of the model
	reviews map[string]int    // number of reviews of each server's changes
	off     map[string]bool   // servers that the user switched off; never modified, only replaced
	queries map[string]string // the query that found a tool, by tool; kept until the program ends
}

// narrow limits chosen to the tools that the parent's question allows.
func (r *run) narrow(chosen func(ToolInfo) bool) func(ToolInfo) bool {
	parent := r.parent()
	if parent == nil || parent.chosen == nil {
		return chosen
	}
	return func(t ToolInfo) bool { return parent.chosen(t) && (chosen == nil || chosen(t)) }
}

// bound returns a context that ends with ctx, or with the parent's call.
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

// sampledBy adds tokens that a server used of the model, and returns the server's total.
func (c *Conversation) sampledBy(server string, tokens int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sampled[server] += tokens
	return c.sampled[server]
}

// Plan returns a copy of the conversation's plan. It has no steps if there is no plan.
func (c *Conversation) Plan() Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	plan := c.plan
	plan.Steps = slices.Clone(plan.Steps)
	return plan
}

// SetPlan replaces the conversation's plan. A plan without steps removes it.
func (c *Conversation) SetPlan(p Plan) error {
	_, err := c.ChangePlan(func(Plan) (Plan, error) { return p, nil })
	return err
}

// ChangePlan replaces the conversation's plan by the result of change, and returns the new plan. If
// the plan changed meanwhile, ChangePlan calls change again with the newer plan, so change must not
// have side effects. If change fails, the plan stays the same.
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

// replacePlan replaces the plan unless it differs from before. It reports whether it did.
func (c *Conversation) replacePlan(before, after Plan) (bool, error) {
	c.adding.Lock()
	defer c.adding.Unlock()
	if now := c.Plan(); now.Goal != before.Goal || !slices.Equal(now.Steps, before.Steps) {
		return false, nil
	}
	return true, c.addNext(Entry{Plan: &after})
}

// tasked applies an entry about a task. The caller holds c.mu.
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
		if e.Task.Came.LongResult != nil {
			for _, uri := range c.kept.put(*e.Task.Came.LongResult) {
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

// trust calls [Host.Trust] for a server and removes the label untrusted from its earlier texts.
// Text that a tool got from the outside world stays untrusted.
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
	}, s.isSource)
}

// Trust calls [Host.Trust] for a server and also counts text of the server that was read before as
// trusted.
func (c *Conversation) Trust(server string, forever bool) error {
	if _, found := c.host.serverNamed(server); !found {
		return noServer(server)
	}
	c.trust(server, forever) // trust reports errors as notices
	return nil
}

// Distrust ends the trust in a server until the Host is closed, whatever the trust came from. Its
// definitions need a review unless they were approved, and its earlier texts count as untrusted.
// The error reports that the server does not exist, or belongs to the program.
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

// relabel marks the texts of all untrusted servers, and of the servers behind them, as untrusted.
// The servers may have been trusted when the texts were read, in an earlier session or before
// another conversation ended the trust.
func (c *Conversation) relabel() {
	for _, s := range c.host.servers {
		if !s.trusted() {
			c.decider.Distrust(s.isSource)
		}
	}
}

func (c *Conversation) nextKept() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.name()
}

// Approvals returns the user's approvals of calls that this conversation remembers.
func (c *Conversation) Approvals() []guard.Approval { return c.decider.Approvals() }

// Withdraw forgets one of [Conversation.Approvals], so that the user is asked about the next such
// call. The error reports that there is no such approval, or that the record failed.
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

// A pendingTask is a Task with its state in this process.
type pendingTask struct {
	TaskBegan
	number  int
	began   time.Time
	left    bool
	resumed bool // the task began in an earlier process
	over    bool // the call has its result, which is not recorded yet
	watched bool // a goroutine outside of a call waits for it
	came    *arrival
	status  string
	message string
	leave   context.CancelCauseFunc // ends the wait of its call; nil if no call waits
}

// An arrival is the result of a task before it is part of the conversation.
type arrival struct {
	result *mcp.CallToolResult
	err    error
}

// A calling is a running call of a tool, or a running read of a resource or a prompt. Questions,
// progress and log messages of the server belong to it.
type calling struct {
	run    *run // nil outside of a run
	id     string
	server *server
	tool   *tool // nil for resources and prompts

	serverRequests atomic.Int32 // requests from the server during the call
	over           atomic.Bool
	labelled       atomic.Bool // a tool of the program's own has labelled its result

	leave  context.CancelCauseFunc // ends the call
	task   *pendingTask            // task that the call became; nil if none
	taskOf *Conversation           // conversation of the task, if run is nil
}

func withCall(ctx context.Context, c *calling) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func callFrom(ctx context.Context) *calling {
	c, _ := ctx.Value(callKey{}).(*calling)
	return c
}

type callKey struct{}

// toolName returns the name of the tool whose call a server's request belongs to, or "".
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

// A run is the work from a question to its answer.
type run struct {
	c             *Conversation
	h             *Host
	number        int
	step          atomic.Int32
	sharing       int // number of results that share the space for one result
	account       account
	reportedNotes map[model.Note]bool // notes of the adapter that were already reported
	userText      string              // the user's question
	asked         bool                // whether the question is recorded in the conversation
	text          string              // text of the last answer
	refused       string              // see Answer.Refused

	requestedCalls []string // IDs of the calls that the model requested, while none of them is made
	toolset
}

func newRun(c *Conversation) *run {
	c.mu.Lock()
	number := c.runs + 1
	c.mu.Unlock()
	r := &run{c: c, h: c.host, number: number, sharing: 1, reportedNotes: map[model.Note]bool{}}
	r.account.limits = c.host.options.Limits
	if parent := r.parent(); parent != nil {
		r.account.limits, r.account.above, r.userText = c.agent.Limits, &parent.account, parent.userText
	}
	return r
}

var errTimeLimit = errors.New("the run's time is over")

func (r *run) notice(kind, format string, args ...any) {
	r.tell(Event{Notice: &Notice{Kind: kind, Text: fmt.Sprintf(format, args...)}})
}

// tell sends an event. The event of a child is wrapped in one of its parent, so that readers of the
// parent's events can distinguish them.
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

// parent returns the run whose call started this one, or nil.
func (r *run) parent() *run {
	if r.c.within == nil {
		return nil
	}
	return r.c.within.run
}

// An account counts the resources that a run and its child conversations used, and has the run's
// limits. Calls, and servers that use the model, add to it concurrently.
type account struct {
	limits Limits
	above  *account // account of the run whose call started this one; nil if none

	mu     sync.Mutex
	totals Totals
	steps  int
}

// use adds used resources to the account and to those above. Their durations are not added, because
// each run measures its own.
func (a *account) use(t Totals) {
	for ; a != nil; a, t.Duration = a.above, 0 {
		a.mu.Lock()
		a.totals = a.totals.add(t)
		a.mu.Unlock()
	}
}

// used returns the resources used so far.
func (a *account) used() Totals {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.totals
}

// step counts one more request to the model. If that would exceed a limit of the run, or of a run
// above, it returns the reason to stop and a text for the user.
func (a *account) step() (stop, why string) {
	for ; a != nil && stop == ""; a = a.above {
		a.mu.Lock()
		most, tokens := a.limits, a.totals.Usage.Input+a.totals.Usage.Output
		switch {
		case a.steps >= cmp.Or(most.Steps, defaultSteps):
			stop, why = stopSteps, fmt.Sprintf("the run was ended at its limit of %d requests to the model; ask the model to continue", a.steps)
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

// A toolset holds the tools that the model has in the current step.
type toolset struct {
	catalogue *catalogue
	seen      uint64              // number of the host's changes when the toolset was made
	chosen    func(ToolInfo) bool // tools that the question allows; nil: all
	only      map[ToolRef]bool    // tools that the step hook allows; nil: all
	prefix    model.Request       // request without its messages
	says      string              // system prompt, with the instructions
}
