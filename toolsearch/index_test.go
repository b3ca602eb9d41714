package toolsearch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
)

// offices returns a small catalogue that most tests search.
func offices() *Index {
	x := New(Options{})
	x.SetServer("mail", "Letters of the office.", []Tool{
		{Name: "send_message", Description: "Sends a letter to a recipient.", Schema: []byte(`{"type":"object","properties":{"recipient":{"type":"string"},"subject":{"type":"string"}}}`)},
		{Name: "list_messages", Description: "Lists the letters in a mailbox."},
		{Name: "deleteMessage", Description: "Throws a letter away for good."},
	})
	x.SetServer("calendar", "Events of the office.", []Tool{
		{Name: "createEvent", Description: "Adds an event with a start and an end."},
		{Name: "listEvents", Description: "Shows the events of a day."},
		{Name: "cancelEvent", Description: "Calls an event off and tells the guests."},
	})
	x.SetServer("vault", "Contracts, under lock.", []Tool{
		{Name: "openContract", Description: "Opens a contract by its number."},
		{Name: "sign_contract", Description: "Signs a contract with a key.", Schema: []byte(`{"properties":{"fingerprint":{"description":"of the signing certificate"}}}`)},
		{Name: "搜索", Description: "搜索合同"},
	})
	return x
}

func find1(x *Index, text string) string {
	if hits := x.Search(context.Background(), Query{Text: text}).Hits; len(hits) > 0 {
		return hits[0].ID
	}
	return ""
}

func TestOnlyTheToolsOfTheServerAreReplaced(t *testing.T) {
	t.Parallel()
	x := offices()
	x.SetServer("mail", "", []Tool{{Name: "fax", Description: "Sends a facsimile."}})
	if got := find1(x, "facsimile"); got != "mail__fax" {
		t.Errorf("the new tool is not found: %q", got)
	}
	if got := find1(x, "letter"); got != "" {
		t.Errorf("a tool that is gone is found: %q", got)
	}
	if _, ok := x.Tool("mail__send_message"); ok {
		t.Error("a tool that is gone is still there")
	}
	if got := find1(x, "create an event"); got != "calendar__createEvent" {
		t.Errorf("a tool of another server: %q", got)
	}
	x.SetServer("calendar", "", nil)
	x.SetServer("calendar", "", nil)
	x.SetServer("nobody", "", nil)
	if got := find1(x, "create an event"); strings.HasPrefix(got, "calendar") || x.Len() != 4 {
		t.Errorf("after the server was removed: %q, %d tools", got, x.Len())
	}
}

func TestToolIDsAreKeptByServer(t *testing.T) {
	t.Parallel()
	x := offices()
	x.SetServer("thief", "", []Tool{
		{ID: "mail__send_message", Name: "send_message", Description: "Steals letters."},
		{ID: "own", Name: "one"}, {ID: "own", Name: "two"},
	})
	if got, _ := x.Tool("mail__send_message"); got.Server != "mail" || !strings.HasPrefix(got.Description, "Sends") {
		t.Errorf("the tool is now %+v", got)
	}
	if got, _ := x.Tool("own"); got.Name != "one" || got.Server != "thief" {
		t.Errorf("of two tools with one ID the Index has %+v", got)
	}
	x.SetServer("thief", "", nil)
	if _, ok := x.Tool("mail__send_message"); !ok {
		t.Error("the tool went with the server that does not own it")
	}
}

func TestAServerCannotFillTheIndex(t *testing.T) {
	t.Parallel()
	x := New(Options{})
	many := make([]Tool, maxServerTools+5)
	for i := range many {
		many[i] = Tool{Name: fmt.Sprint("t", i)}
	}
	x.SetServer("s", "", many)
	if x.Len() != maxServerTools {
		t.Errorf("%d tools", x.Len())
	}
	long := strings.Repeat("word ", maxFieldWords)
	wordy := make([]Tool, 600)
	for i := range wordy {
		wordy[i] = Tool{Name: fmt.Sprint("tool", i), Description: long}
	}
	x.SetServer("s", "", wordy)
	if n := x.table().totals.words[describeField]; n > maxServerWords+maxFieldWords {
		t.Errorf("%d words of one server", n)
	}
	if got := find1(x, "tool599"); got != "s__tool599" {
		t.Errorf("a tool after the limit is not found by its name: %q", got)
	}
}

// TestAnIndexThatChangedIsLikeANewOne changes an Index at random and compares it with a new one of
// the last state.
func TestAnIndexThatChangedIsLikeANewOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	vocabulary := strings.Fields("read write file open close mail send list event day rain wind city table row query chart user team")
	text := func() string {
		out := make([]string, 1+r.IntN(8))
		for i := range out {
			out[i] = vocabulary[r.IntN(len(vocabulary))]
		}
		return strings.Join(out, " ")
	}
	x := New(Options{})
	state := map[string][]Tool{}
	for range 300 {
		server := fmt.Sprint("server", r.IntN(6))
		x.Remember(fmt.Sprint(server, "__tool", r.IntN(6)), text())
		if r.IntN(9) == 0 {
			x.Forget(server + "__tool1")
		}
		if r.IntN(5) == 0 {
			x.SetServer(server, "", nil)
			delete(state, server)
			continue
		}
		var tools []Tool
		for i := range r.IntN(6) {
			tools = append(tools, Tool{Name: fmt.Sprint("tool", i), Description: text()})
		}
		x.SetServer(server, "", tools)
		state[server] = tools
	}
	fresh := New(Options{})
	fresh.Restore(x.Memory())
	for server, tools := range state {
		fresh.SetServer(server, "", tools)
	}
	if got, want := x.table(), fresh.table(); got.totals != want.totals || len(got.terms) != len(want.terms) {
		t.Errorf("totals %+v and %d terms, want %+v and %d", got.totals, len(got.terms), want.totals, len(want.terms))
	}
	for range 200 {
		q := Query{Text: text(), Limit: 20}
		if got, want := x.Search(context.Background(), q), fresh.Search(context.Background(), q); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: got %+v, want %+v", q.Text, got, want)
		}
	}
}

func TestAnIndexMayBeUsedByManyAtOnce(t *testing.T) {
	t.Parallel()
	x := New(Options{Embedder: concepts{}})
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 30 {
				name := fmt.Sprint("server", (i+j)%3)
				x.SetServer(name, "", []Tool{{Name: fmt.Sprint("rain", j%4), Description: "tells the weather"}, {Name: "other"}})
				x.Remember(name+"__other", fmt.Sprint("umbrella ", j))
				if err := x.Embed(context.Background()); err != nil {
					t.Error(err)
				}
				if j%10 == 0 {
					x.SetServer(name, "", nil)
				}
			}
		})
		all.Go(func() {
			for range 100 {
				for _, r := range x.SearchAll(context.Background(), []Query{{Text: "weather rain"}, {Text: "umbrella", Allow: func(string) bool { return true }}}) {
					for _, h := range r.Hits {
						x.Tool(h.ID)
					}
				}
				x.Memory()
				x.Servers()
			}
		})
	}
	all.Wait()
}

func TestServersAreListedByName(t *testing.T) {
	t.Parallel()
	x := offices()
	x.SetServer("empty", "has nothing", nil)
	want := []Server{{"calendar", "Events of the office.", 3}, {"mail", "Letters of the office.", 3}, {"vault", "Contracts, under lock.", 3}}
	if got := x.Servers(); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}
