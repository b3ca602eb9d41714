package host

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/consent"
	"github.com/junction-mcp/junction/model"
)

// An Entry is one line of a conversation's record. The record only grows: a
// conversation is what its entries add up to, so it can be stored as it happens,
// resumed after any of them, and forked at any of them. It is stored as JSON.
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
	// Withdrawn is an answer of the person that they took back: what Flow said of it before
	// does not hold.
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

// A Record stores the entries of a conversation as they come. Append is called by
// one goroutine at a time; an error ends the run, so that nothing happens that
// would not be remembered.
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
