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

// An Entry is one line of a conversation's record. The record only grows: a conversation is what its entries add up to,
// so it can be stored as it happens, resumed after any of them, and forked at any of them. It is stored as JSON.
// Exactly one of the pointers (or Flow) is set.
type Entry struct {
	At time.Time `json:"at"`
	// Message was said.
	Message *model.Message `json:"message,omitempty"`
	// Shown stands for a Message of the user where people see it; see Question.Shown.
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
	// Asking says that the user is asked about calls, which are not made meanwhile, or was.
	Asking *Asking `json:"asking,omitempty"`
	// Plan is what is to be done, in place of the plan before.
	Plan *Plan `json:"plan,omitempty"`
	// Switched says that a server was switched off, or on again.
	Switched *Switched `json:"switched,omitempty"`
	// Withdrawn is an answer of the user that they took back: what Flow said of it before does not hold.
	Withdrawn *guard.Approval `json:"withdrawn,omitempty"`
	// Task is what happened to a call that its server runs as a task.
	Task *TaskEntry `json:"task,omitempty"`
	// Title names the conversation for users.
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

// Asking names calls of which none is made before the user answers. A record that ends before they did says so of them.
type Asking struct {
	Calls    []string `json:"calls"` // by their IDs
	Answered bool     `json:"answered,omitempty"`
}

// Unasked returns the calls that were not made, as the record ends while the user was asked about them, by their IDs.
func Unasked(entries []Entry) map[string]bool {
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

// A TaskEntry is what happened to a call that became a task of its server. One of Began, Left, Over and Came is set. A
// task of which the record has only that it began is over as soon as it has the result of the call.
type TaskEntry struct {
	Number int        `json:"number"` // in the conversation, from 1
	Began  *TaskBegan `json:"began,omitempty"`
	Left   bool       `json:"left,omitempty"` // no call waits for it any more
	Over   bool       `json:"over,omitempty"` // a sub-agent has its result, and others need the room
	Came   *TaskCame  `json:"came,omitempty"` // the last of it
}

// TaskBegan is what must be known of a task to wait for it again.
type TaskBegan struct {
	Tool   ToolRef `json:"tool"`
	Via    string  `json:"via"`              // the server that is asked about it
	Origin string  `json:"origin,omitempty"` // which tells that one from others of its name
	ID     string  `json:"id"`
	CallID string  `json:"callId"`          // the call of the conversation's own that it belongs to
	Agent  string  `json:"agent,omitempty"` // the sub-agent that made a call within that one
}

// TaskCame is what came of a task that no call waited for.
type TaskCame struct {
	// Message tells the model where it can read what came, which is in Kept.
	Message *model.Message `json:"message"`
	Kept    *Kept          `json:"kept,omitempty"`
	IsError bool           `json:"isError,omitempty"`
}

// A Plan is what is to be done in a conversation, step by step. It is part of the record, so a conversation that is
// resumed still has it. Package host/plan proposes plans and carries them out.
type Plan struct {
	Goal  string     `json:"goal,omitempty"`
	Steps []PlanStep `json:"steps"`
}

// PlanStep is one step of a Plan.
type PlanStep struct {
	Text  string `json:"text"`
	State string `json:"state,omitempty"` // one of the constants below
	Note  string `json:"note,omitempty"`  // why it failed
}

// The states of a step of a plan.
const (
	PlanOpen   = ""       // it is still to be done
	PlanBegun  = "begun"  // it is being done, or was when the program ended
	PlanDone   = "done"   // it is ticked off
	PlanFailed = "failed" // it could not be done
)

// The limits of a plan.
const (
	maxPlanSteps = 100
	maxPlanText  = 4 << 10 // bytes of the goal, of a step, and of its note
)

// check says what of a plan a conversation does not take.
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

// A Record stores the entries of a conversation as they come. Append is called by one goroutine at a time; an error
// ends the run, so that nothing happens that would not be remembered.
type Record interface {
	Append(e Entry) error
}

// Unknown returns an entry with which the record of a conversation begins that comes from
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

// flowDropped stands for what was read in an entry that does not say it any more. It is not
// valid, so that whoever goes on from there knows nothing and assumes the worst.
var flowDropped = json.RawMessage(`"not kept"`)

const (
	maxNote  = 4 << 10 // bytes of one note
	maxNotes = 100
	maxTitle = 200 // bytes
)

// The limits of a keptResults.
const (
	maxKept      = 200      // results
	maxKeptBytes = 32 << 20 // of all of them; the oldest go first
	maxKeptEach  = 4 << 20  // of one; the rest of it is cut off
	keptScheme   = "junction://result/"
)

// keptResults are results that are too long to be shown to the model whole.
type keptResults struct {
	all   []Kept
	bytes int
	next  int
}

// name returns the URI of the next result.
func (s *keptResults) name() string { return fmt.Sprintf("%s%d", keptScheme, s.next+1) }

// put adds a result, and returns the URIs of those that had to go for it. One without its text had to go before.
func (s *keptResults) put(k Kept) (gone []string) {
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

func (s *keptResults) get(uri string) (Kept, bool) {
	for _, k := range s.all {
		if k.URI == uri {
			return k, true
		}
	}
	return Kept{}, false
}

const maxName = 200 // characters of the name of what was attached
