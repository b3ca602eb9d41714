package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/consent"
	"github.com/junction-mcp/junction/model"
)

// An Entry is one line of a conversation's record. Entries are only appended, and the state of a
// conversation follows from them. So a conversation can be stored as it happens, and resumed or
// forked after any entry. An Entry is stored as JSON. Exactly one of the pointers (or Flow) is set.
type Entry struct {
	At time.Time `json:"at"`
	// Message is a message of the conversation.
	Message *model.Message `json:"message,omitempty"`
	// Shown replaces a Message of the user on the screen; see Question.Shown.
	Shown string `json:"shown,omitempty"`
	// Summary replaces older messages in the model's view.
	Summary *Summary `json:"summary,omitempty"`
	// Found lists the tools that a search added to the conversation.
	Found []ToolRef `json:"found,omitempty"`
	// LongResult is the full text of a result that the model gets in pages.
	LongResult *LongResult `json:"kept,omitempty"`
	// Note is a fact that every summary repeats.
	Note string `json:"note,omitempty"`
	// Flow is the JSON of a guard.Flow with all untrusted and private texts read so far. It is
	// recorded after a change. Only the last one is kept in memory.
	Flow json.RawMessage `json:"flow,omitempty"`
	// Totals is the use of resources of a run, and marks its end. It is zero for a run that was cut
	// off, for example by a crash.
	Totals *Totals `json:"totals,omitempty"`
	// Ended, set together with Totals, is the reason why the run ended without a complete answer.
	// It is nil if the answer is complete.
	Ended *Ended `json:"ended,omitempty"`
	// Asking records that a question about calls was shown to the user, or was answered. The calls
	// are not made before the answer.
	Asking *Asking `json:"asking,omitempty"`
	// Plan replaces the conversation's plan.
	Plan *Plan `json:"plan,omitempty"`
	// ServerSwitched records that a server was switched off or on.
	ServerSwitched *ServerSwitched `json:"switched,omitempty"`
	// Withdrawn is an approval that the user withdrew. It no longer applies, even if an earlier
	// Flow has it.
	Withdrawn *guard.Approval `json:"withdrawn,omitempty"`
	// Task is an event of a call that its server runs as a task.
	Task *TaskEntry `json:"task,omitempty"`
	// Title is a new name of the conversation for users.
	Title string `json:"title,omitempty"`
}

// TakesBack reports whether the entry records a withdrawal or a switch by the user and is not part
// of the messages. A copy of the conversation that ends before the entry also gets it.
func (e *Entry) TakesBack() bool { return e.ServerSwitched != nil || e.Withdrawn != nil }

// Ended is the end of a run without a complete answer; see [Answered].
type Ended struct {
	Stop  string `json:"stop"`
	Error string `json:"error,omitempty"`
}

// Asking lists calls that are not made before the user answers. If a record ends before the answer,
// they were not made.
type Asking struct {
	Calls    []string `json:"calls"` // IDs of the calls
	Answered bool     `json:"answered,omitempty"`
}

// UnansweredCalls returns the IDs of the calls that were not made because the record ends before
// the user's answer.
func UnansweredCalls(entries []Entry) map[string]bool {
	calls := map[string]bool{}
	for i := range entries {
		if a := entries[i].Asking; a != nil {
			for _, id := range a.Calls {
				if calls[id] = true; a.Answered {
					delete(calls, id)
				}
			}
		}
	}
	return calls
}

// Summary replaces the first Messages messages of the conversation.
type Summary struct {
	Messages int    `json:"messages"`
	Text     string `json:"text"`
}

// ServerSwitched records whether a server is off in the conversation.
type ServerSwitched struct {
	Server string `json:"server"`
	Off    bool   `json:"off,omitempty"`
}

// LongResult is a long result that the model can read page by page.
type LongResult struct {
	URI    string `json:"uri"`
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Type   string `json:"type,omitempty"` // MIME type
	Text   string `json:"text"`
	// Pictures belong to the first page of the result of a task. The model gets them only here.
	Pictures []model.Media `json:"pictures,omitempty"`
}

func (k *LongResult) size() int {
	n := len(k.Text)
	for _, p := range k.Pictures {
		n += len(p.Data)
	}
	return n
}

// A TaskEntry is an event of a call that became a task of its server. One of Began, Left, Over and
// Came is set. A task whose only entry is Began ends when the call's result is recorded.
type TaskEntry struct {
	Number int        `json:"number"` // number of the task in the conversation, from 1
	Began  *TaskBegan `json:"began,omitempty"`
	Left   bool       `json:"left,omitempty"` // no call waits for the task any more
	Over   bool       `json:"over,omitempty"` // a sub-agent has the result, and other tasks need the space
	Came   *TaskCame  `json:"came,omitempty"` // result of the task
}

// TaskBegan holds the data needed to wait for a task again.
type TaskBegan struct {
	Tool   ToolRef `json:"tool"`
	Via    string  `json:"via"`              // server that runs the task
	Origin string  `json:"origin,omitempty"` // origin of Via; distinguishes servers with the same name
	ID     string  `json:"id"`
	CallID string  `json:"callId"`          // call of the conversation's own model
	Agent  string  `json:"agent,omitempty"` // sub-agent within that call that made the task's call
}

// TaskCame is the result of a task that no call waited for.
type TaskCame struct {
	// Message tells the model where to read the result, which is in LongResult.
	Message    *model.Message `json:"message"`
	LongResult *LongResult    `json:"kept,omitempty"`
	IsError    bool           `json:"isError,omitempty"`
}

// A Plan lists the steps to a goal. It is part of the record, so a resumed conversation still has
// it. Package host/plan proposes plans and carries them out.
type Plan struct {
	Goal  string     `json:"goal,omitempty"`
	Steps []PlanStep `json:"steps"`
}

// PlanStep is one step of a Plan.
type PlanStep struct {
	Text  string `json:"text"`
	State string `json:"state,omitempty"` // one of the constants below
	Note  string `json:"note,omitempty"`  // reason why the step failed
}

// States of a step of a plan.
const (
	PlanOpen   = ""       // not begun
	PlanBegun  = "begun"  // begun, perhaps in an earlier process
	PlanDone   = "done"   // finished
	PlanFailed = "failed" // the model could not do it
)

// Limits of a plan.
const (
	maxPlanSteps = 100
	maxPlanText  = 4 << 10 // bytes of the goal, of a step, and of its note
)

// check returns an error if the plan exceeds the limits.
func (p *Plan) check() error {
	if len(p.Steps) > maxPlanSteps {
		return fmt.Errorf("the plan has %d steps: at most %d; combine some of them", len(p.Steps), maxPlanSteps)
	}
	for i, s := range append([]PlanStep{{Text: p.Goal}}, p.Steps...) {
		if i > 0 && strings.TrimSpace(s.Text) == "" || len(s.Text) > maxPlanText || len(s.Note) > maxPlanText {
			return fmt.Errorf("step %d of the plan (0 is its goal), and its note, must have 1 to %d bytes", i, maxPlanText)
		}
		if !slices.Contains([]string{PlanOpen, PlanBegun, PlanDone, PlanFailed}, s.State) {
			return fmt.Errorf("step %d of the plan: the state %q is unknown: expected %q, %q, %q, or none for an open step", i, s.State, PlanBegun, PlanDone, PlanFailed)
		}
	}
	return nil
}

// A Record stores the entries of a conversation in order. One goroutine at a time calls Append. An
// error ends the run, so that nothing happens without a record.
type Record interface {
	Append(e Entry) error
}

// Unknown returns the first entry for a conversation from elsewhere. Everything in it then counts
// as untrusted and private.
func Unknown() (Entry, error) {
	d := consent.New(nil, nil)
	d.AssumeWorst()
	state, err := d.State()
	return Entry{At: time.Now(), Flow: state}, err
}

// lacksSources reports whether the record ends with results whose sources it does not contain, for
// example after a crash.
func lacksSources(entries []Entry) bool {
	for _, e := range slices.Backward(entries) {
		switch {
		case e.Flow != nil, e.Totals != nil: // Flow was recorded before this, if it changed
			return false
		case e.LongResult != nil, e.Message != nil && e.Message.Role == model.RoleTool:
			return true
		}
	}
	return false
}

// flowDropped replaces the flow of an entry that no longer has it. It is invalid, so that code that
// restores it assumes the worst.
var flowDropped = json.RawMessage(`"not kept"`)

const (
	maxNote  = 4 << 10 // bytes of one note
	maxNotes = 100
	maxTitle = 200 // bytes
)

// Limits of keptResults.
const (
	maxKept      = 200      // number of results
	maxKeptBytes = 32 << 20 // bytes of all results; the oldest are dropped first
	maxKeptEach  = 4 << 20  // bytes of one result; longer ones are clipped
	keptScheme   = "junction://result/"
)

// keptResults holds the results that the model reads in pages.
type keptResults struct {
	all   []LongResult
	bytes int
	next  int
}

// name returns the URI of the next result.
func (s *keptResults) name() string { return fmt.Sprintf("%s%d", keptScheme, s.next+1) }

// put adds a result, and returns the URIs of the results dropped for it. A result without text was
// dropped before, and only uses up a number.
func (s *keptResults) put(k LongResult) (gone []string) {
	s.next++
	if k.Text == "" {
		return nil
	}
	s.all = append(s.all, k)
	s.bytes += k.size()
	for len(s.all) > maxKept || s.bytes > maxKeptBytes {
		gone = append(gone, s.all[0].URI)
		s.bytes -= s.all[0].size()
		s.all = s.all[1:]
	}
	return gone
}

func (s *keptResults) get(uri string) (LongResult, bool) {
	for _, k := range s.all {
		if k.URI == uri {
			return k, true
		}
	}
	return LongResult{}, false
}

const maxName = 200 // characters of an attachment's name
