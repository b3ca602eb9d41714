package history

import (
	"testing"
	"time"
)

// sound is a history without anomalies.
func sound() *History {
	h := New(3)
	h.Audited = map[string][]Audited{}
	for _, op := range []Op{
		{ID: "a", Kind: Read, Outcome: Answered, Value: "a"},
		{ID: "b", Kind: Effect, Outcome: Answered, Value: "b", Final: true},
		{ID: "c", Kind: Ask, Outcome: Unknown},
		{ID: "d", Kind: Steps, Outcome: Answered, Value: "d", Steps: []int{1, 2, 3}},
		{ID: "e", Kind: Effect, Outcome: Refused},
		{ID: "f", Kind: Task, Outcome: Answered, Value: "f"},
	} {
		h.Add(op)
		if op.Outcome == Answered {
			h.Ran(op.ID)
			h.Arrived(op.ID)
			h.Audited[op.ID] = []Audited{{Replica: "r1", Outcome: "ok"}}
		}
	}
	// The replica of a task ended before it stored the result, and another one continued the task.
	h.Ends["r1"] = []time.Time{time.Unix(15, 0)}
	h.Audited["f"] = []Audited{{Replica: "r2", Outcome: "ok", Task: "t", Time: time.Unix(20, 0)}, {Replica: "r1", Outcome: "ok", Task: "t", Time: time.Unix(10, 0)}}
	h.Ran("a") // what only reads may run again
	h.Ran("c") // its response was lost
	return h
}

// Each rule finds the fault that is planted for it, and no other rule reports that.
func TestPlantedFaultsAreFound(t *testing.T) {
	t.Parallel()
	if all := sound().Check(); len(all) != 0 {
		t.Fatalf("the sound history has anomalies: %v", all)
	}
	planted := map[string]func(h *History){
		"a result is that of its own call":                            func(h *History) { h.ops[0].Value = "b" },
		"a call has one response":                                     func(h *History) { h.Arrived("b") },
		"an answered call ran":                                        func(h *History) { delete(h.runs, "b") },
		"a call that is not idempotent runs once":                     func(h *History) { h.Ran("c") },
		"an audit log has each answered call":                         func(h *History) { h.Audited["a"] = []Audited{{Replica: "r1", Outcome: "error"}} },
		"an audit log has a call once for each time that it was sent": func(h *History) { h.Audited["b"] = append(h.Audited["b"], Audited{Replica: "r2", Outcome: "ok"}) },
		"steps arrive once and in order":                              func(h *History) { h.ops[3].Steps = []int{1, 2, 2, 3} },
		"every call is answered once the faults have ended":           func(h *History) { h.ops[1].Outcome = Unknown },
	}
	for _, r := range rules {
		h := sound()
		plant := planted[r.name]
		if plant == nil {
			t.Errorf("no fault is planted for the rule %q", r.name)
			continue
		}
		plant(h)
		all := h.Check()
		if len(all) != 1 || all[0].Rule != r.name {
			t.Errorf("%s: found %v", r.name, all)
		}
	}
	for what, plant := range map[string]func(h *History){
		"before it ended":     func(h *History) { h.Ends["r1"] = []time.Time{time.Unix(5, 0), time.Unix(25, 0)} },
		"of another task":     func(h *History) { h.Audited["f"][0].Task = "u" },
		"of an ordinary call": func(h *History) { h.Audited["f"][0].Task, h.Audited["f"][1].Task = "", "" },
	} {
		h := sound()
		plant(h)
		if all := h.Check(); len(all) != 1 || all[0].Op.ID != "f" {
			t.Errorf("a second line %s: found %v", what, all)
		}
	}
	h := sound()
	h.ops[3].Steps = []int{1, 3}
	if all := h.Check(); len(all) != 1 {
		t.Errorf("a lost step: found %v", all)
	}
}
