package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestARememberedQueryFindsItsTool(t *testing.T) {
	t.Parallel()
	x := offices()
	x.Remember("calendar__cancelEvent", "the birthday party is not going to happen")
	if got := find1(x, "a birthday party"); got != "calendar__cancelEvent" {
		t.Errorf("got %q", got)
	}
	x.SetServer("calendar", "", []Tool{{Name: "cancelEvent", Description: "Another text."}})
	if got := find1(x, "birthday"); got != "calendar__cancelEvent" {
		t.Errorf("after the tool changed: %q", got)
	}
	x.SetServer("calendar", "", nil)
	if got := find1(x, "birthday"); got != "" {
		t.Errorf("without the server: %q", got)
	}
	x.SetServer("calendar", "", []Tool{{Name: "cancelEvent"}})
	if got := find1(x, "birthday"); got != "calendar__cancelEvent" {
		t.Errorf("after the server came back: %q", got)
	}
	x.Forget("calendar__cancelEvent")
	x.Forget("calendar__cancelEvent")
	if got := find1(x, "birthday"); got != "" || len(x.Memory()) != 0 {
		t.Errorf("after it was forgotten: %q, %v", got, x.Memory())
	}
}

func TestWhatIsRememberedForOneToolDoesNotHideAnotherByName(t *testing.T) {
	t.Parallel()
	x := offices()
	for i := range 40 {
		x.Remember("mail__send_message", fmt.Sprint("create event number ", i))
	}
	if got := find1(x, "createEvent: add an event with a start and an end"); got != "calendar__createEvent" {
		t.Errorf("got %q", got)
	}
}

func TestMemoryIsBoundedPerToolAndInAllAndHoldsNothingTwice(t *testing.T) {
	t.Parallel()
	x := New(Options{})
	for i := range maxQueriesPerTool + 3 {
		x.Remember("a", fmt.Sprint("query ", i))
	}
	x.Remember("a", " QUERY 10 ")
	got := x.Memory()
	if len(got) != maxQueriesPerTool || got[0].Query != "query 3" || got[len(got)-1].Query != "QUERY 10" {
		t.Errorf("%d remembered, from %q to %q", len(got), got[0].Query, got[len(got)-1].Query)
	}
	var many []Remembered
	for i := range maxQueriesInAll + 7 {
		many = append(many, Remembered{fmt.Sprint("tool", i/5), fmt.Sprint("query ", i)})
	}
	x.Restore(many)
	got = x.Memory()
	if len(got) != maxQueriesInAll || got[0] != many[7] || len(x.memory.tools["a"]) != 0 {
		t.Errorf("%d remembered, the first %v", len(got), got[0])
	}
}

func TestWhatCannotBeRememberedIsLeftOut(t *testing.T) {
	t.Parallel()
	x := offices()
	x.Remember("", "query")
	x.Remember("tool", "  ")
	x.Remember("tool", "\xff")
	x.Remember(strings.Repeat("i", maxRememberedIDSize+1), "query")
	x.Remember("long", strings.Repeat("é", 1000))
	got := x.Memory()
	if len(got) != 1 || len(got[0].Query) != maxRememberedBytes {
		t.Errorf("got %d remembered", len(got))
	}
}

func TestMemorySurvivesAsJSON(t *testing.T) {
	t.Parallel()
	x := offices()
	x.Remember("mail__send_message", "tell grandma")
	x.Remember("calendar__createEvent", "dentist")
	x.Remember("mail__send_message", "answer the landlord")
	data, err := json.Marshal(x.Memory())
	if err != nil {
		t.Fatal(err)
	}
	var saved []Remembered
	if err := json.Unmarshal(data, &saved); err != nil {
		t.Fatal(err)
	}
	y := offices()
	y.Restore(saved)
	if got := y.Memory(); !slices.Equal(got, x.Memory()) {
		t.Errorf("got %v, want %v", got, x.Memory())
	}
	for _, q := range []string{"grandma", "dentist on monday", "landlord"} {
		a, b := x.Search(context.Background(), Query{Text: q}), y.Search(context.Background(), Query{Text: q})
		if !reflect.DeepEqual(a, b) || len(a.Hits) == 0 {
			t.Errorf("%q: %v and %v", q, a, b)
		}
	}
}

func TestMemoryOfToolsThatAreNotAllowedIsNotCounted(t *testing.T) {
	t.Parallel()
	x, y := offices(), offices()
	x.Remember("vault__openContract", "letter of the lawyer about an event")
	allow := func(id string) bool { return !strings.HasPrefix(id, "vault") }
	for _, q := range []string{"lawyer", "letter", "event"} {
		a, b := x.Search(context.Background(), Query{Text: q, Allow: allow}), y.Search(context.Background(), Query{Text: q, Allow: allow})
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%q: %v and %v", q, a, b)
		}
	}
}
