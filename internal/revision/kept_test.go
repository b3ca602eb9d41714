package revision

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
)

func keptLists() map[string]json.RawMessage {
	return map[string]json.RawMessage{
		"a list that every revision can hold": json.RawMessage(`{"tools":[{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}`),
		"a list that only the latest can":     json.RawMessage(`{"tools":[` + strings.Repeat(`{"name":"a","inputSchema":{"type":"object","properties":{"x":true}}},`, 100) + `{"name":"b","outputSchema":{"type":"array"}}]}`),
	}
}

func TestKeptMembersHaveTheFormOfEachRevision(t *testing.T) {
	for name, list := range keptLists() {
		kept := Keep("tools/list", list)
		for i := range table {
			r := &table[i]
			envelope := Envelope{Meta: json.RawMessage(`{"a":1}`)}
			want, err := r.AppendResult(nil, "tools/list", envelope, Body{JSON: list})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.AppendResult(nil, "tools/list", envelope, Body{JSON: list, Kept: kept}); string(got) != string(want) || err != nil {
				t.Errorf("%s, %s: got %s, %v; want %s", name, r.Name, got, err, want)
			}
		}
	}
}

// Kept memory must be bounded: at most one copy, which all revisions with a handshake share.
func TestFormsOfKeptMembersShareTheirMemory(t *testing.T) {
	for name, list := range keptLists() {
		kept := Keep("tools/list", list)
		same := &kept.form(Oldest())[0]
		if copied := same != &list[0]; copied != strings.Contains(name, "only the latest") {
			t.Errorf("%s: copied %v", name, copied)
		}
		for _, r := range Legacy() {
			if &kept.form(Lookup(r))[0] != same {
				t.Errorf("%s: %s has a copy of its own", name, r)
			}
		}
	}
}

func TestFormsOfKeptMembersAreMadeOnce(t *testing.T) {
	list := keptLists()["a list that only the latest can"]
	kept := Keep("tools/list", list)
	var asking sync.WaitGroup
	var mu sync.Mutex
	made := map[*byte]bool{}
	for i := range 40 {
		asking.Go(func() {
			form := kept.form(&table[i%(len(table)-1)])
			mu.Lock()
			defer mu.Unlock()
			made[&form[0]] = true
		})
	}
	asking.Wait()
	if len(made) != 1 {
		t.Errorf("%d forms were made", len(made))
	}
	dst := make([]byte, 0, 2*len(list))
	for i := range table {
		if n := testing.AllocsPerRun(10, func() {
			if _, err := table[i].AppendResult(dst, "tools/list", Envelope{}, Body{JSON: list, Kept: kept}); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations", table[i].Name, n)
		}
	}
}

func TestKeptMembersHoldNoOthers(t *testing.T) {
	list := json.RawMessage(`{"tools":[]}`)
	kept := Keep("tools/list", list)
	for name, other := range map[string]json.RawMessage{"a copy": append(json.RawMessage(nil), list...), "a part": list[:2], "nothing": nil} {
		if kept.Holds(other) {
			t.Errorf("it holds %s", name)
		}
	}
	if !kept.Holds(list) || !Keep("tools/list", nil).Holds(nil) {
		t.Error("it does not hold its own members")
	}
}
