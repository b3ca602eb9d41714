package toolsearch

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestTheRightToolIsFound(t *testing.T) {
	t.Parallel()
	x := offices()
	for name, c := range map[string]struct{ query, want string }{
		"by its name":                         {"send_message", "mail__send_message"},
		"by its name in other spelling":       {"sendMessage", "mail__send_message"},
		"by an inflected word":                {"deleting messages", "mail__deleteMessage"},
		"by its description":                  {"call off, tell the guests", "calendar__cancelEvent"},
		"by a parameter":                      {"certificate fingerprint", "vault__sign_contract"},
		"by its server":                       {"vault open", "vault__openContract"},
		"by a synonym":                        {"remove message", "mail__deleteMessage"},
		"in Chinese":                          {"请搜索", "vault__搜索"},
		"though most words are others":        {"well then, could you kindly sign this thing on paper tomorrow", "vault__sign_contract"},
		"whatever the case":                   {"LIST EVENTS", "calendar__listEvents"},
		"with a query of signs: nothing":      {"?!", ""},
		"with no query: nothing":              {"", ""},
		"with words nobody has: nothing":      {"xylophone", ""},
		"with stop words alone: nothing":      {"what is the", ""},
		"with bytes that are no text":         {"sign\xff contract", "vault__sign_contract"},
		"at the beginning of a huge query":    {"sign contract " + strings.Repeat("x", 1<<20), "vault__sign_contract"},
		"among many different words of noise": {"sign contract " + noise(500), "vault__sign_contract"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := find1(x, c.query); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func noise(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%dq ", i)
	}
	return b.String()
}

func TestHitsAreOrderedBoundedAndScoredBetweenZeroAndOne(t *testing.T) {
	t.Parallel()
	x := New(Options{})
	for i := range 300 {
		x.SetServer(fmt.Sprintf("s%03d", i), "", []Tool{{ID: fmt.Sprintf("t%03d", 299-i), Name: "same", Description: "same text"}})
	}
	for limit, want := range map[int]int{0: defaultLimit, -1: defaultLimit, 1: 1, 7: 7, 1000: maxLimit} {
		hits := x.Search(context.Background(), Query{Text: "same text", Limit: limit}).Hits
		if len(hits) != want {
			t.Errorf("limit %d: %d hits, want %d", limit, len(hits), want)
		}
		for i, h := range hits {
			if h.ID != fmt.Sprintf("t%03d", i) {
				t.Errorf("limit %d: hit %d is %s: equal scores are not in the order of their IDs", limit, i, h.ID)
			}
			if h.Score <= 0 || h.Score > 1 {
				t.Errorf("score %v", h.Score)
			}
		}
	}
}

func TestToolsOfAServerThatFitsGetABonus(t *testing.T) {
	t.Parallel()
	x := New(Options{})
	x.SetServer("a", "", []Tool{{ID: "z", Name: "report", Description: "prints"}})
	x.SetServer("b", "", []Tool{{ID: "a", Name: "report", Description: "prints"}, {ID: "b", Name: "invoice", Description: "prints"}})
	hits := x.Search(context.Background(), Query{Text: "invoice report"}).Hits
	if len(hits) != 3 || hits[0].ID != "b" || hits[1].ID != "a" || hits[1].Score <= hits[2].Score {
		t.Errorf("got %+v", hits)
	}
}

func TestOfLikeNamesTheOneThatAsksForNothingElseWins(t *testing.T) {
	t.Parallel()
	x := New(Options{})
	x.SetServer("s", "", []Tool{
		{ID: "a", Name: "createFloorPlan", Description: "Makes one of these."},
		{ID: "b", Name: "createFloor", Description: "Makes one of these."},
		{ID: "c", Name: "create_floor_lamp", Description: "Makes one of these."},
	})
	if got := find1(x, "create a floor"); got != "b" {
		t.Errorf("got %q", got)
	}
	if got := find1(x, "create the plan of a floor"); got != "a" {
		t.Errorf("got %q", got)
	}
}

// TestForbiddenToolsLeaveNoTrace compares a search under Allow with one in an Index that never
// held the other tools.
func TestForbiddenToolsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	all := offices()
	allowed := func(id string) bool { return !strings.HasPrefix(id, "vault") && id != "mail__list_messages" }
	part := New(Options{})
	for _, s := range all.Servers() {
		var tools []Tool
		for _, p := range all.table().slots {
			if p.tool.Server == s.Name && allowed(p.tool.ID) {
				tools = append(tools, p.tool)
			}
		}
		part.SetServer(s.Name, "", tools)
	}
	for _, q := range []string{"list messages", "sign the contract", "letters of the day", "open event contract letter", "搜索", "certificate", "message"} {
		got := all.Search(context.Background(), Query{Text: q, Limit: 20, Allow: allowed})
		want := part.Search(context.Background(), Query{Text: q, Limit: 20})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", q, got, want)
		}
	}
	none := all.Search(context.Background(), Query{Text: "sign", Allow: func(string) bool { return false }})
	if len(none.Hits) != 0 || !none.Weak {
		t.Errorf("with nothing allowed: %+v", none)
	}
}

func TestAWeakMatchIsSaidAndHidesNothing(t *testing.T) {
	t.Parallel()
	x := catalogue(400)
	x.SetServer("office", "", []Tool{{Name: "create_event", Description: "Adds an event with a start and an end to the calendar."}, {Name: "clean", Description: "Cleans a house."}})
	for query, weak := range map[string]bool{
		"create a calendar event":                   false,
		"calendar event with a start":               false,
		"add an event for the party of my neighbor": false,
		"":          true,
		"xylophone": true,
		"which paint is best for a wet wall of my house without much work": true,
	} {
		r := x.Search(context.Background(), Query{Text: query})
		if r.Weak != weak {
			t.Errorf("%q: weak is %v: %+v", query, r.Weak, r.Hits)
		}
	}
	if r := x.Search(context.Background(), Query{Text: "which paint is best for a wet wall of my house without much work"}); len(r.Hits) == 0 || r.Hits[0].ID != "office__clean" {
		t.Errorf("the weak match is hidden: %+v", r.Hits)
	}
}

func TestShortExactQueriesAreStrongInASmallIndex(t *testing.T) {
	t.Parallel()
	x := offices()
	for _, q := range []string{"list events", "sign contract", "send message"} {
		if r := x.Search(context.Background(), Query{Text: q}); r.Weak {
			t.Errorf("%q is weak: %+v", q, r.Hits)
		}
	}
}

// TestAToolThatStandsOutIsLessWeakThanOneOfMany compares two indexes with equally common words.
// Only in one of them does a tool have more of these words than the others.
func TestAToolThatStandsOutIsLessWeakThanOneOfMany(t *testing.T) {
	t.Parallel()
	apart, alike := catalogue(100), catalogue(100)
	var some, all []Tool
	for i := range 7 {
		all = append(all, Tool{Name: fmt.Sprint("tide_almanac_", i), Description: "Tells when."})
		some = append(some, Tool{Name: fmt.Sprint("tide_", i), Description: "Tells when."}, Tool{Name: fmt.Sprint("almanac_", i), Description: "Tells when."})
	}
	some = append(some[2:], Tool{Name: "tide_almanac", Description: "Tells when."})
	apart.SetServer("sea", "", some)
	alike.SetServer("sea", "", all)
	q := Query{Text: "tide almanac of the harbor where my uncle lives"}
	if r := apart.Search(context.Background(), q); r.Weak || r.Hits[0].ID != "sea__tide_almanac" {
		t.Errorf("the only one that has both words is weak: %+v", r)
	}
	if r := alike.Search(context.Background(), q); !r.Weak || len(r.Hits) != defaultLimit {
		t.Errorf("seven that fit alike are not weak: %+v", r)
	}
}

func TestABatchIsMergedFairly(t *testing.T) {
	t.Parallel()
	results := []Results{
		{Hits: []Hit{{"a", 0.2}, {"b", 0.1}, {"c", 0.05}}},
		{},
		{Hits: []Hit{{"d", 0.9}, {"a", 0.8}, {"e", 0.7}, {"f", 0.6}}},
	}
	for limit, want := range map[int][]Hit{
		0: {{"a", 0.8}, {"d", 0.9}, {"b", 0.1}, {"c", 0.05}, {"e", 0.7}, {"f", 0.6}},
		2: {{"a", 0.8}, {"d", 0.9}},
		4: {{"a", 0.8}, {"d", 0.9}, {"b", 0.1}, {"c", 0.05}},
	} {
		if got := Merge(results, limit); !slices.Equal(got, want) {
			t.Errorf("limit %d: got %v, want %v", limit, got, want)
		}
	}
	if got := Merge(nil, 0); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	x := offices()
	got := x.SearchAll(context.Background(), []Query{{Text: "send message", Limit: 1}, {Text: "cancel event", Limit: 2}})
	if len(got) != 2 || got[0].Hits[0].ID != "mail__send_message" || got[1].Hits[0].ID != "calendar__cancelEvent" || len(got[0].Hits) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestRepetitionAndLengthDoNotWin(t *testing.T) {
	t.Parallel()
	x := New(Options{})
	x.SetServer("honest", "", []Tool{{Name: "translate_text", Description: "Translates a text into another language."}})
	x.SetServer("loud", "", []Tool{{Name: "ads", Description: strings.Repeat("translate ", 900)}})
	if got := find1(x, "translate text into another language"); got != "honest__translate_text" {
		t.Errorf("got %q", got)
	}
}
