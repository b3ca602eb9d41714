// Package history checks what clients, servers and audit logs recorded while replicas failed. A
// [History] holds these records, and [History.Check] returns the rules that they break.
package history

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Kind is a kind of operation.
type Kind string

// The kinds of operations.
const (
	Read   Kind = "read"   // a call that may run again, because it only reads
	Effect Kind = "effect" // a call that may run once
	Ask    Kind = "ask"    // a call that may run once, after the client has answered a question
	Steps  Kind = "steps"  // a call that reads and reports its progress in steps
	Task   Kind = "task"   // a call that may run once, as a task
)

// once reports whether an operation of this kind may run only once.
func (k Kind) once() bool { return k == Effect || k == Ask || k == Task }

// An Outcome is the end of an operation as its client saw it.
type Outcome string

// The outcomes of operations.
const (
	Answered Outcome = "answered" // a result came
	Refused  Outcome = "refused"  // an error response came
	Unknown  Outcome = "unknown"  // neither came: the connection was lost, or the time was over
)

// An Op is one operation of a client. Each has its own ID, which its arguments and its result hold.
type Op struct {
	ID       string
	Client   string
	Revision string
	Kind     Kind
	Began    time.Time
	Ended    time.Time
	Outcome  Outcome
	Value    string // the ID in the result
	Steps    []int  // the steps that it reported, in the order of arrival
	Error    string
	Final    bool // it began after the last fault had ended
}

// An Audited is a line about an operation in the audit log of a replica.
type Audited struct {
	Replica string
	Outcome string // "ok" after a result
	Task    string // the id of the task that the call became
	Method  string
	Time    time.Time
}

// A History holds the records of a run. Its methods are safe for concurrent use; the fields are set
// before Check.
type History struct {
	// Steps is the number of steps of each operation of the kind [Steps].
	Steps int
	// Audited holds the lines in audit logs by the IDs of operations. Nil means that there are none.
	Audited map[string][]Audited
	// Ends holds when the processes of each replica ended.
	Ends map[string][]time.Time
	// Loses is set if a failover of the store may lose its last writes.
	Loses bool

	mu      sync.Mutex
	ops     []Op
	runs    map[string]int // by ID, as servers saw it
	arrived map[string]int // results by ID, as clients saw them
}

// New returns a History of operations of which those of the kind [Steps] have n steps.
func New(n int) *History {
	return &History{Steps: n, Ends: map[string][]time.Time{}, runs: map[string]int{}, arrived: map[string]int{}}
}

// Add adds an operation that has ended.
func (h *History) Add(op Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, op)
}

// Ran records that a server ran the operation with an ID.
func (h *History) Ran(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[id]++
}

// Arrived records that a result with the ID of an operation arrived at a client.
func (h *History) Arrived(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.arrived[id]++
}

// Count returns the number of operations by outcome.
func (h *History) Count() map[Outcome]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := map[Outcome]int{}
	for _, op := range h.ops {
		n[op.Outcome]++
	}
	return n
}

// Ops returns a copy of the operations.
func (h *History) Ops() []Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ops)
}

// An Anomaly is an operation that breaks a rule.
type Anomaly struct {
	Rule string
	Op   Op
	Why  string
}

func (a Anomaly) String() string {
	return fmt.Sprintf("%s: %s of %s (%s, %s): %s; began %s, ended after %v, %q", a.Rule, a.Op.ID, a.Op.Client, a.Op.Revision, a.Op.Kind, a.Why,
		a.Op.Began.Format("15:04:05.000"), a.Op.Ended.Sub(a.Op.Began).Round(time.Millisecond), a.Op.Error)
}

// rules are what must hold for each operation. A rule returns what is wrong, or "".
var rules = []struct {
	name  string
	check func(h *History, op *Op) string
}{
	{"a result is that of its own call", func(_ *History, op *Op) string {
		if op.Outcome == Answered && op.Value != op.ID {
			return fmt.Sprintf("the result is that of %q", op.Value)
		}
		return ""
	}},
	{"a call has one response", func(h *History, op *Op) string {
		if n := h.arrived[op.ID]; n > 1 && op.Kind != Task { // clients may request the state of a task again
			return fmt.Sprintf("%d results arrived", n)
		}
		return ""
	}},
	{"an answered call ran", func(h *History, op *Op) string {
		if op.Outcome == Answered && h.runs[op.ID] == 0 {
			return "no server ran it"
		}
		return ""
	}},
	{"a call that is not idempotent runs once", func(h *History, op *Op) string {
		if n := h.runs[op.ID]; op.Kind.once() && n > 1 {
			return fmt.Sprintf("it ran %d times", n)
		}
		return ""
	}},
	{"an audit log has each answered call", func(h *History, op *Op) string {
		if h.Audited == nil || op.Outcome != Answered {
			return ""
		}
		if !slices.ContainsFunc(h.Audited[op.ID], func(a Audited) bool { return a.Outcome == "ok" }) {
			return fmt.Sprintf("the lines about it are %v", h.Audited[op.ID])
		}
		return ""
	}},
	{"an audit log has a call once for each time that it was sent", func(h *History, op *Op) string {
		for i, lines := 1, h.lines(op.ID); op.Kind.once() && i < len(lines); i++ {
			if !h.continues(lines[i-1], lines[i]) {
				return fmt.Sprintf("the lines about it are %v", lines)
			}
		}
		return ""
	}},
	{"steps arrive once and in order", func(h *History, op *Op) string {
		for i := range op.Steps {
			if i > 0 && op.Steps[i] <= op.Steps[i-1] {
				return fmt.Sprintf("the steps are %v", op.Steps)
			}
		}
		if h.runs[op.ID] == 1 && op.Kind == Steps && op.Outcome == Answered && len(op.Steps) < h.Steps {
			return fmt.Sprintf("only the steps %v arrived", op.Steps)
		}
		return ""
	}},
	{"every call is answered once the faults have ended", func(_ *History, op *Op) string {
		if op.Final && op.Outcome != Answered {
			return "it is " + string(op.Outcome)
		}
		return ""
	}},
}

// lines returns the lines about results of an operation, the oldest first.
func (h *History) lines(id string) (ok []Audited) {
	for _, a := range h.Audited[id] {
		if a.Outcome == "ok" {
			ok = append(ok, a)
		}
	}
	slices.SortFunc(ok, func(a, b Audited) int { return a.Time.Compare(b.Time) })
	return ok
}

// continues reports whether a process that continued a task wrote the line next, because the one
// before ended, or its store lost the end of the task.
func (h *History) continues(before, next Audited) bool {
	ended := slices.ContainsFunc(h.Ends[before.Replica], func(end time.Time) bool { return end.After(before.Time) && !end.After(next.Time) })
	return before.Task != "" && before.Task == next.Task && (ended || h.Loses)
}

// Continued returns the number of operations with several lines about their result.
func (h *History) Continued() (n int) {
	for id := range h.Audited {
		if len(h.lines(id)) > 1 {
			n++
		}
	}
	return n
}

// Check returns the operations that break a rule.
func (h *History) Check() (all []Anomaly) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.ops {
		for _, r := range rules {
			if why := r.check(h, &h.ops[i]); why != "" {
				all = append(all, Anomaly{r.name, h.ops[i], why})
			}
		}
	}
	return all
}
