package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
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

func TestStoredVectorsAreKeptByTool(t *testing.T) {
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

func TestUnstorableVectorsAreOmitted(t *testing.T) {
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

// TestATableThatIsChangedIsTheOneThatIsMadeAnew remembers and forgets queries at random and
// compares the table with that of a new Index.
func TestATableThatIsChangedIsTheOneThatIsMadeAnew(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	tools := made(r, 40)
	x := New(Options{})
	set := func(n int) {
		some := slices.Clone(tools[n*10 : n*10+r.IntN(10)])
		for i := range some {
			if r.IntN(4) == 0 {
				some[i].Description += " changed"
			}
		}
		x.SetServer(fmt.Sprint("server", n), "", some)
	}
	word := func() string {
		texts := []string{"babebin", "bebobon", "theIs", "kadoren", "the lakiton", "5", "HTTPServer", "Bibaben " + tools[r.IntN(40)].Name}
		return texts[r.IntN(len(texts))]
	}
	id := func() string {
		n := r.IntN(40)
		return fmt.Sprintf("server%d__%s", n/10, tools[n].Name)
	}
	for n := range 4 {
		set(n)
	}
	for step := range 2_000 {
		switch r.IntN(20) {
		case 0:
			set(r.IntN(4))
		case 1:
			x.Forget(id())
		case 2:
			x.Restore([]Remembered{{id(), word()}, {id(), word()}, {"elsewhere", word()}})
		default:
			x.Remember(id(), word()+" "+word())
		}
		got := x.table()
		x.mu.Lock()
		want := x.build()
		x.mu.Unlock()
		if !reflect.DeepEqual(got.terms, want.terms) || got.totals != want.totals {
			t.Fatalf("step %d: %v\nand %v; %v and %v", step, got.totals, want.totals, got.terms, want.terms)
		}
		for n := range want.slots {
			if got.slots[n].doc.lengths != want.slots[n].doc.lengths || got.slots[n].doc.named != want.slots[n].doc.named || got.slots[n].tool.ID != want.slots[n].tool.ID {
				t.Fatalf("step %d: slot %d: %+v, want %+v", step, n, got.slots[n], want.slots[n])
			}
		}
		if step%100 != 0 {
			continue
		}
		fresh := New(Options{})
		for name, s := range x.servers {
			own := make([]Tool, len(s.tools))
			for i, e := range s.tools {
				own[i] = e.tool
			}
			fresh.SetServer(name, "", own)
		}
		fresh.Restore(x.Memory())
		for range 10 {
			q := Query{Text: word() + " " + word(), Limit: 20, Allow: func(id string) bool { return len(id)%3 != 0 }}
			if got, want := x.Search(context.Background(), q), fresh.Search(context.Background(), q); !reflect.DeepEqual(got, want) {
				t.Fatalf("step %d: %q: %v, want %v", step, q.Text, got, want)
			}
		}
	}
}

// TestASearchDoesNotWaitForAServerThatIsRead checks that other tools are found while the texts of
// one server are read, which is slow for thousands of tools.
func TestASearchDoesNotWaitForAServerThatIsRead(t *testing.T) {
	t.Parallel()
	x := offices()
	x.SetServer("other", "", nil) // so that a table must be built
	x.reading.Lock()              // like SetServer while it reads
	defer x.reading.Unlock()
	if got := find1(x, "cancel an event"); got != "calendar__cancelEvent" {
		t.Errorf("got %q", got)
	}
	x.Remember("calendar__cancelEvent", "the birthday party is not going to happen")
	if got := find1(x, "a birthday party"); got != "calendar__cancelEvent" {
		t.Errorf("of what was remembered meanwhile: got %q", got)
	}
}

func TestVectorsStoredDuringSearchesAreFound(t *testing.T) {
	t.Parallel()
	x := catalogue(100)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range 200 {
				x.Search(context.Background(), Query{Text: asked, Allow: func(id string) bool { return len(id)%2 == 0 }})
				switch {
				case n == 0:
					x.Remember("server0__x", fmt.Sprint("babebin ", i))
				case n == 1 && i%20 == 0:
					x.SetServer("server0", "", []Tool{{Name: "x", Description: fmt.Sprint("number ", i)}})
				case n == 2:
					x.Tool("server0__x")
					x.Forget("server0__x")
				}
			}
		})
	}
	all.Wait()
	x.Remember("server0__x", "an aardvark")
	if got := find1(x, "aardvark"); got != "server0__x" {
		t.Errorf("got %q", got)
	}
}
